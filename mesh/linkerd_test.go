package mesh_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/mesh"
)

// TestDecodeLinkerdRoute: of Linkerd's own HTTPRoute, the parents are read, as Linkerd and
// its definition read them, and nothing else.
func TestDecodeLinkerdRoute(t *testing.T) {
	for _, version := range []string{"v1alpha1", "v1beta1", "v1beta2", "v1beta3", "v9", `v\u0031`} {
		const parents = `[{"kind":"Service","name":"a"},{"group":"policy.linkerd.io","kind":"service","name":"b"},{"group":"","kind":"Service","name":"c"},
			{"kind":"Server","name":"d"},{"group":"policy.linkerd.io","kind":"EgressNetwork","name":"e"},{"name":"f"},{"group":"core","kind":"Service","name":"g"}]`
		route, err := mesh.DecodeRoute([]byte(`{"spec":{"hostnames":["a.example"],"rules":[{}],"parentRefs":` + parents +
			`},"kind":"HTTPRoute","apiVersion":"policy.linkerd.io/` + version + `","metadata":{"namespace":"shop","name":"cart"}}`))
		if err != nil {
			t.Fatal(err)
		}
		if route.String() != "HTTPRoute.policy.linkerd.io shop/cart" || len(route.Spec.Hostnames)+len(route.Spec.Rules) > 0 {
			t.Errorf("%s: %+v", route, route.Spec)
		}
		grants := &mesh.GrantPolicy{ParentKinds: mesh.ParentKindsOfMeshes()}
		covered := ""
		for i := range route.Spec.ParentRefs {
			if ref := &route.Spec.ParentRefs[i]; grants.Covers(ref) {
				covered += ref.Name
			}
		}
		if covered != "abcdeg" {
			t.Errorf("%s: covered are %q", version, covered)
		}
	}
}

// TestDecodeLinkerdRouteLimits: lists that are not read, and are longer in Linkerd's
// definition than in the Gateway API's, keep nobody from writing a route.
func TestDecodeLinkerdRouteLimits(t *testing.T) {
	spec := `{"parentRefs":[{"kind":"Server","name":"d"}],"rules":[{"backendRefs":[{}`
	for range 20 {
		spec += `,{"port":"any"}`
	}
	spec += `]}]}`
	route, err := mesh.DecodeRoute([]byte(`{"apiVersion":"policy.linkerd.io/v1beta1","kind":"HTTPRoute","spec":` + spec + `}`))
	if err != nil || len(route.Spec.ParentRefs) != 1 {
		t.Errorf("%+v, %v", route, err)
	}
	for _, other := range []string{
		`{"apiVersion":"gateway.networking.k8s.io/v1","kind":"HTTPRoute","spec":` + spec + `}`,
		`{"apiVersion":"policy.linkerd.io/v1beta1","kind":"Server"}`,
		`{"apiVersion":"policy.linkerd.io/v1beta1","kind":"GRPCRoute"}`,
		`{"apiVersion":"gateway.networking.k8s.io/v1","kind":"HTTPRoute.policy.linkerd.io"}`,
		`{"apiVersion":"policy.linkerd.io/v1beta1","kind":"HTTPRoute","spec":{"parentRefs":[7]}}`,
	} {
		if route, err := mesh.DecodeRoute([]byte(other)); err == nil {
			t.Errorf("%s is read as %+v", other, route)
		}
	}
}

func TestNamedKind(t *testing.T) {
	for _, kind := range mesh.GuardedKinds() {
		if got := mesh.NamedKind(kind.Group(), kind.Name()); got != kind {
			t.Errorf("%s is named as %q", kind, got)
		}
	}
	got := []mesh.RouteKind{mesh.NamedKind(mesh.LinkerdGroup, "GRPCRoute"), mesh.NamedKind("", "HTTPRoute"), mesh.NamedKind(mesh.GatewayGroup, "Gateway")}
	if diff := cmp.Diff([]mesh.RouteKind{"", "", ""}, got); diff != "" {
		t.Error(diff)
	}
}

// TestLinkerdRouteIsGrantedAsHTTPRoute: selectors and Services name kinds without a group.
func TestLinkerdRouteIsGrantedAsHTTPRoute(t *testing.T) {
	var kinds mesh.KindList
	if err := kinds.UnmarshalText([]byte("HTTPRoute")); err != nil {
		t.Fatal(err)
	}
	theirs := &mesh.Namespace{Name: "shop"}
	theirs.Kinds = &kinds
	if refusal := new(mesh.GrantPolicy).RefusesConsumers(theirs, nil, nil, mesh.LinkerdHTTPRoute); refusal.By != mesh.NotRefused {
		t.Errorf("refused: %+v", refusal)
	}
	if refusal := new(mesh.GrantPolicy).RefusesConsumers(theirs, nil, nil, mesh.GRPCRoute); refusal.By == mesh.NotRefused {
		t.Error("GRPCRoute is not refused")
	}
}
