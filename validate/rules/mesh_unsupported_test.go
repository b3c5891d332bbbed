package rules

import (
	"testing"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

// under returns the policy of the mesh, as the configuration makes it.
func under(name mesh.ProfileName) *validate.Policy {
	profile := mesh.FindProfile(name)
	return &validate.Policy{Mesh: profile, RouteKinds: profile.RouteKinds.Value, Grants: mesh.GrantPolicy{
		ParentKinds: []string{"ServiceEntry.networking.istio.io", "MeshService.kuma.io"},
	}}
}

func TestMeshUnsupported(t *testing.T) {
	cart80 := on(service("cart, port: 80"))
	someKinds := &validate.Policy{RouteKinds: []mesh.RouteKind{mesh.HTTPRoute, mesh.TCPRoute}}
	newer := under(mesh.Kuma)
	newer.RouteKinds = append([]mesh.RouteKind{mesh.GRPCRoute}, newer.RouteKinds...)
	entry := on(`{group: networking.istio.io, kind: ServiceEntry, name: outside}`)
	testRule(t, meshUnsupported(), []ruleCase{
		{name: "the specification", spec: on(service("cart, sectionName: http"), serviceImport("far")), kind: mesh.UDPRoute},
		{name: "a kind that is listed", policy: someKinds, spec: cart80},
		{
			name: "a kind that is not listed", policy: someKinds, kind: mesh.GRPCRoute, spec: cart80,
			want: []string{`Invalid spec.parentRefs[0] "cart": the mesh does not implement GRPCRoute, according to routeKinds in the configuration; use HTTPRoute, TCPRoute`},
		},
		{
			name: "a kind that the mesh ignores", policy: under(mesh.Kuma), kind: mesh.GRPCRoute, spec: cart80,
			want: []string{`Invalid spec.parentRefs[0] "cart": Kuma ignores a GRPCRoute on a Service; use HTTPRoute`},
		},
		{name: "a kind of a newer release", policy: newer, kind: mesh.GRPCRoute, spec: cart80},
		{
			name: "no mesh takes UDPRoutes", policy: under(mesh.Istio), kind: mesh.UDPRoute, spec: on(service("dns, port: 53")),
			want: []string{`Invalid spec.parentRefs[0] "dns": Istio ignores a UDPRoute on a Service; use HTTPRoute, GRPCRoute, TLSRoute, TCPRoute`},
		},
		{
			name: "a ServiceImport", policy: under(mesh.Linkerd), spec: on(service("cart, port: 80"), serviceImport("far")),
			want: []string{`Invalid spec.parentRefs[1].kind "ServiceImport": Linkerd ignores a ServiceImport as a parent; use a Service`},
		},
		{
			name: "a consumer route", policy: under(mesh.Cilium), namespace: "faces", spec: on(service("cart, namespace: shop, port: 80")),
			want: []string{`Invalid spec.parentRefs[0].namespace "shop": Cilium ignores consumer routes: the Service is in another namespace; create the route in namespace shop`},
		},
		{name: "a consumer route elsewhere", policy: under(mesh.Istio), namespace: "faces", spec: on(service("cart, namespace: shop, port: 80"))},
		{
			name: "a sectionName", policy: under(mesh.Istio), spec: on(service("cart, sectionName: http")),
			want: []string{`Invalid spec.parentRefs[0].sectionName "http": Istio ignores sectionName: the route applies to every port; set port too`},
		},
		{name: "a sectionName that counts", policy: under(mesh.Kuma), spec: on(service("cart, sectionName: http"))},
		{name: "a sectionName with a port", policy: under(mesh.Istio), spec: on(service("cart, port: 80, sectionName: http"))},
		{
			name: "the parent of another mesh", policy: under(mesh.Kuma), spec: entry,
			want: []string{`Invalid spec.parentRefs[0].kind "ServiceEntry": ServiceEntry is a parent for Istio, and Kuma ignores it; use a Service`},
		},
		{name: "the parent of this mesh", policy: under(mesh.Istio), spec: entry},
		{name: "the parent of a mesh without a profile", policy: under(mesh.Istio), spec: on(`{group: acme.example, kind: Cell, name: x}`)},
	})
}
