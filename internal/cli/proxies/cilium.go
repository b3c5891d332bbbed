package proxies

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/gammaguard/gammaguard/internal/cli/envoy"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/traffic"
)

// cilium is CiliumEnvoyConfigs: which ports of Services each takes, and its route configurations.
type cilium []ciliumConfig

type ciliumConfig struct {
	object
	taken   []ciliumService
	configs []*envoy.Config
}

// ciliumService is a Service whose requests a CiliumEnvoyConfig takes, on some ports or, without any, on all.
type ciliumService struct {
	Name      string  `json:"name"`
	Namespace string  `json:"namespace"`
	Ports     []int32 `json:"ports"`
}

// readCilium reads CiliumEnvoyConfigs. Those without route configurations, or without Services, are others'.
func readCilium(objects []object) (*Given, error) {
	var all cilium
	for _, o := range objects {
		var spec struct {
			Spec struct {
				Services []ciliumService `json:"services"`
			} `json:"spec"`
		}
		if err := mesh.Decode(o.data, &spec); err != nil {
			return nil, fmt.Errorf("%s: %w", &o, err)
		}
		configs, err := envoy.Read(o.data)
		switch {
		case errors.Is(err, envoy.ErrNone):
			continue
		case err != nil:
			return nil, fmt.Errorf("%s: %w", &o, err)
		}
		for i := range spec.Spec.Services {
			if s := &spec.Spec.Services[i]; s.Namespace == "" {
				s.Namespace = o.namespace
			}
		}
		all = append(all, ciliumConfig{o, spec.Spec.Services, configs})
	}
	slices.SortFunc(all, func(a, b ciliumConfig) int { return strings.Compare(a.String(), b.String()) })
	return &Given{Format: CiliumConfigs, Mesh: mesh.Cilium, Everywhere: true, source: all}, nil
}

func (c cilium) services() (keys []mesh.ServiceKey) {
	for i := range c {
		for _, s := range c[i].taken {
			keys = append(keys, mesh.ServiceKey{Kind: mesh.ServiceKind, Namespace: s.Namespace, Name: s.Name})
		}
	}
	return keys
}

func (cilium) clients(mesh.ServiceKey) []string { return nil }

func (c cilium) at(world World, service *mesh.Service, port mesh.Port, _ string) (*Port, error) {
	for i := range c {
		takes := func(s ciliumService) bool {
			return s.Name == service.Key.Name && s.Namespace == service.Key.Namespace && (len(s.Ports) == 0 || slices.Contains(s.Ports, port.Number))
		}
		if !slices.ContainsFunc(c[i].taken, takes) {
			continue
		}
		config, err := c[i].of(port.Number)
		if err != nil {
			return nil, err
		}
		host := fmt.Sprintf("%s.%s.svc.cluster.local", service.Key.Name, service.Key.Namespace)
		given := envoyPort(config, host, port.Number, world.ciliumCluster)
		answer := given.Answer
		given.Answer = func(r *traffic.Request) (*Answer, error) {
			out, err := answer(forwarded(r))
			if err == nil && out.Timeout == envoyTimeout { // Cilium sets no other where a route has none
				out.Timeout = ""
			}
			return out, err
		}
		return given, nil
	}
	return nil, nil //nolint:nilnil // nothing is given
}

// forwarded returns the request with the header that Envoy adds to it, which the matches of Cilium's redirects to
// another scheme look at, against loops.
func forwarded(r *traffic.Request) *traffic.Request {
	out := *r
	out.Headers = map[string]string{"x-forwarded-proto": "http"}
	maps.Copy(out.Headers, r.Headers)
	return &out
}

// envoyTimeout is Envoy's timeout of routes that have none. What a mesh makes of such routes is up to it (Gateway
// API, HTTPRouteTimeouts.request).
const envoyTimeout = "15s"

// of returns the route configuration of a port: the only one, or the one with the port in its name.
func (c *ciliumConfig) of(port int32) (*envoy.Config, error) {
	if len(c.configs) == 1 {
		return c.configs[0], nil
	}
	for _, config := range c.configs {
		if strings.HasSuffix(config.Name, "-"+strconv.Itoa(int(port))) {
			return config, nil
		}
	}
	return nil, fmt.Errorf("%s has %d route configurations, and none is named for port %d", &c.object, len(c.configs), port)
}

// ciliumCluster names what a cluster of Cilium stands for: shop:cart:80, or shop/cart:80.
func (w World) ciliumCluster(cluster string) string {
	namespace, rest, ok := strings.Cut(strings.Replace(cluster, "/", ":", 1), ":")
	name, number, found := strings.Cut(rest, ":")
	port, err := strconv.ParseInt(number, 10, 32)
	if !ok || !found || err != nil {
		return "cluster " + cluster
	}
	return w.orFails(namespace, name, port)
}
