package rules

import "testing"

func TestParentExposedType(t *testing.T) {
	testRule(t, parentExposedType(), []ruleCase{
		{name: "ClusterIP", spec: on(service("cart"), service("alias"), serviceImport("cards"))},
		{
			name: "exposed", spec: on(service("node"), service("balanced")),
			want: []string{
				`Invalid spec.parentRefs[0].name "node": Service shop/node is of type NodePort, so traffic may bypass routes; prefer a Gateway`,
				`Invalid spec.parentRefs[1].name "balanced": Service shop/balanced is of type LoadBalancer, so traffic may bypass routes; prefer a Gateway`,
			},
		},
	})
}
