package rules

import "testing"

func TestBackendNoEndpoints(t *testing.T) {
	cart := on(service("cart"))
	testRule(t, backendNoEndpoints(), []ruleCase{
		{name: "has some", spec: cart + to(`{name: cart, port: 80}`)},
		{name: "not judged", spec: cart + to(`{name: gone, port: 80}, {name: alias, port: 80}, {group: multicluster.x-k8s.io, kind: ServiceImport, name: cards, port: 80}`)},
		{
			name: "has none", spec: cart + to(`{name: alias, port: 80}, {name: one, port: 80}, {name: dns, port: 80}`),
			want: []string{
				`Invalid spec.rules[0].backendRefs[1].name "one": Service shop/one has no endpoints; check its selector and its Pods`,
				`Invalid spec.rules[0].backendRefs[2].name "dns": Service shop/dns has no endpoints; check its selector and its Pods`,
			},
		},
	})
}
