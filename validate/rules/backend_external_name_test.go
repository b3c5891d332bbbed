package rules

import (
	"testing"

	"github.com/gammaguard/gammaguard/mesh"
)

func TestBackendExternalName(t *testing.T) {
	cart := on(service("cart"))
	testRule(t, backendExternalName(), []ruleCase{
		{name: "with endpoints", spec: cart + to(`{name: cart, port: 80}, {name: headless, port: 80}, {name: gone, port: 80}`)},
		{name: "another kind of that name", spec: cart + to(`{group: acme.example, kind: Bucket, name: alias}`)},
		{
			name: "alias, with weight 0 too", namespace: "faces", spec: cart + to(`{name: alias, namespace: shop, port: 80}, {kind: Service, name: alias, namespace: shop, port: 81, weight: 0}`),
			want: []string{
				`Invalid spec.rules[0].backendRefs[0].name "alias": Service shop/alias is of type ExternalName; use a Service with endpoints`,
				`Invalid spec.rules[0].backendRefs[1].name "alias": Service shop/alias is of type ExternalName; use a Service with endpoints`,
			},
		},
		{
			name: "mirrors", kind: mesh.GRPCRoute, spec: cart + mirrorTo(`{name: alias, port: 80}`),
			want: []string{
				`Invalid spec.rules[0].filters[0].requestMirror.backendRef.name "alias": Service shop/alias is of type ExternalName; use a Service with endpoints`,
				`Invalid spec.rules[0].backendRefs[0].filters[0].requestMirror.backendRef.name "alias": Service shop/alias is of type ExternalName; use a Service with endpoints`,
			},
		},
	})
}

// mirrorTo returns rules that mirror to the backend, once for the rule and once
// for a backendRef.
func mirrorTo(backendRef string) string {
	mirror := `filters: [{type: RequestMirror, requestMirror: {backendRef: ` + backendRef + `}}]`
	return `, rules: [{` + mirror + `, backendRefs: [{name: cart, port: 80, ` + mirror + `}]}]`
}
