package mesh_test

import (
	"slices"
	"testing"

	"github.com/gammaguard/gammaguard/mesh"
)

// TestDormant: what no mesh at hand reads is dormant, and the route without it has the other
// parentRefs where they were.
func TestDormant(t *testing.T) {
	service := mesh.ParentRef{Group: ptr(""), Kind: "Service", Name: "cart"}
	omitted := mesh.ParentRef{Group: ptr(mesh.GatewayGroup), Kind: "Service", Name: "bill"}
	core := mesh.ParentRef{Group: ptr("core"), Kind: "service", Name: "pay"}
	entry := mesh.ParentRef{Group: ptr("networking.istio.io"), Kind: "ServiceEntry", Name: "out"}
	route := &mesh.Route{Spec: mesh.RouteSpec{ParentRefs: []mesh.ParentRef{omitted, service, {Name: "edge"}, core, entry}}}
	for profile, want := range map[*mesh.Profile]mesh.ParentSet{nil: 1<<0 | 1<<3, mesh.FindProfile(mesh.Istio): 1<<0 | 1<<3, mesh.FindProfile(mesh.Linkerd): 1 << 0} {
		if got := route.Dormant(profile); got != want {
			t.Errorf("dormant under %v: %b, want %b", profile, got, want)
		}
	}
	var classes []mesh.ParentClass
	for i := range route.Awake(1<<0 | 1<<3).Spec.ParentRefs {
		classes = append(classes, route.Awake(1<<0 | 1<<3).Spec.ParentRefs[i].Class(nil))
	}
	want := []mesh.ParentClass{mesh.GatewayParent, mesh.MeshParent, mesh.GatewayParent, mesh.GatewayParent, mesh.ImplementationSpecificParent}
	if !slices.Equal(classes, want) || route.Spec.ParentRefs[0].Kind != "Service" {
		t.Errorf("awake: classes %v, want %v; the route: %+v", classes, want, route.Spec.ParentRefs)
	}
	if route.Awake(0) != route {
		t.Error("a route without dormant parentRefs is copied")
	}
	if by := core.ReadBy(); !slices.Equal(by, []string{"Linkerd"}) || omitted.ReadBy() != nil || len(service.ReadBy()) != len(mesh.Profiles()) {
		t.Errorf("core is read by %q, an omitted group by %q, a Service by %q", by, omitted.ReadBy(), service.ReadBy())
	}
}
