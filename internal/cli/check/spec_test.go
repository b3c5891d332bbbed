package check

import (
	"testing"

	"github.com/gammaguard/gammaguard/internal/definitions"
	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/mutate"
)

func TestSameSpec(t *testing.T) {
	const written = `
  parentRefs: [{kind: Service, name: cart}]
  rules:
  - backendRefs: [{name: cart, port: 80}]
    matches: [{headers: [{name: x, value: "1"}]}]
`
	for _, test := range []struct {
		name, a, b string
		want       bool
	}{
		{"the same", written, written, true},
		{"what the API server and a mutation fill in", written, `
  parentRefs: [{group: "", kind: Service, name: cart}]
  rules:
  - backendRefs: [{group: "", kind: Service, name: cart, port: 80, weight: 1}]
    matches: [{path: {type: PathPrefix, value: /}, headers: [{name: x, value: "1", type: Exact}]}]
`, true},
		{
			"a rule that is left out", `{parentRefs: [{name: gateway}]}`,
			`{parentRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: gateway}], rules: [{matches: [{path: {type: PathPrefix, value: /}}]}]}`, true,
		},
		{"null", `{rules: [{timeouts: null}]}`, `{rules: [{}]}`, true},
		{"another port", written, `{parentRefs: [{kind: Service, name: cart}], rules: [{backendRefs: [{name: cart, port: 81}]}]}`, false},
		{"another type of path", `{rules: [{matches: [{path: {type: Exact, value: /a}}]}]}`, `{rules: [{matches: [{path: {value: /a}}]}]}`, false},
		{"another weight", `{rules: [{backendRefs: [{name: a, weight: 0}]}]}`, `{rules: [{backendRefs: [{name: a}]}]}`, false},
		{"one more rule", `{rules: [{}]}`, `{rules: [{}, {}]}`, false},
		{"a field that is not read", `{rules: [{timeouts: {request: 1s}}]}`, `{rules: [{timeouts: {request: 2s}}]}`, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			a, b := storedRoute(t, test.a), storedRoute(t, test.b)
			if mesh.SameSpec(a, b) != test.want || mesh.SameSpec(b, a) != test.want {
				t.Errorf("want %t of\n%s\n%s", test.want, a, b)
			}
		})
	}
}

// storedRoute returns an HTTPRoute with the spec as it is stored.
func storedRoute(t *testing.T, spec string) []byte {
	t.Helper()
	crds, err := definitions.Embedded(definitions.Standard)
	if err != nil {
		t.Fatal(err)
	}
	const route = "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: cart}\nspec: "
	objects, errs := manifest.Read("route.yaml", []byte(route+spec), "default")
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	changes := mutate.Changes(objects[0].Route, manifest.NewSet(manifest.Options{}), mutate.Options{MayRead: func(string) bool { return true }})
	_, stored, _, err := (&loader{loaded: &loaded{defined: &defined{Set: crds}}}).stored(objects[0], changes)
	if err != nil {
		t.Fatal(err)
	}
	return stored
}
