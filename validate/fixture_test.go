package validate

import (
	_ "embed"
	"fmt"
	"sync"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/mesh/manifest"
)

// cluster is what most tests judge routes against. Namespaces shop and faces are
// granted everything, lab nothing.
//
//go:embed testdata/cluster.yaml
var cluster string

// newWorld returns the objects of the manifests as a complete world.
func newWorld(t testing.TB, manifests ...string) *manifest.Set {
	t.Helper()
	return newWorldWith(t, manifest.Options{Complete: true}, manifests...)
}

func newWorldWith(t testing.TB, options manifest.Options, manifests ...string) *manifest.Set {
	t.Helper()
	set := manifest.NewSet(options)
	for _, text := range manifests {
		for _, object := range read(t, text) {
			if err := set.Put(object); err != nil {
				t.Fatal(err)
			}
		}
	}
	return set
}

// parsed keeps the objects of each text, as tests ask for few texts, and often.
var parsed sync.Map

func read(t testing.TB, text string) []*manifest.Object {
	t.Helper()
	if objects, ok := parsed.Load(text); ok {
		return objects.([]*manifest.Object)
	}
	objects, errs := manifest.Read("test", []byte(text), "default")
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	parsed.Store(text, objects)
	return objects
}

// newRoute returns a route named own, from its spec in YAML's flow style.
func newRoute(t testing.TB, kind mesh.RouteKind, namespace, spec string) *mesh.Route {
	t.Helper()
	route, err := mesh.DecodeRoute(routeJSON(t, kind, namespace, spec))
	if err != nil {
		t.Fatal(err)
	}
	return route
}

func routeJSON(t testing.TB, kind mesh.RouteKind, namespace, spec string) []byte {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(routeText(kind, namespace, "own", spec)))
	if err != nil {
		t.Fatalf("%v in %s", err, spec)
	}
	return data
}

// routeText returns the manifest of a route.
func routeText(kind mesh.RouteKind, namespace, name, spec string) string {
	return fmt.Sprintf("{apiVersion: gateway.networking.k8s.io/v1, kind: %s, metadata: {namespace: %s, name: %s}, spec: {%s}}\n---\n",
		kind, namespace, name, spec)
}

// service returns a parentRef to a Service; the fields begin with its name.
func service(fields string) string { return `{group: "", kind: Service, name: ` + fields + `}` }

// serviceImport returns a parentRef to a ServiceImport.
func serviceImport(fields string) string {
	return `{group: multicluster.x-k8s.io, kind: ServiceImport, name: ` + fields + `}`
}

// on returns the parentRefs of a spec.
func on(refs ...string) string {
	text := "parentRefs: ["
	for _, ref := range refs {
		text += ref + ", "
	}
	return text + "]"
}

// newEngine returns an engine for the policy; nil for the defaults.
func newEngine(t testing.TB, policy *Policy) *Engine {
	t.Helper()
	if policy == nil {
		policy = &Policy{}
	}
	engine, err := New(policy)
	if err != nil {
		t.Fatal(err)
	}
	return engine
}

// only returns a policy under which no rule runs but those with an action here.
func only(actions map[string]Action) *Policy {
	policy := &Policy{Actions: map[string]Action{}}
	for _, rule := range Catalogue() {
		policy.Actions[rule.ID] = Off
	}
	for id, action := range actions {
		policy.Actions[id] = action
	}
	return policy
}
