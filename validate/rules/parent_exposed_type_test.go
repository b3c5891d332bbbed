package rules

import "testing"

func TestParentExposedType(t *testing.T) {
	testRule(t, parentExposedType(), []ruleCase{
		{name: "ClusterIP", spec: on(service("cart"), service("alias"), serviceImport("cards"))},
		{
			name: "exposed backends, but for a parent", spec: on(service("node")) + to(`{name: node, port: 80}, {name: cart, port: 80}, {name: balanced, port: 80}`),
			want: []string{
				`Invalid spec.parentRefs[0].name "node": Service shop/node is of type NodePort, so traffic may bypass routes; prefer a Gateway`,
				`Invalid spec.rules[0].backendRefs[2] "balanced": Service shop/balanced is of type LoadBalancer, which can bypass routes; prefer a Gateway`,
			},
		},
		{
			name: "exposed", spec: on(service("node"), service("balanced")),
			want: []string{
				`Invalid spec.parentRefs[0].name "node": Service shop/node is of type NodePort, so traffic may bypass routes; prefer a Gateway`,
				`Invalid spec.parentRefs[1].name "balanced": Service shop/balanced is of type LoadBalancer, so traffic may bypass routes; prefer a Gateway`,
			},
		},
	})
}
