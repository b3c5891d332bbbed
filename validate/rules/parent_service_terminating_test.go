package rules

import (
	"testing"

	"github.com/gammaguard/gammaguard/mesh"
)

func TestParentServiceTerminating(t *testing.T) {
	const going = `{apiVersion: v1, kind: Service, metadata: {namespace: shop, name: going, deletionTimestamp: "2026-01-01T00:00:00Z"}, spec: {ports: [{port: 80}]}}` + "\n---\n"
	testRule(t, parentServiceTerminating(), []ruleCase{
		{name: "it stays", routes: going, spec: on(service("cart"), service("gone"))},
		{
			name: "it goes", kind: mesh.GRPCRoute, routes: going, spec: on(service("cart"), service("going")),
			want: []string{
				`Invalid spec.parentRefs[1].name "going": Service shop/going is being deleted; create it again after its deletion, or use another Service`,
			},
		},
	})
}
