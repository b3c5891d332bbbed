// Package worlds makes random routes on Services, and random requests to them, for tests that
// hold what gammaguard says of a mesh against what the mesh does: test/truth asks the meshes'
// own code. Everything follows from a seed.
package worlds

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"

	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/traffic"
	"github.com/gammaguard/gammaguard/validate"
	"github.com/gammaguard/gammaguard/validate/rules"
)

// Options say what a world has.
type Options struct {
	// Profile is the mesh, which decides what there is at all: kinds of routes, and roles.
	Profile *mesh.Profile
	// Plain: no filters, no timeouts, and one kind of route.
	Plain bool
}

// World is a few Services, and the routes on one of them.
type World struct {
	Seed     uint64
	Services []*corev1.Service
	Slices   []*discoveryv1.EndpointSlice
	HTTP     []*gatewayv1.HTTPRoute
	GRPC     []*gatewayv1.GRPCRoute
	options  Options
}

// The Service that the routes are on, its namespace, and that of other clients.
const (
	Service   = "cart"
	Namespace = "shop"
	Clients   = "faces"
)

// Key is the Service that the routes are on.
var Key = mesh.ServiceKey{Kind: mesh.ServiceKind, Namespace: Namespace, Name: Service}

// Ports are those of every Service.
var Ports = []int32{80, 8080, 9090}

// protocols are the appProtocols of the ports, on a mesh that selects ports by them. In every second world
// the last is that of the first.
var protocols = []string{"http", "grpc", ""}

// Random returns the world of a seed.
func Random(seed uint64, options Options) *World {
	w := &World{Seed: seed, options: options}
	for _, name := range []string{Service, "one", "two", "three"} {
		w.service(Namespace, name)
	}
	w.service(Clients, "four")
	c := &choices{rand.New(rand.NewPCG(seed, 1)), options}
	for i := range 1 + c.below(4) {
		if !options.Plain && options.Profile.Takes(mesh.GRPCRoute) && c.maybe(25) {
			w.GRPC = append(w.GRPC, c.grpcRoute(i))
		} else {
			w.HTTP = append(w.HTTP, c.httpRoute(i))
		}
	}
	return w
}

// service adds a Service with an endpoint.
func (w *World) service(namespace, name string) {
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
	service := &corev1.Service{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: meta}
	service.Spec.Type, service.Spec.ClusterIP = corev1.ServiceTypeClusterIP, fmt.Sprintf("10.0.0.%d", 1+len(w.Services))
	for i, port := range Ports {
		port := corev1.ServicePort{Name: fmt.Sprintf("http-%d", i), Port: port, Protocol: corev1.ProtocolTCP}
		protocol := protocols[i]
		if i == len(Ports)-1 && w.Seed%2 == 1 {
			protocol = protocols[0]
		}
		if protocol != "" && w.options.Profile != nil && w.options.Profile.Portless.Value != nil {
			port.AppProtocol = &protocol
		}
		service.Spec.Ports = append(service.Spec.Ports, port)
	}
	w.Services = append(w.Services, service)
	slice := &discoveryv1.EndpointSlice{
		TypeMeta: metav1.TypeMeta{APIVersion: "discovery.k8s.io/v1", Kind: "EndpointSlice"}, ObjectMeta: meta,
		AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{{Addresses: []string{fmt.Sprintf("10.1.0.%d", len(w.Services))}}},
	}
	slice.Labels = map[string]string{discoveryv1.LabelServiceName: name}
	w.Slices = append(w.Slices, slice)
}

// Objects returns all objects but EndpointSlices.
func (w *World) Objects() []runtime.Object {
	var all []runtime.Object
	for _, service := range w.Services {
		all = append(all, service)
	}
	for _, route := range w.HTTP {
		all = append(all, route)
	}
	for _, route := range w.GRPC {
		all = append(all, route)
	}
	return all
}

// Has reports whether the world has a backend, such as "Service shop/one:80".
func (w *World) Has(backend string) bool {
	for _, service := range w.Services {
		for _, port := range service.Spec.Ports {
			if backend == fmt.Sprintf("Service %s/%s:%d", service.Namespace, service.Name, port.Port) {
				return true
			}
		}
	}
	return false
}

// YAML returns all objects as a manifest.
func (w *World) YAML() string {
	all := w.Objects()
	for _, slice := range w.Slices {
		all = append(all, slice)
	}
	for _, name := range []string{Namespace, Clients} {
		all = append(all, &corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	return YAML(all...)
}

// YAML returns objects as a manifest.
func YAML(objects ...runtime.Object) string {
	var out bytes.Buffer
	for _, object := range objects {
		text, err := yaml.Marshal(object)
		if err != nil { // types of the API
			panic(err)
		}
		out.WriteString("---\n")
		out.Write(text)
	}
	return out.String()
}

// Table returns what requests meet in the world by the profile. No grants are asked for.
func (w *World) Table() (*traffic.Table, error) {
	set := manifest.NewSet(manifest.Options{Mesh: w.options.Profile, Complete: true})
	objects, errs := manifest.Read("world", []byte(w.YAML()), Namespace)
	for _, err := range errs {
		return nil, err
	}
	for _, object := range objects {
		if err := set.Put(object); err != nil {
			return nil, err
		}
	}
	policy := &validate.Policy{Mesh: w.options.Profile, Actions: map[string]validate.Action{validate.RuleGrantMissing: validate.Off}}
	if w.options.Profile != nil && w.options.Profile.ReferenceGrants.Value {
		policy.Actions[validate.RuleBackendNotPermitted] = validate.Warn
	}
	engine, err := validate.New(rules.Catalog(), policy)
	if err != nil {
		return nil, err
	}
	var routes traffic.Routes
	for _, object := range set.Routes() {
		meta := &object.Route.Metadata
		whose := &mesh.AttachedRoute{Kind: object.Route.Kind, Namespace: meta.Namespace, Name: meta.Name, Created: meta.CreationTimestamp.Unix()}
		routes = append(routes, traffic.Route{AttachedRoute: whose, Spec: &object.Route.Spec})
	}
	return traffic.New(set, routes, traffic.Options{Engine: engine}), nil
}

// String returns the routes of the world, for messages.
func (w *World) String() string {
	var all []runtime.Object
	for _, object := range w.Objects() {
		if _, is := object.(*corev1.Service); !is {
			all = append(all, object)
		}
	}
	return YAML(all...)
}

// CompareAge orders routes the oldest first, and then by namespace and name.
func CompareAge[T any, P interface {
	*T
	metav1.Object
}](a, b T) int {
	x, y := P(&a), P(&b)
	return cmp.Or(x.GetCreationTimestamp().Compare(y.GetCreationTimestamp().Time), cmp.Compare(x.GetNamespace(), y.GetNamespace()), cmp.Compare(x.GetName(), y.GetName()))
}

// created returns a creation time, in seconds of a day in the past.
func created(second int) metav1.Time {
	return metav1.NewTime(time.Date(2026, 1, 1, 0, 0, second, 0, time.UTC))
}
