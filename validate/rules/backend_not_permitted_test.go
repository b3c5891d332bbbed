package rules

import (
	"testing"

	"github.com/gammaguard/gammaguard/mesh"
)

func TestBackendNotPermitted(t *testing.T) {
	cart := on(service("cart"))
	testRule(t, backendNotPermitted(), []ruleCase{
		{name: "permitted", spec: cart + to(`{name: cart, port: 80}, {name: probe, namespace: lab, port: 80}, {name: cart, namespace: shop, port: 80}`)},
		{
			name: "not permitted", spec: cart + to(`{name: smiley, namespace: faces, port: 80}, {group: multicluster.x-k8s.io, kind: ServiceImport, name: far, namespace: lab, port: 80}`),
			want: []string{
				`Forbidden spec.rules[0].backendRefs[0].namespace "faces": no ReferenceGrant permits HTTPRoutes of shop to use Service faces/smiley; create a ReferenceGrant in namespace faces`,
				`Forbidden spec.rules[0].backendRefs[1].namespace "lab": no ReferenceGrant permits HTTPRoutes of shop to use ServiceImport lab/far; create a ReferenceGrant in namespace lab`,
			},
		},
		{
			name: "after ones that need none, are another's, or are permitted", spec: cart + to(`{group: acme.example, kind: Bucket, name: a}, {name: cart, port: 80}, {name: probe, namespace: lab, port: 80}, {name: smiley, namespace: faces, port: 80}`),
			want: []string{
				`Forbidden spec.rules[0].backendRefs[3].namespace "faces": no ReferenceGrant permits HTTPRoutes of shop to use Service faces/smiley; create a ReferenceGrant in namespace faces`,
			},
		},
		{
			name: "another kind of route", kind: mesh.GRPCRoute, spec: cart + to(`{name: probe, namespace: lab, port: 80}`),
			want: []string{
				`Forbidden spec.rules[0].backendRefs[0].namespace "lab": no ReferenceGrant permits GRPCRoutes of shop to use Service lab/probe; create a ReferenceGrant in namespace lab`,
			},
		},
	})
}
