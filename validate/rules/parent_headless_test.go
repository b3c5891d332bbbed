package rules

import (
	"testing"

	"github.com/gammaguard/gammaguard/mesh"
)

func TestParentHeadless(t *testing.T) {
	testRule(t, parentHeadless(), []ruleCase{
		{name: "not headless", spec: on(service("cart"), serviceImport("cards"), service("nowhere"))},
		{name: "ExternalName is not headless", spec: on(service("alias-none"))},
		{
			name: "headless", kind: mesh.TCPRoute, spec: on(service("headless"), serviceImport("loose")),
			want: []string{
				`Invalid spec.parentRefs[0].name "headless": Service shop/headless is headless (clusterIP: None): it has no cluster IP to match; use a ClusterIP Service`,
				`Invalid spec.parentRefs[1].name "loose": ServiceImport shop/loose is headless (type: Headless): it has no cluster IP to match; use a ClusterIP Service`,
			},
		},
	})
}
