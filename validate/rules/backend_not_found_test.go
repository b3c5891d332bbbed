package rules

import (
	"testing"

	"github.com/gammaguard/gammaguard/mesh"
)

func TestBackendNotFound(t *testing.T) {
	cart := on(service("cart"))
	testRule(t, backendNotFound(), []ruleCase{
		{name: "found", spec: cart + to(`{name: cart, port: 80}, {group: multicluster.x-k8s.io, kind: ServiceImport, name: cards, port: 80}, {group: acme.example, kind: Bucket, name: gone}`)},
		{
			name: "not found", kind: mesh.UDPRoute, spec: cart + to(`{group: acme.example, kind: Bucket, name: a}, {name: gone, port: 80}, {name: cart, namespace: faces, port: 80}`),
			want: []string{
				`NotFound spec.rules[0].backendRefs[1].name "gone": Service shop/gone does not exist; create it, or correct the reference; for a Service elsewhere, set namespace in the backendRef`,
				`NotFound spec.rules[0].backendRefs[2].name "cart": Service faces/cart does not exist; create it, or correct the reference`,
			},
		},
		{
			name: "a mirror", spec: cart + `, rules: [{filters: [{requestMirror: {backendRef: {name: gone, port: 80}}}]}]`,
			want: []string{
				`NotFound spec.rules[0].filters[0].requestMirror.backendRef.name "gone": Service shop/gone does not exist; create it, or correct the reference; for a Service elsewhere, set namespace in the backendRef`,
			},
		},
	})
}
