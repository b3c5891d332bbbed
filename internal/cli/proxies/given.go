package proxies

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/internal/yaml"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/traffic"
)

// Format is a form in which proxies are given routes.
type Format string

// The formats that Read knows.
const (
	ConfigDump    Format = "Envoy config_dump"
	IstioRoutes   Format = "istioctl proxy-config routes"
	CiliumConfigs Format = "CiliumEnvoyConfig"
	KumaRoutes    Format = "MeshHTTPRoute"
	LinkerdPolicy Format = "linkerd diagnostics policy"
)

// MaxSize is the size of the largest text that is read, in bytes.
const MaxSize = 64 << 20

const (
	maxNamespace = 253
	ciliumGroup  = "cilium.io"
	kumaGroup    = "kuma.io"
	foreign      = "want Envoy's config_dump, what istioctl proxy-config routes -o json prints, CiliumEnvoyConfigs, Kuma's MeshHTTPRoutes, " +
		"or what linkerd diagnostics policy prints for a Service"
)

// Given is what proxies were given. It is for one goroutine.
type Given struct {
	Format Format
	// Mesh is the mesh that has the format.
	Mesh mesh.ProfileName
	// Client is the namespace of the proxy; empty for proxies of every namespace, and where it is not known.
	Client string
	// Everywhere: it is for proxies of every namespace, and has all that there is, so that a port that it does
	// not name has no routes.
	Everywhere bool
	source     source
}

// source is what was read.
type source interface {
	// services returns the Services that it has routes for.
	services() []mesh.ServiceKey
	// clients returns the namespaces whose clients have routes of their own on a Service.
	clients(of mesh.ServiceKey) []string
	// at returns what clients in the namespace are given for a Service port; nil for nothing.
	at(world World, service *mesh.Service, port mesh.Port, from string) (*Port, error)
}

// World is what is known of the cluster, where what proxies were given does not say it.
type World struct {
	Reader  mesh.Reader
	Profile *mesh.Profile
}

// Port is what clients were given for a Service port.
type Port struct {
	// Conditions are what each route looks for.
	Conditions [][]mesh.Condition
	// OnlyGRPC: it says nothing of requests that are not gRPC.
	OnlyGRPC bool
	// Answer returns what becomes of a request. The error says why that cannot be told.
	Answer func(*traffic.Request) (*Answer, error)
}

// Services returns the Services that it has routes for.
func (g *Given) Services() []mesh.ServiceKey { return g.source.services() }

// Clients returns the namespaces whose clients have routes of their own on a Service.
func (g *Given) Clients(of mesh.ServiceKey) []string { return g.source.clients(of) }

// Namespaces returns those of the Services and of the clients.
func (g *Given) Namespaces() []string {
	all := []string{g.Client}
	for _, service := range g.Services() {
		all = append(append(all, service.Namespace), g.Clients(service)...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// At returns what clients in the namespace are given for a Service port; nil for nothing.
func (g *Given) At(world World, service *mesh.Service, port mesh.Port, from string) (*Port, error) {
	return g.source.at(world, service, port, from)
}

// Read reads what proxies were given: JSON, or YAML of objects and of Linkerd's policy. The name is that of the
// file, for messages.
func Read(name string, data []byte) (*Given, error) {
	given, err := read(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %s", printable.Text(name), printable.Error(err))
	}
	return given, nil
}

func read(data []byte) (*Given, error) {
	if len(data) > MaxSize {
		return nil, fmt.Errorf("it is larger than %d MiB", MaxSize>>20)
	}
	data = bytes.TrimSpace(yaml.UTF8(data))
	switch {
	case len(data) == 0:
		return nil, errors.New("it is empty; " + foreign)
	case data[0] == '[':
		return readRoutes(data)
	case data[0] != '{':
		return readYAML(data)
	}
	var top map[string]json.RawMessage
	if err := json.Unmarshal(data, &top); err != nil {
		if bytes.Contains(data, []byte("\n---")) { // objects in JSON, one after another
			return readYAML(data)
		}
		return nil, syntaxError(data, err)
	}
	switch {
	case top["configs"] != nil:
		return readDump(top["configs"])
	case top["protocol"] != nil:
		return readLinkerd(data)
	case top["kind"] != nil || top["items"] != nil:
		return readObjects(data)
	}
	return readRoutes(data)
}

// readYAML reads objects, or Linkerd's policy.
func readYAML(data []byte) (*Given, error) {
	var policy struct {
		Protocol any `json:"protocol"`
	}
	text, err := yaml.ToJSON(data)
	if err == nil && json.Unmarshal(text, &policy) == nil && policy.Protocol != nil {
		return readLinkerd(text)
	}
	if err != nil {
		return nil, fmt.Errorf("neither JSON nor YAML: %w", err)
	}
	return readObjects(data)
}

// syntaxError names the line of a mistake.
func syntaxError(data []byte, err error) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		line := 1 + bytes.Count(data[:min(int(syntax.Offset), len(data))], []byte("\n"))
		return fmt.Errorf("line %d is not valid JSON: %w", line, err)
	}
	return err
}

// FromObjects returns what objects of a cluster, in JSON, say.
func FromObjects(objects [][]byte) (*Given, error) {
	var all []object
	for _, data := range objects {
		o, err := decodeObject(data)
		if err != nil {
			return nil, err
		}
		all = append(all, *o)
	}
	return fromObjects(all)
}

// object is an object of a mesh.
type object struct {
	kind, namespace, name string
	data                  []byte
}

func (o *object) String() string { return fmt.Sprintf("%s %s/%s", o.kind, o.namespace, o.name) }

func decodeObject(data []byte) (*object, error) {
	var o struct {
		Kind     string          `json:"kind"`
		Metadata mesh.ObjectMeta `json:"metadata"`
	}
	if err := mesh.Decode(data, &o); err != nil {
		return nil, err
	}
	return &object{o.Kind, o.Metadata.Namespace, o.Metadata.Name, data}, nil
}

func readObjects(data []byte) (*Given, error) {
	read, errs := manifest.ReadUndecoded("document", data, "default")
	if len(errs) > 0 {
		return nil, errs[0]
	}
	var all []object
	for _, o := range read {
		if o.Key.Group == ciliumGroup || o.Key.Group == kumaGroup {
			all = append(all, object{o.Key.Kind, o.Key.Namespace, o.Key.Name, o.JSON})
		}
	}
	return fromObjects(all)
}

func fromObjects(all []object) (*Given, error) {
	cilium := only(all, "CiliumEnvoyConfig", "CiliumClusterwideEnvoyConfig")
	kuma := only(all, "MeshHTTPRoute")
	switch {
	case len(cilium) > 0 && len(kuma) > 0:
		return nil, errors.New("there are CiliumEnvoyConfigs and MeshHTTPRoutes: one mesh is compared at a time")
	case len(cilium) > 0:
		return readCilium(cilium)
	case len(kuma) > 0:
		return readKuma(kuma)
	}
	return nil, errors.New("no CiliumEnvoyConfig and no MeshHTTPRoute: " + foreign)
}

func only(all []object, kinds ...string) []object {
	return slices.DeleteFunc(slices.Clone(all), func(o object) bool { return !slices.Contains(kinds, o.kind) })
}

// backend names a Service port as traffic does.
func backend(namespace, name string, port int64) string {
	return fmt.Sprintf("%s %s/%s:%d", mesh.ServiceKind, namespace, name, port)
}

// exists reports whether the cluster has a Service port, as far as that is known.
func (w World) exists(namespace, name string, port int64) bool {
	service, err := mesh.FindService(w.Reader, mesh.ServiceKey{Kind: mesh.ServiceKind, Namespace: namespace, Name: name})
	if err != nil {
		return !errors.Is(err, mesh.ErrNotFound)
	}
	return slices.ContainsFunc(service.Ports, func(p mesh.Port) bool { return int64(p.Number) == port })
}

// orFails returns the backend of a Service port, or the status where there is none.
func (w World) orFails(namespace, name string, port int64) string {
	if !w.exists(namespace, name, port) {
		return "500"
	}
	return backend(namespace, name, port)
}
