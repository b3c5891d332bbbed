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
				`Forbidden spec.rules[0].backendRefs[0].namespace "lab": no ReferenceGrant permits GRPCRoutes of shop to use Service lab/probe; create one there; in ReferenceGrant probe, from[0].kind is not GRPCRoute`,
			},
		},
		{
			name: "nearly permitted", spec: cart + to(`{name: smiley, namespace: faces, port: 80}`),
			routes: `{apiVersion: gateway.networking.k8s.io/v1, kind: ReferenceGrant, metadata: {namespace: faces, name: secret}, spec: {from: [{group: gateway.networking.k8s.io, kind: Gateway, namespace: shop}], to: [{group: "", kind: Secret}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: ReferenceGrant, metadata: {namespace: faces, name: old}, spec: {from: [{group: "", kind: HTTPRoute, namespace: shop}], to: [{group: "", kind: Service}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: ReferenceGrant, metadata: {namespace: faces, name: vault}, spec: {from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: shop}], to: [{group: core, kind: Service}]}}
`,
			want: []string{
				`Forbidden spec.rules[0].backendRefs[0].namespace "faces": no ReferenceGrant permits HTTPRoutes of shop to use Service faces/smiley; create one there; in ReferenceGrant old, from[0].group is not gateway.networking.k8s.io`,
			},
		},
	})
}
