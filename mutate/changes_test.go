package mutate_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/mutate"
)

// world holds Services by "namespace/name", ServiceImports by
// "import:namespace/name", and namespaces. It notes what is read.
type world struct {
	services   map[string]mesh.Service
	namespaces map[string]map[string]string
	err        error
	read       []string
}

// Do implements mesh.Reader.
func (w *world) Do(read mesh.Read) mesh.Answer {
	name := read.Service.Namespace + "/" + read.Service.Name
	if read.Service.Kind == mesh.ServiceImportKind {
		name = "import:" + name
	}
	if read.Kind == mesh.ReadService && !slices.Contains(w.read, name) {
		w.read = append(w.read, name)
	}
	if w.err != nil {
		return mesh.Answer{Err: w.err}
	}
	switch read.Kind {
	case mesh.ReadService:
		if service, ok := w.services[name]; ok {
			service.Key = read.Service
			return mesh.Answer{Service: &service}
		}
	case mesh.ReadNamespace:
		if labels, ok := w.namespaces[read.Namespace]; ok {
			return mesh.Answer{Namespace: &mesh.Namespace{Name: read.Namespace, Labels: labels}}
		}
	}
	return mesh.Answer{Err: mesh.ErrNotFound}
}

// services are the Services that the tests know.
func services() map[string]mesh.Service {
	http := mesh.Port{Name: "http", Number: 80, Protocol: mesh.TCP}
	grpc := mesh.Port{Name: "grpc", Number: 90, Protocol: mesh.TCP}
	dns := mesh.Port{Name: "dns", Number: 53, Protocol: mesh.UDP}
	dnsTCP := mesh.Port{Name: "dns-tcp", Number: 53, Protocol: mesh.TCP}
	sctp := mesh.Port{Name: "sctp", Number: 53, Protocol: "SCTP"}
	with := func(ports ...mesh.Port) mesh.Service { return mesh.Service{Type: mesh.ClusterIP, Ports: ports} }
	return map[string]mesh.Service{
		"shop/one":        with(http),
		"shop/unnamed":    with(mesh.Port{Number: 80, Protocol: mesh.TCP}),
		"shop/two":        with(http, grpc),
		"shop/dns":        with(dns, dnsTCP),
		"shop/udp":        with(dns),
		"shop/mixed":      with(http, dns),
		"shop/foreign":    with(http, dns, sctp),
		"shop/headless":   {Type: mesh.ClusterIP, Headless: true, Ports: []mesh.Port{http}},
		"shop/none":       with(),
		"bar/one":         with(http),
		"bar/two":         with(http, grpc),
		"import:shop/two": with(http, grpc),
		"import:shop/one": with(http),
	}
}

// decode reads a route from YAML.
func decode(t testing.TB, text string) ([]byte, *mesh.Route) {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	route, err := mesh.DecodeRoute(raw)
	if err != nil {
		t.Fatal(err)
	}
	return raw, route
}

// example is one route of a table: its spec in YAML, and what is to be changed.
type example struct {
	name string
	kind mesh.RouteKind // empty for HTTPRoute
	spec string
	opts mutate.Options
	want []mutate.Change
	read []string // what is read, in this order, each but once
}

// run checks the changes of each example, and that a second pass has none.
func run(t *testing.T, examples []example) {
	for _, ex := range examples {
		t.Run(ex.name, func(t *testing.T) {
			kind := ex.kind
			if kind == "" {
				kind = mesh.HTTPRoute
			}
			_, route := decode(t, "kind: "+string(kind)+"\nmetadata: {namespace: shop, name: r}\nspec:\n"+ex.spec)
			w := &world{services: services()}
			if ex.opts.MayRead == nil {
				ex.opts.MayRead = ownOnly.MayRead
			}
			got := mutate.Changes(route, w, ex.opts)
			if diff := cmp.Diff(ex.want, got); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(ex.read, w.read); diff != "" {
				t.Errorf("what is read (-want +got):\n%s", diff)
			}
			if again := mutate.Changes(mutate.Mutated(route, got), w, ex.opts); len(again) > 0 {
				t.Errorf("a second pass changes more: %v", again)
			}
		})
	}
}

func mayReadAll(string) bool { return true }

// ownOnly are the options of a route in namespace shop that may read that alone.
var ownOnly = mutate.Options{MayRead: func(namespace string) bool { return namespace == "shop" }}

func off(ids ...string) mutate.Options {
	opts := mutate.Options{Off: map[string]bool{}, MayRead: mayReadAll}
	for _, id := range ids {
		opts.Off[id] = true
	}
	return opts
}

func TestChanges(t *testing.T) {
	gep := `
  parentRefs: [{kind: Service, name: one}]
  rules: [{backendRefs: [{kind: Service, name: one, weight: 90}, {kind: Service, name: udp, weight: 10}]}]`
	group := mutate.Change{
		ID: "parent-group", Path: "spec.parentRefs[0].group", Op: mutate.Add, After: "", Why: "Service is in the core group",
	}
	all := `
  parentRefs:
  - {kind: Service, group: core, name: two, port: 80}
  - {kind: Service, group: gateway.networking.k8s.io, name: two, port: 90}
  rules:
  - backendRefs: [{group: core, kind: Service, name: one}]`
	both := []mutate.Change{
		{ID: "parent-group", Path: "spec.parentRefs[0].group", Op: mutate.Replace, After: "", Why: "Service is in the core group"},
		{
			ID: "parent-group", Path: "spec.parentRefs[1].group", Op: mutate.Replace, After: "",
			Why: "Service is in the core group",
		},
	}
	backend := mutate.Change{
		ID: "backend-group", Path: "spec.rules[0].backendRefs[0].group", Op: mutate.Replace, After: "", Why: `the core group is ""`,
	}
	port := mutate.Change{
		ID: "backend-port", Path: "spec.rules[0].backendRefs[0].port", Op: mutate.Add, After: int32(80), Why: "Service shop/one has no other port",
	}
	sections := []mutate.Change{
		{
			ID: "parent-section", Path: "spec.parentRefs[0].sectionName", Op: mutate.Add, After: "http",
			Why: "port 80 has this name, and parentRefs to one Service must differ in sectionName",
		},
		{
			ID: "parent-section", Path: "spec.parentRefs[1].sectionName", Op: mutate.Add, After: "grpc",
			Why: "port 90 has this name, and parentRefs to one Service must differ in sectionName",
		},
	}
	run(t, []example{
		{
			name: "each change builds on those before it",
			spec: all,
			want: append(append(slices.Clone(both), backend, port), sections...),
			read: []string{"shop/one", "shop/two"},
		},
		{
			name: "without the parents' group there is no mesh parent",
			spec: all, opts: off("parent-group"),
		},
		{
			name: "without the backend's group it is not known to be a Service",
			spec: all, opts: off("backend-group"),
			want: append(slices.Clone(both), sections...),
			read: []string{"shop/two"},
		},
		{
			name: "without ports",
			spec: all, opts: off("backend-port"),
			want: append(append(slices.Clone(both), backend), sections...),
			read: []string{"shop/two"},
		},
		{
			name: "without sectionNames",
			spec: all, opts: off("parent-section"),
			want: append(slices.Clone(both), backend, port),
			read: []string{"shop/one"},
		},
		{name: "all off", spec: all, opts: off(mutate.Names()...)},
		{
			name: "groups alone read nothing",
			spec: gep, opts: off("backend-port", "parent-section"),
			want: []mutate.Change{group},
		},
		{
			name: "each backend by itself",
			spec: gep,
			want: []mutate.Change{group, port},
			read: []string{"shop/one", "shop/udp"},
		},
		{
			name: "a north-south route",
			spec: `
  parentRefs: [{name: one}, {kind: ListenerSet, name: one}]
  rules: [{backendRefs: [{name: one}, {group: core, name: one}]}]`,
		},
		{
			name: "a route of another implementation's kind",
			spec: `
  parentRefs: [{kind: MeshService, group: kuma.io, name: one}]
  rules: [{backendRefs: [{name: one}, {group: core, name: one}]}]`,
		},
	})
}

// A route that is being deleted is still there, and meshes go on programming it.
func TestChangesOfDeletedRoute(t *testing.T) {
	_, route := decode(t, `
kind: HTTPRoute
metadata: {namespace: shop, name: r, deletionTimestamp: "2026-01-01T00:00:00Z"}
spec: {parentRefs: [{kind: Service, name: one}]}`)
	if got := mutate.Changes(route, &world{}, off()); len(got) != 1 {
		t.Errorf("changes of a route that is being deleted: %v, want its group", got)
	}
}

// Whatever keeps a Reader from answering, only the changes that read nothing are
// made.
func TestChangesWithoutAnswer(t *testing.T) {
	_, route := decode(t, `
kind: HTTPRoute
metadata: {namespace: shop, name: r}
spec:
  parentRefs: [{kind: Service, name: two, port: 80}, {kind: Service, name: two, port: 90}]
  rules: [{backendRefs: [{name: one}]}]`)
	want := []string{"spec.parentRefs[0].group", "spec.parentRefs[1].group"}
	for _, err := range []error{mesh.ErrNotFound, mesh.ErrNotServed, mesh.ErrUnknown, errors.New("connection refused")} {
		var got []string
		for _, change := range mutate.Changes(route, &world{services: services(), err: err}, off()) {
			got = append(got, change.Path)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%v: paths (-want +got):\n%s", err, diff)
		}
	}
}
