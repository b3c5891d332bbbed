package traffic

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
	"github.com/gammaguard/gammaguard/validate/rules"
)

// world is a Reader over what a test says.
type world struct {
	services map[mesh.ServiceKey]*mesh.Service
	empty    map[mesh.ServiceKey]bool
	grants   map[string][]mesh.ReferenceGrant
	// incomplete: what is not there is not known.
	incomplete bool
}

func newWorld() *world {
	return &world{services: map[mesh.ServiceKey]*mesh.Service{}, empty: map[mesh.ServiceKey]bool{}, grants: map[string][]mesh.ReferenceGrant{}}
}

// Do implements mesh.Reader.
func (w *world) Do(read mesh.Read) mesh.Answer {
	switch read.Kind {
	case mesh.ReadService:
		switch s := w.services[read.Service]; {
		case s != nil:
			return mesh.Answer{Service: s}
		case !w.incomplete:
			return mesh.Answer{Err: mesh.ErrNotFound}
		}
	case mesh.ReadNamespace:
		if !w.incomplete {
			return mesh.Answer{Namespace: &mesh.Namespace{Name: read.Namespace}}
		}
	case mesh.ReadEndpoints:
		return mesh.Answer{HasEndpoints: !w.empty[read.Service]}
	case mesh.ReadReferenceGrants:
		return mesh.Answer{ReferenceGrants: w.grants[read.Namespace]}
	}
	return mesh.Answer{Err: mesh.ErrUnknown}
}

// apiRoutes are routes in the Gateway API's own types.
type apiRoutes struct {
	HTTP []*gatewayv1.HTTPRoute
	GRPC []*gatewayv1.GRPCRoute
	TLS  []*gatewayv1.TLSRoute
	TCP  []*gatewayv1.TCPRoute
	UDP  []*gatewayv1.UDPRoute
}

// stored returns the routes as a Table takes them.
func (r apiRoutes) stored(t testing.TB) Routes {
	t.Helper()
	var out Routes
	store(t, &out, mesh.HTTPRoute, r.HTTP)
	store(t, &out, mesh.GRPCRoute, r.GRPC)
	store(t, &out, mesh.TLSRoute, r.TLS)
	store(t, &out, mesh.TCPRoute, r.TCP)
	store(t, &out, mesh.UDPRoute, r.UDP)
	return out
}

// store adds the routes as an API server stores them.
func store[R metav1.Object](t testing.TB, out *Routes, kind mesh.RouteKind, routes []R) {
	t.Helper()
	for _, route := range routes {
		decoded := reducedRoute(t, kind, route)
		whose := decoded.Attached(nil)
		whose.Namespace = cmp.Or(whose.Namespace, metav1.NamespaceDefault)
		*out = append(*out, Route{whose, &decoded.Spec})
	}
}

// reducedRoute returns what gammaguard reads of a route.
func reducedRoute(t testing.TB, kind mesh.RouteKind, route any) *mesh.Route {
	t.Helper()
	text, err := json.Marshal(route)
	if err != nil {
		t.Fatal(err)
	}
	reduced, err := mesh.DecodeRoute(bytes.Replace(text, []byte("{"), []byte(`{"kind":"`+kind+`",`), 1))
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return reduced
}

// read adds the objects of manifests to the world and returns their routes. An
// annotation "empty" on a Service says that it has no endpoints.
func (w *world) read(t testing.TB, manifests string) apiRoutes {
	t.Helper()
	var routes apiRoutes
	for _, text := range strings.Split(manifests, "\n---\n") {
		var meta metav1.TypeMeta
		decode(t, text, &meta)
		switch meta.Kind {
		case "Service":
			w.addService(decode(t, text, &corev1.Service{}))
		case "ReferenceGrant":
			grant := decode(t, text, &gatewayv1.ReferenceGrant{})
			var lowered mesh.ReferenceGrant
			for _, from := range grant.Spec.From {
				lowered.From = append(lowered.From, mesh.ReferenceGrantFrom{Group: string(from.Group), Kind: string(from.Kind), Namespace: string(from.Namespace)})
			}
			for _, to := range grant.Spec.To {
				lowered.To = append(lowered.To, mesh.ReferenceGrantTo{Group: string(to.Group), Kind: string(to.Kind), Name: string(*cmp.Or(to.Name, new(gatewayv1.ObjectName)))})
			}
			w.grants[grant.Namespace] = append(w.grants[grant.Namespace], lowered)
		case "HTTPRoute":
			routes.HTTP = append(routes.HTTP, decode(t, text, &gatewayv1.HTTPRoute{}))
		case "GRPCRoute":
			routes.GRPC = append(routes.GRPC, decode(t, text, &gatewayv1.GRPCRoute{}))
		case "TLSRoute":
			routes.TLS = append(routes.TLS, decode(t, text, &gatewayv1.TLSRoute{}))
		case "TCPRoute":
			routes.TCP = append(routes.TCP, decode(t, text, &gatewayv1.TCPRoute{}))
		case "UDPRoute":
			routes.UDP = append(routes.UDP, decode(t, text, &gatewayv1.UDPRoute{}))
		}
	}
	return routes
}

func (w *world) addService(in *corev1.Service) {
	s := &mesh.Service{
		Key:      mesh.ServiceKey{Kind: mesh.ServiceKind, Namespace: in.Namespace, Name: in.Name},
		Type:     mesh.ServiceType(in.Spec.Type),
		Alias:    in.Spec.ExternalName,
		Headless: in.Spec.ClusterIP == corev1.ClusterIPNone,
	}
	for _, p := range in.Spec.Ports {
		port := mesh.Port{Name: p.Name, Number: p.Port, Protocol: mesh.Protocol(p.Protocol)}
		if port.Protocol == "" {
			port.Protocol = mesh.TCP
		}
		s.Ports = append(s.Ports, port)
	}
	w.services[s.Key] = s
	_, w.empty[s.Key] = in.Annotations["empty"]
}

func decode[T any](t testing.TB, text string, into T) T {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	return into
}

// shop is the world of most tests: Services cart, cart-v1, cart-v2 and admin in
// namespace shop, stub in faces.
const shop = `
{apiVersion: v1, kind: Service, metadata: {namespace: shop, name: cart}, spec: {ports: [{name: http, port: 80}, {name: alt, port: 8080}, {name: dns, port: 53, protocol: UDP}]}}
---
{apiVersion: v1, kind: Service, metadata: {namespace: shop, name: cart-v1}, spec: {ports: [{port: 8080}]}}
---
{apiVersion: v1, kind: Service, metadata: {namespace: shop, name: cart-v2}, spec: {ports: [{port: 8080}]}}
---
{apiVersion: v1, kind: Service, metadata: {namespace: shop, name: admin}, spec: {ports: [{port: 80}]}}
---
{apiVersion: v1, kind: Service, metadata: {namespace: shop, name: idle, annotations: {empty: ""}}, spec: {ports: [{port: 80}]}}
---
{apiVersion: v1, kind: Service, metadata: {namespace: faces, name: stub}, spec: {ports: [{port: 80}]}}
`

// by returns the options of the policy, which grants everything unless it says otherwise.
func by(t testing.TB, policy validate.Policy) Options {
	t.Helper()
	policy.Grants.Default = cmp.Or(policy.Grants.Default, mesh.GrantAll)
	engine, err := validate.New(rules.Catalog(), &policy)
	if err != nil {
		t.Fatal(err)
	}
	return Options{Engine: engine}
}

// granting is an engine by the specification, under a policy that grants everything.
var granting = sync.OnceValues(func() (*validate.Engine, error) {
	return validate.New(rules.Catalog(), &validate.Policy{Grants: mesh.GrantPolicy{Default: mesh.GrantAll}})
})

// tableOf returns a table of the routes, by granting unless the options have another engine.
func tableOf(reader mesh.Reader, routes Routes, options Options) *Table {
	if options.Engine == nil {
		engine, err := granting()
		if err != nil {
			panic(err) // the policy is constant
		}
		options.Engine = engine
	}
	return New(reader, routes, options)
}

// newTable returns a table of manifests in the world shop.
func newTable(t testing.TB, options Options, manifests ...string) *Table {
	t.Helper()
	w := newWorld()
	routes := w.read(t, strings.Join(append([]string{shop}, manifests...), "\n---\n"))
	return tableOf(w, routes.stored(t), options)
}

func serviceKey(name string) mesh.ServiceKey {
	return mesh.ServiceKey{Kind: mesh.ServiceKind, Namespace: "shop", Name: name}
}

// ask returns a request to service/cart of shop on port 80, from a client in its
// namespace, changed by what the arguments say: "from NAMESPACE", "from gateway", "port N",
// "grpc SERVICE/METHOD", "sni NAME", "METHOD", "/path?query" or "header: value".
func ask(t testing.TB, args ...string) Request {
	t.Helper()
	r := Request{From: "shop"}
	err := r.SetTarget("service/cart:80", "shop")
	for _, arg := range args {
		if err != nil {
			break
		}
		word, rest, _ := strings.Cut(arg, " ")
		switch {
		case strings.HasPrefix(arg, "/"):
			err = r.SetPath(arg)
		case arg == "from gateway":
			r.FromGateway = true
		case word == "from":
			r.From = rest
		case word == "grpc":
			err = r.SetGRPC(rest)
		case word == "sni":
			r.ServerName = rest
		case word == "to":
			err = r.SetTarget(rest, "shop")
		case strings.Contains(arg, ":"):
			err = r.AddHeader(arg)
		default:
			r.Method = arg
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// mergingMesh returns Istio's profile without its split of routes by port, which is not about
// matches.
func mergingMesh() *mesh.Profile {
	profile := *mesh.FindProfile(mesh.Istio)
	profile.PortSplit.Value = false
	return &profile
}
