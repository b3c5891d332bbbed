package proxies

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gammaguard/gammaguard/internal/cli/envoy"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/traffic"
)

// istio is the route configurations of one proxy of Istio: a sidecar's, each named by its port,
// or a waypoint's.
type istio map[string]*envoy.Config

// The sections of a config_dump that are read, by the ends of their types. All others, secrets among them, are
// passed over.
const (
	routesSection    = "envoy.admin.v3.RoutesConfigDump"
	bootstrapSection = "envoy.admin.v3.BootstrapConfigDump"
)

// readDump reads the sections of a config_dump.
func readDump(data []byte) (*Given, error) {
	var sections []json.RawMessage
	if err := json.Unmarshal(data, &sections); err != nil {
		return nil, errors.New("configs: want a list")
	}
	var (
		all    []*envoy.Config
		client string
	)
	for i, section := range sections {
		var typed struct {
			Type string `json:"@type"`
		}
		if err := json.Unmarshal(section, &typed); err != nil {
			return nil, fmt.Errorf("configs[%d]: want an object with a @type", i)
		}
		switch {
		case strings.HasSuffix(typed.Type, "/"+bootstrapSection):
			client = clientOf(section)
		case strings.HasSuffix(typed.Type, "/"+routesSection):
			configs, err := envoy.Read(section)
			if err != nil && !errors.Is(err, envoy.ErrNone) {
				return nil, fmt.Errorf("configs[%d].%w", i, err)
			}
			all = append(all, configs...)
		}
	}
	if len(all) == 0 {
		return nil, errors.New("the config_dump has no route configurations: ask for all of it, or for ?resource=dynamic_route_configs")
	}
	return newIstio(ConfigDump, all, client)
}

// readRoutes reads what istioctl prints.
func readRoutes(data []byte) (*Given, error) {
	configs, err := envoy.Read(data)
	if errors.Is(err, envoy.ErrNone) {
		return nil, errors.New("no route configuration: " + foreign)
	}
	if err != nil {
		return nil, err
	}
	return newIstio(IstioRoutes, configs, "")
}

func newIstio(format Format, configs []*envoy.Config, client string) (*Given, error) {
	byName := istio{}
	for _, c := range configs {
		byName[c.Name] = c
	}
	return &Given{Format: format, Mesh: mesh.Istio, Client: client, source: byName}, nil
}

// clientOf returns the namespace of a proxy by its bootstrap configuration, as Istio writes it.
func clientOf(section []byte) string {
	var dump struct {
		Bootstrap struct {
			Node struct {
				Metadata struct {
					Namespace string `json:"NAMESPACE"`
				} `json:"metadata"`
			} `json:"node"`
		} `json:"bootstrap"`
	}
	if err := json.Unmarshal(section, &dump); err != nil || len(dump.Bootstrap.Node.Metadata.Namespace) > maxNamespace {
		return "" // it is asked for
	}
	return dump.Bootstrap.Node.Metadata.Namespace
}

// services returns those with more than a default route.
func (s istio) services() (keys []mesh.ServiceKey) {
	for _, config := range s {
		for _, host := range config.Hosts() {
			host, _, _ = strings.Cut(host, ":")
			name, rest, _ := strings.Cut(host, ".")
			namespace, _, ok := strings.Cut(rest, ".svc.")
			key := mesh.ServiceKey{Kind: mesh.ServiceKind, Namespace: namespace, Name: name}
			if ok && !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

func (istio) clients(mesh.ServiceKey) []string { return nil }

func (s istio) at(world World, service *mesh.Service, port mesh.Port, _ string) (*Port, error) {
	for _, host := range []string{
		fmt.Sprintf("%s.%s.svc.cluster.local", service.Key.Name, service.Key.Namespace),
		fmt.Sprintf("%s.%s.svc", service.Key.Name, service.Key.Namespace), // with another domain of the cluster
	} {
		number := strconv.Itoa(int(port.Number))
		if config := s[number]; config != nil && config.Serves(host) {
			return envoyPort(config, host, port.Number, world.istioCluster), nil
		}
		if config := s["inbound-vip|"+number+"|http|"+host]; config != nil { // of a waypoint
			return envoyPort(config, host, port.Number, world.istioCluster), nil
		}
	}
	return nil, nil //nolint:nilnil // nothing is given
}

// istioCluster names what a cluster of Istio stands for. The requests to one that does not exist fail: the
// routes have a status for it.
func (w World) istioCluster(cluster string) string {
	name := cluster
	if parts := strings.Split(cluster, "|"); len(parts) == 4 && parts[0] == "inbound-vip" && parts[2] == "http" { // of a waypoint
		name = "outbound|" + parts[1] + "||" + parts[3]
	}
	text := IstioCluster(name)
	var namespace, service string
	var port int64
	if at, ok := strings.CutPrefix(text, mesh.ServiceKind+" "); ok {
		namespace, at, _ = strings.Cut(at, "/")
		service, at, _ = strings.Cut(at, ":")
		port, _ = strconv.ParseInt(at, 10, 32) // Istio's: it is a number
		return w.orFails(namespace, service, port)
	}
	return text
}

// envoyPort returns what a route configuration says of requests to a host.
func envoyPort(config *envoy.Config, host string, port int32, clusters Clusters) *Port {
	return &Port{
		Conditions: config.Conditions(host),
		Answer: func(r *traffic.Request) (*Answer, error) {
			request := EnvoyRequest(r, host)
			answer, err := config.Answer(request)
			if err != nil {
				return nil, err
			}
			return FromEnvoy(answer, request, port, clusters), nil
		},
	}
}
