package rules

import (
	"testing"

	"github.com/gammaguard/gammaguard/mesh"
)

func TestBackendWeightsZero(t *testing.T) {
	cart := on(service("cart"))
	testRule(t, backendWeightsZero(), []ruleCase{
		{name: "some traffic", spec: cart + to(`{name: cart, port: 80, weight: 0}, {name: cart, port: 8080}`)},
		{name: "no backends", spec: cart + `, rules: [{}, {filters: [{type: RequestRedirect}]}]`},
		{
			name: "none", kind: mesh.TCPRoute, spec: cart + `, rules: [{backendRefs: [{name: cart, port: 80}]}, {backendRefs: [{name: cart, port: 80, weight: 0}, {name: gone, port: 80, weight: 0}]}]`,
			want: []string{
				`Invalid spec.rules[1].backendRefs "": every backendRef has weight 0, so requests that match this rule fail; set a weight above 0 on at least one of them`,
			},
		},
	})
}
