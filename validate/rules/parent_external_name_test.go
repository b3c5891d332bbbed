package rules

import "testing"

func TestParentExternalName(t *testing.T) {
	testRule(t, parentExternalName(), []ruleCase{
		{name: "another type", spec: on(service("cart"), service("headless"))},
		{
			name: "alias", spec: on(service("alias"), service("alias-none, port: 80")),
			want: []string{
				`Invalid spec.parentRefs[0].name "alias": Service shop/alias is of type ExternalName and has no cluster IP; use a ClusterIP Service`,
				`Invalid spec.parentRefs[1].name "alias-none": Service shop/alias-none is of type ExternalName and has no cluster IP; use a ClusterIP Service`,
			},
		},
	})
}
