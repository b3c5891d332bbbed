package manifest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/mesh"
)

// read reads a file that is in order.
func read(t *testing.T, data string) []*manifest.Object {
	t.Helper()
	objects, errs := manifest.Read("shop.yaml", []byte(data), "default")
	for _, err := range errs {
		t.Error(err)
	}
	return objects
}

// set returns a complete set of a file's objects.
func set(t *testing.T, options manifest.Options, data string) *manifest.Set {
	t.Helper()
	s := manifest.NewSet(options)
	for _, object := range read(t, data) {
		if err := s.Put(object); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

const shop = `
{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {gammaguard.dev/grant: all}}}
---
{apiVersion: v1, kind: Service, metadata: {namespace: shop, name: cart, labels: {gammaguard.dev/consumer-routes: deny}},
 spec: {ports: [{port: 80, name: http, appProtocol: http}, {port: 53, protocol: UDP}]}}
---
{apiVersion: v1, kind: Service, metadata: {namespace: shop, name: bare}, spec: {clusterIP: None}}
---
{apiVersion: v1, kind: Service, metadata: {namespace: shop, name: out}, spec: {type: ExternalName, externalName: example.com}}
---
{apiVersion: multicluster.x-k8s.io/v1alpha1, kind: ServiceImport, metadata: {namespace: shop, name: cart}, spec: {type: Headless, ports: [{port: 80}]}}
---
{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {namespace: shop, name: cart-1, labels: {kubernetes.io/service-name: cart}},
 addressType: IPv4, endpoints: [{addresses: [10.0.0.1]}]}
---
{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {namespace: shop, name: bare-1, labels: {kubernetes.io/service-name: bare}}, addressType: IPv4}
---
{apiVersion: gateway.networking.k8s.io/v1beta1, kind: ReferenceGrant, metadata: {namespace: shop, name: g},
 spec: {from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: web}], to: [{group: "", kind: Service}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {namespace: shop, name: cart},
 spec: {parentRefs: [{group: "", kind: Service, name: cart, port: 80}, {group: "", kind: Service, name: cart, port: 81}], rules: [{}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: GRPCRoute, metadata: {namespace: web, name: cart},
 spec: {parentRefs: [{name: gateway}, {group: "", kind: Service, namespace: shop, name: cart}]}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}
`

func service(namespace, name string) mesh.ServiceKey {
	return mesh.ServiceKey{Kind: mesh.ServiceKind, Namespace: namespace, Name: name}
}

func TestWorld(t *testing.T) {
	s := set(t, manifest.Options{}, shop)
	serviceImport := mesh.ServiceKey{Kind: mesh.ServiceImportKind, Namespace: "shop", Name: "cart"}
	for _, want := range []*mesh.Service{
		{
			Key: service("shop", "cart"), Type: mesh.ClusterIP, ServiceMetadata: mesh.ServiceMetadata{ServiceLabels: mesh.ServiceLabels{ConsumerRoutes: "deny"}},
			Ports: []mesh.Port{{Name: "http", Number: 80, Protocol: mesh.TCP, AppProtocol: "http"}, {Number: 53, Protocol: mesh.UDP}},
		},
		{Key: service("shop", "bare"), Type: mesh.ClusterIP, Headless: true},
		{Key: service("shop", "out"), Type: mesh.ExternalName, Alias: "example.com"},
		{Key: serviceImport, Type: mesh.ClusterIP, Headless: true, Ports: []mesh.Port{{Number: 80, Protocol: mesh.TCP}}},
	} {
		got, err := mesh.FindService(s, want.Key)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Error(want.Key, err, diff)
		}
	}
	namespace, err := mesh.FindNamespace(s, "shop")
	if diff := cmp.Diff(&mesh.Namespace{Name: "shop", Labels: map[string]string{mesh.GrantLabel: "all", "kubernetes.io/metadata.name": "shop"}}, namespace); diff != "" || err != nil {
		t.Error(err, diff)
	}
	has := func(key mesh.ServiceKey) any {
		has, err := mesh.HasEndpoints(s, key)
		if err != nil {
			return err.Error()
		}
		return has
	}
	got := []any{has(service("shop", "cart")), has(service("shop", "bare")), has(serviceImport)}
	if diff := cmp.Diff([]any{true, "unknown", "unknown"}, got); diff != "" {
		t.Error("endpoints", diff)
	}
	grants, err := mesh.ReferenceGrants(s, "shop")
	if err != nil || len(grants) != 1 || !grants[0].Permits(mesh.HTTPRoute, "web", service("shop", "cart")) {
		t.Error(grants, err)
	}
	routes, err := mesh.AttachedRoutes(s, service("shop", "cart"), "")
	if err != nil || len(routes) != 2 {
		t.Fatal(routes, err)
	}
	if order := routes[0].CompareAge(routes[1]); order >= 0 {
		t.Errorf("%s is not older than %s", routes[0], routes[1])
	}
}

func TestWhatIsNotThere(t *testing.T) {
	const absent = "gone"
	serviceImport := mesh.ServiceKey{Kind: mesh.ServiceImportKind, Namespace: absent, Name: absent}
	tests := map[string]struct {
		options                    manifest.Options
		want, wantImport, wantRest error
	}{
		"files":      {manifest.Options{}, mesh.ErrUnknown, mesh.ErrUnknown, mesh.ErrUnknown},
		"cluster":    {manifest.Options{Complete: true}, mesh.ErrNotFound, mesh.ErrNotFound, nil},
		"not served": {manifest.Options{Complete: true, NoServiceImports: true}, mesh.ErrNotFound, mesh.ErrNotServed, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := set(t, test.options, `{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: gone-1, labels: {kubernetes.io/service-name: gone}}}`)
			_, namespace := mesh.FindNamespace(s, absent)
			_, service_ := mesh.FindService(s, service(absent, absent))
			_, imported := mesh.FindService(s, serviceImport)
			_, endpoints := mesh.HasEndpoints(s, service("default", absent))
			_, grants := mesh.ReferenceGrants(s, absent)
			_, routes := mesh.AttachedRoutes(s, service(absent, absent), "")
			got := []error{namespace, service_, imported, endpoints, grants, routes}
			want := []error{test.want, test.want, test.wantImport, test.wantRest, test.wantRest, nil}
			for i := range want {
				if got[i] != want[i] { //nolint:errorlint // the very values
					t.Errorf("answer %d: %v, want %v", i, got[i], want[i])
				}
			}
		})
	}
}

func TestDelete(t *testing.T) {
	s := set(t, manifest.Options{Complete: true}, shop)
	for _, object := range read(t, shop) {
		if !s.Delete(object.Key) {
			t.Errorf("%s was not there", object.Key)
		}
		if s.Delete(object.Key) || s.Get(object.Key) != nil {
			t.Errorf("%s is still there", object.Key)
		}
	}
	if diff := cmp.Diff(manifest.NewSet(manifest.Options{Complete: true}), s, cmp.AllowUnexported(manifest.Set{}),
		cmpopts.IgnoreFields(manifest.Set{}, "arrived"), cmpopts.EquateEmpty(), cmpopts.IgnoreMapEntries(func(_ mesh.ServiceKey, n int) bool { return n == 0 })); diff != "" {
		t.Error(diff)
	}
}

func TestServiceImportsServed(t *testing.T) {
	crd := read(t, `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: serviceimports.multicluster.x-k8s.io}}`)[0]
	key := mesh.ServiceKey{Kind: mesh.ServiceImportKind, Namespace: "shop", Name: "cart"}
	s := set(t, manifest.Options{Complete: true}, shop)
	if !s.Delete(crd.Key) || s.Delete(crd.Key) {
		t.Error("the definition is deleted once")
	}
	if _, err := mesh.FindService(s, key); err != mesh.ErrNotServed { //nolint:errorlint // the very value
		t.Errorf("without the definition: %v", err)
	}
	if err := s.Put(crd); err != nil {
		t.Fatal(err)
	}
	if _, err := mesh.FindService(s, key); err != mesh.ErrNotFound { //nolint:errorlint // the very value
		t.Errorf("with the definition again: %v", err)
	}
}

// TestPutRouteAgain replaces a route: its age stays, its generation and its
// parents do not.
func TestPutRouteAgain(t *testing.T) {
	const text = `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: %s}, spec: {parentRefs: [{group: "", kind: Service, name: %s}]}}`
	routes := read(t, fmt.Sprintf(text+"\n---\n"+text+"\n---\n"+text, "a", "x", "b", "x", "a", "z"))
	s := manifest.NewSet(manifest.Options{})
	other := manifest.NewSet(manifest.Options{})
	for _, route := range routes {
		for _, each := range []*manifest.Set{s, other} { // an object may be in several sets
			if err := each.Put(route); err != nil {
				t.Fatal(err)
			}
		}
	}
	type summary struct {
		Name       string
		Generation int64
	}
	var got []summary
	for _, o := range s.Routes() {
		got = append(got, summary{o.Route.Metadata.Name, o.Route.Metadata.Generation})
	}
	if diff := cmp.Diff([]summary{{"a", 2}, {"b", 1}}, got); diff != "" {
		t.Error(diff)
	}
	a, b := s.Get(routes[0].Key).Route.Attached(nil), s.Get(routes[1].Key).Route.Attached(nil)
	if a.CompareAge(b) >= 0 {
		t.Error("the route that was there first is not the older one any more")
	}
	onX, _ := mesh.AttachedRoutes(s, service("default", "x"), "")
	onZ, _ := mesh.AttachedRoutes(s, service("default", "z"), "")
	if diff := cmp.Diff([][]*mesh.AttachedRoute{{b}, {a}}, [][]*mesh.AttachedRoute{onX, onZ}); diff != "" {
		t.Error(diff)
	}
}

func TestPutBroken(t *testing.T) {
	s := manifest.NewSet(manifest.Options{})
	err := s.Put(read(t, "\n{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {ports: [{port: http}]}}")[0])
	if err == nil || !strings.HasPrefix(err.Error(), "shop.yaml:2: not a Service: ") {
		t.Errorf("got %v, want an error with its place", err)
	}
	if got := s.Get(manifest.Key{Kind: "Service", Namespace: "default", Name: "a"}); got != nil {
		t.Error("it is in the set")
	}
}
