package check

import (
	"testing"

	"sigs.k8s.io/yaml"
)

func TestSameSpec(t *testing.T) {
	const written = `spec:
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
		{"what the API server and mutation fill in", written, `spec:
  parentRefs: [{group: "", kind: Service, name: cart}]
  rules:
  - backendRefs: [{group: "", kind: Service, name: cart, port: 80, weight: 1}]
    matches: [{path: {type: PathPrefix, value: /}, headers: [{name: x, value: "1", type: Exact}]}]
`, true},
		{
			"a rule that is left out", `spec: {parentRefs: [{name: gateway}]}`,
			`spec: {parentRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: gateway}], rules: [{matches: [{path: {type: PathPrefix, value: /}}]}]}`, true,
		},
		{"another port", written, `spec: {parentRefs: [{kind: Service, name: cart}], rules: [{backendRefs: [{name: cart, port: 81}]}]}`, false},
		{"another type of path", `spec: {rules: [{matches: [{path: {type: Exact, value: /a}}]}]}`, `spec: {rules: [{matches: [{path: {value: /a}}]}]}`, false},
		{"another weight", `spec: {rules: [{backendRefs: [{name: a, weight: 0}]}]}`, `spec: {rules: [{backendRefs: [{name: a}]}]}`, false},
		{"one more rule", `spec: {rules: [{}]}`, `spec: {rules: [{}, {}]}`, false},
		{"a field that is not read", `spec: {rules: [{timeouts: {request: 1s}}]}`, `spec: {rules: [{timeouts: {request: 2s}}]}`, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			var texts [2][]byte
			for i, text := range []string{test.a, test.b} {
				var err error
				if texts[i], err = yaml.YAMLToJSON([]byte(text)); err != nil {
					t.Fatal(err)
				}
			}
			if sameSpec(texts[0], texts[1]) != test.want || sameSpec(texts[1], texts[0]) != test.want {
				t.Errorf("want %t", test.want)
			}
		})
	}
}
