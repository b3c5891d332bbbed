package rules

import (
	"testing"

	"github.com/gammaguard/gammaguard/mesh"
)

func TestBackendMissing(t *testing.T) {
	cart := on(service("cart"))
	const fails = ` "": the rule has no backend, so requests that match it fail; add a backendRef, for example to the parent Service, or a RequestRedirect filter`
	testRule(t, backendMissing(), []ruleCase{
		{name: "backends", spec: cart + to(`{name: cart, port: 80}`)},
		{name: "backends of weight 0 are another rule's", spec: cart + to(`{name: cart, port: 80, weight: 0}`)},
		{name: "answered by a filter", spec: cart + `, rules: [{filters: [{type: RequestRedirect, requestRedirect: {}}]}, {filters: [{type: ExtensionRef}]}]`},
		{name: "a Gateway's", spec: on(`{name: edge}`) + `, rules: [{}]`},
		{
			name: "none", spec: cart + `, rules: [{backendRefs: [{name: cart, port: 80}]}, {}, {filters: [{type: URLRewrite}], backendRefs: []}]`,
			want: []string{`Invalid spec.rules[1].backendRefs` + fails, `Invalid spec.rules[2].backendRefs` + fails},
		},
		{
			name: "none, of a GRPCRoute on a ServiceImport", kind: mesh.GRPCRoute, spec: on(serviceImport("cards")) + `, rules: [{matches: [{method: {service: a}}]}]`,
			want: []string{`Invalid spec.rules[0].backendRefs` + fails},
		},
		{
			name: "no rules", kind: mesh.GRPCRoute, spec: cart,
			want: []string{`Invalid spec.rules "": the route has no rules, so it sends no request to a backend; add a rule with a backendRef, for example to the parent Service`},
		},
	})
}
