package validate_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

// TestGrantOnly: Linkerd's own HTTPRoute needs the grant for the same parents, and the
// Service's side can refuse it. No other rule looks at it.
func TestGrantOnly(t *testing.T) {
	const ignoring = `{apiVersion: policy.linkerd.io/v1beta3, kind: HTTPRoute, metadata: {namespace: %s, name: own, annotations: {gammaguard.dev/ignore: x}}, spec: {parentRefs: [%s]}}`
	for _, test := range []struct {
		name, namespace, parents string
		want                     []string
	}{
		{"no grant", "lab", `{kind: Service, name: cart}, {group: core, kind: service, name: cart, namespace: shop}, {kind: Server, name: a}, {kind: EgressNetwork, name: b}`, []string{
			"spec.parentRefs[0] grant-missing", "spec.parentRefs[1] grant-missing", "spec.parentRefs[2] grant-missing", "spec.parentRefs[3] grant-missing",
		}},
		{"a Gateway", "lab", `{name: edge}`, nil},
		{"granted, nothing is there", "shop", `{group: "", kind: Service, name: gone}, {kind: Server, name: gone}, {kind: Zone, name: gone}`, nil},
		{"granted, and wrong for a mesh", "shop", `{kind: service, name: headless}, {group: "", kind: Service, name: cart}, {group: "", kind: Service, name: cart, port: 9999}`, nil},
		{"refused", "faces", `{group: "", kind: Service, name: shy, namespace: shop}, {group: core, kind: service, name: shy, namespace: shop}`, []string{
			"spec.parentRefs[0] consumer-refused", "spec.parentRefs[1] consumer-refused",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			text, err := yaml.YAMLToJSON(fmt.Appendf(nil, ignoring, test.namespace, test.parents))
			if err != nil {
				t.Fatal(err)
			}
			route, err := mesh.DecodeRoute(text)
			if err != nil {
				t.Fatal(err)
			}
			policy := &validate.Policy{Grants: mesh.GrantPolicy{ParentKinds: mesh.ParentKindsOfMeshes()}, AllowedParentKinds: []string{"Zone.example.com"}}
			verdict := judge(t, policy, newWorld(t, cluster), &validate.Request{Route: route})
			var got []string
			for _, f := range verdict.Findings {
				got = append(got, f.Field+" "+f.Rule)
			}
			if diff := cmp.Diff(test.want, got); diff != "" || verdict.Denied() != (test.want != nil) || verdict.UnknownIgnores != nil {
				t.Errorf("denied %v, %v (-want +got):\n%s", verdict.Denied(), verdict.UnknownIgnores, diff)
			}
		})
	}
}
