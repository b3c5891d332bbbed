package rules

import (
	"testing"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

func TestParentKindNotAllowed(t *testing.T) {
	testRule(t, parentKindNotAllowed(), []ruleCase{
		{name: "nothing is listed", spec: on(`{group: kuma.io, kind: MeshService, name: cart}`)},
		{
			name: "listed", spec: on(`{group: kuma.io, kind: MeshService, name: cart}`, service("cart"), `{name: edge}`),
			policy: &validate.Policy{AllowedParentKinds: []string{"MeshService.kuma.io"}},
		},
		{
			name: "not listed", spec: on(service("cart"), `{group: networking.istio.io, kind: ServiceEntry, name: cart}`),
			policy: &validate.Policy{AllowedParentKinds: []string{"MeshService.kuma.io", "Waypoint.acme.example"}},
			want: []string{
				`Invalid spec.parentRefs[1].kind "ServiceEntry": ServiceEntry.networking.istio.io is not an allowed parent kind; ` +
					`use Gateway, ListenerSet, Service, ServiceImport, or one of: MeshService.kuma.io, Waypoint.acme.example`,
			},
		},
		{
			name: "for this kind of route", spec: on(`{group: kuma.io, kind: MeshService, name: cart}`, `{group: acme.example, kind: Waypoint, name: a}`),
			policy: &validate.Policy{ParentRouteKinds: map[string][]mesh.RouteKind{"MeshService.kuma.io": {mesh.HTTPRoute}}},
		},
		{
			name: "for other kinds of routes", kind: mesh.TCPRoute, spec: on(`{group: kuma.io, kind: MeshService, name: cart}`),
			policy: &validate.Policy{AllowedParentKinds: []string{"MeshService.kuma.io"}, ParentRouteKinds: map[string][]mesh.RouteKind{"MeshService.kuma.io": {mesh.HTTPRoute, mesh.GRPCRoute}}},
			want: []string{
				`Invalid spec.parentRefs[0].kind "MeshService": MeshService.kuma.io is not an allowed parent kind for TCPRoute; ` +
					`use another parent, or a route of kind HTTPRoute, GRPCRoute`,
			},
		},
	})
}
