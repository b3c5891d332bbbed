package manifest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/mesh/manifest"
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

const stream = `# what the shop needs

apiVersion: v1
kind: Service
metadata: {name: cart}
--- # the routes
apiVersion: v1
kind: List
items:
- apiVersion: gateway.networking.k8s.io/v1
  kind: HTTPRoute
  metadata:
    name: cart
    namespace: shop
  spec:
    parentRefs:
    - kind: Service
      name: cart
- apiVersion: serving.knative.dev/v1
  kind: Service
  metadata: {name: other}
---
---
# nothing
---
{"apiVersion": "gateway.networking.k8s.io/v1alpha2", "kind": "TCPRouteList", "items": [
  {"metadata": {"generateName": "db-"}},
  {}
]}
{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "namespace": "x"}}
---
replicas: 3
---
- a list
`

func TestRead(t *testing.T) {
	type place struct {
		manifest.Key
		Version        string
		Document, Line int
	}
	var got []place
	for _, o := range read(t, stream) {
		got = append(got, place{o.Key, o.Version, o.Origin.Document, o.Origin.Line})
	}
	const gateway = mesh.GatewayGroup
	want := []place{
		{manifest.Key{Kind: "Service", Namespace: "default", Name: "cart"}, "v1", 0, 3},
		{manifest.Key{Group: gateway, Kind: "HTTPRoute", Namespace: "shop", Name: "cart"}, "v1", 1, 7},
		{manifest.Key{Group: "serving.knative.dev", Kind: "Service", Namespace: "default", Name: "other"}, "v1", 1, 7},
		{manifest.Key{Group: gateway, Kind: "TCPRoute", Namespace: "default", Name: "db-*"}, "v1alpha2", 2, 26},
		{manifest.Key{Group: gateway, Kind: "TCPRoute", Namespace: "default", Name: "*"}, "v1alpha2", 2, 26},
		{manifest.Key{Kind: "Namespace", Name: "shop"}, "v1", 3, 30},
		{manifest.Key{Namespace: "default", Name: "*"}, "", 4, 32},
		{manifest.Key{}, "", 5, 34},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestLine(t *testing.T) {
	objects := read(t, stream)
	for path, want := range map[string]int{
		"spec.parentRefs[0].name":           18,
		"spec.parentRefs[0].port":           17, // not there: the parentRef's line
		"spec.parentRefs":                   16,
		"metadata.labels[example.com/tier]": 12,
		"":                                  10,
	} {
		if got := objects[1].Line(path); got != want {
			t.Errorf("%q: line %d, want %d", path, got, want)
		}
	}
	if got := objects[0].Line("metadata.name"); got != 5 {
		t.Errorf("Service: line %d, want 5", got)
	}
	if got := objects[5].Line("metadata.name"); got != 30 {
		t.Errorf("JSON: line %d, want 30", got)
	}
}

func TestReadBroken(t *testing.T) {
	objects, errs := manifest.Read("shop.yaml", []byte(`apiVersion: v1
kind: Service
metadata: {name: a}
---
kind: Service
  metadata: indented
---
kind: HTTPRoute
apiVersion: gateway.networking.k8s.io/v1
metadata: {name: a}
spec: {parentRefs: none}
---
kind: [Service]
---
kind: List
apiVersion: v1
items:
- kind: Namespace
  apiVersion: v1
  metadata: {name: shop}
- kind: TCPRoute
  apiVersion: gateway.networking.k8s.io/v1alpha2
  spec: 3
---
apiVersion: v1
kind: Service
metadata: {name: b}
`), "default")
	var names []string
	for _, o := range objects {
		names = append(names, o.Key.String())
	}
	if diff := cmp.Diff([]string{"Service default/a", "Namespace shop", "Service default/b"}, names); diff != "" {
		t.Error(diff)
	}
	want := []string{
		"shop.yaml:6: broken YAML: ", "shop.yaml:8: not a route: ", "shop.yaml:13: not a Kubernetes object: ", "shop.yaml:21: not a route: ",
	}
	if len(errs) != len(want) {
		t.Fatalf("got %q, want %d errors", errs, len(want))
	}
	for i := range want {
		if !strings.HasPrefix(errs[i].Error(), want[i]) {
			t.Errorf("got %q, want %q", errs[i], want[i])
		}
	}
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
			Key: service("shop", "cart"), Type: mesh.ClusterIP, ConsumerRoutes: "deny",
			Ports: []mesh.Port{{Name: "http", Number: 80, Protocol: mesh.TCP, AppProtocol: "http"}, {Number: 53, Protocol: mesh.UDP}},
		},
		{Key: service("shop", "bare"), Type: mesh.ClusterIP, Headless: true},
		{Key: service("shop", "out"), Type: mesh.ExternalName},
		{Key: serviceImport, Type: mesh.ClusterIP, Headless: true, Ports: []mesh.Port{{Number: 80, Protocol: mesh.TCP}}},
	} {
		got, err := s.Service(want.Key)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Error(want.Key, err, diff)
		}
	}
	namespace, err := s.Namespace("shop")
	if diff := cmp.Diff(&mesh.Namespace{Name: "shop", Labels: map[string]string{mesh.GrantLabel: "all", "kubernetes.io/metadata.name": "shop"}}, namespace); diff != "" || err != nil {
		t.Error(err, diff)
	}
	has := func(key mesh.ServiceKey) any {
		has, err := s.HasEndpoints(key)
		if err != nil {
			return err.Error()
		}
		return has
	}
	got := []any{has(service("shop", "cart")), has(service("shop", "bare")), has(serviceImport)}
	if diff := cmp.Diff([]any{true, "unknown", "unknown"}, got); diff != "" {
		t.Error("endpoints", diff)
	}
	grants, err := s.ReferenceGrants("shop")
	if err != nil || len(grants) != 1 || !grants[0].Permits(mesh.HTTPRoute, "web", service("shop", "cart")) {
		t.Error(grants, err)
	}
	routes, err := s.AttachedRoutes(service("shop", "cart"))
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
			_, namespace := s.Namespace(absent)
			_, service_ := s.Service(service(absent, absent))
			_, imported := s.Service(serviceImport)
			_, endpoints := s.HasEndpoints(service("default", absent))
			_, grants := s.ReferenceGrants(absent)
			_, routes := s.AttachedRoutes(service(absent, absent))
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
		known := object.Key.Kind != "ConfigMap"
		if got := s.Delete(object.Key); got != known {
			t.Errorf("%s: deleted %t, want %t", object.Key, got, known)
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
	if _, err := s.Service(key); err != mesh.ErrNotServed { //nolint:errorlint // the very value
		t.Errorf("without the definition: %v", err)
	}
	if err := s.Put(crd); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Service(key); err != mesh.ErrNotFound { //nolint:errorlint // the very value
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
	a, b := s.Get(routes[0].Key).Route.Attached(), s.Get(routes[1].Key).Route.Attached()
	if a.CompareAge(b) >= 0 {
		t.Error("the route that was there first is not the older one any more")
	}
	onX, _ := s.AttachedRoutes(service("default", "x"))
	onZ, _ := s.AttachedRoutes(service("default", "z"))
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

// largeStream is a cluster of many routes, as kubectl prints one.
func largeStream(services, routes int) string {
	var b strings.Builder
	for i := range services {
		fmt.Fprintf(&b, "apiVersion: v1\nkind: Service\nmetadata:\n  name: s%d\n  namespace: shop\nspec:\n  ports:\n  - name: http\n    port: 80\n---\n", i)
	}
	for i := range routes {
		fmt.Fprintf(&b, `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata:
  name: r%d
  namespace: shop
  labels:
    app.kubernetes.io/name: cart
spec:
  parentRefs:
  - group: ""
    kind: Service
    name: s%d
    port: 80
  rules:
  - matches:
    - path:
        type: PathPrefix
        value: /v1
      headers:
      - name: x-version
        value: "1"
    backendRefs:
    - name: s%d
      port: 80
      weight: 90
    - name: s%d
      port: 80
      weight: 10
---
`, i, i%services, i%services, (i+1)%services)
	}
	return b.String()
}

// TestLarge holds a large cluster to a bound that is far above what it takes, and
// far below what a scan of all routes for each would.
func TestLarge(t *testing.T) {
	const services, routes = 2000, 10000
	data := largeStream(services, routes)
	started := time.Now()
	s := set(t, manifest.Options{Complete: true}, data)
	for i := range services {
		attached, err := s.AttachedRoutes(service("shop", fmt.Sprintf("s%d", i)))
		if err != nil || len(attached) != routes/services {
			t.Fatal(i, len(attached), err)
		}
	}
	if took := time.Since(started); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
}

func BenchmarkRead(b *testing.B) {
	data := []byte(largeStream(2000, 10000))
	b.ReportAllocs()
	for b.Loop() {
		s := manifest.NewSet(manifest.Options{Complete: true})
		objects, _ := manifest.Read("x", data, "default")
		for _, o := range objects {
			if err := s.Put(o); err != nil {
				b.Fatal(err)
			}
		}
	}
}
