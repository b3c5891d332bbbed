package rules

import (
	"testing"

	"github.com/gammaguard/gammaguard/mesh"
)

func TestBackendWeightsZero(t *testing.T) {
	cart := on(service("cart"))
	const refused = `Invalid spec.rules[0].backendRefs "": every backendRef has weight 0, so Cilium's proxies refuse the routes of the whole Service, and keep the former ones; set a weight above 0 on at least one of them`
	testRule(t, backendWeightsZero(), []ruleCase{
		{name: "some traffic", spec: cart + to(`{name: cart, port: 80, weight: 0}, {name: cart, port: 8080}`)},
		{name: "no backends", spec: cart + `, rules: [{}, {filters: [{type: RequestRedirect}]}]`},
		{
			name: "none", kind: mesh.TCPRoute, spec: cart + `, rules: [{backendRefs: [{name: cart, port: 80}]}, {backendRefs: [{name: cart, port: 80, weight: 0}, {name: gone, port: 80, weight: 0}]}]`,
			want: []string{
				`Invalid spec.rules[1].backendRefs "": every backendRef has weight 0, so requests that match this rule fail; set a weight above 0 on at least one of them`,
			},
		},
		{name: "an only one, on Cilium", policy: meshed(mesh.Cilium), spec: on(`{group: "", kind: Service, name: cart, port: 80}`) + to(`{name: cart, port: 80, weight: 0}`)},
		{
			name: "an only one of several ports, on Cilium", policy: meshed(mesh.Cilium), spec: on(`{group: "", kind: Service, name: cart, port: 80}`, `{group: "", kind: Service, name: cart, port: 8080}`) + to(`{name: cart, port: 80, weight: 0}`),
			want: []string{refused},
		},
		{name: "several, on Cilium", policy: meshed(mesh.Cilium), spec: cart + to(`{name: cart, port: 80, weight: 0}, {name: cart, port: 8080, weight: 0}`), want: []string{refused}},
	})
}
