package mesh_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/mesh"
)

func TestRouteKind(t *testing.T) {
	type facts struct {
		IsKind    bool
		Resource  string
		Transport mesh.Protocol
		Beats     []mesh.RouteKind
	}
	want := map[mesh.RouteKind]facts{
		mesh.GRPCRoute:  {true, "grpcroutes", mesh.TCP, []mesh.RouteKind{mesh.HTTPRoute, mesh.TLSRoute, mesh.TCPRoute}},
		mesh.HTTPRoute:  {true, "httproutes", mesh.TCP, []mesh.RouteKind{mesh.TLSRoute, mesh.TCPRoute}},
		mesh.TLSRoute:   {true, "tlsroutes", mesh.TCP, []mesh.RouteKind{mesh.TCPRoute}},
		mesh.TCPRoute:   {true, "tcproutes", mesh.TCP, nil},
		mesh.UDPRoute:   {true, "udproutes", mesh.UDP, nil},
		"Gateway":       {false, "", mesh.TCP, nil},
		"httproute":     {false, "", mesh.TCP, nil},
		"HTTPRouteList": {false, "", mesh.TCP, nil},
	}
	got := map[mesh.RouteKind]facts{}
	for kind := range want {
		f := facts{IsKind: mesh.IsRouteKind(string(kind)), Resource: kind.Resource(), Transport: kind.Transport()}
		for _, other := range mesh.RouteKinds() {
			if f.IsKind && kind.Beats(other) {
				f.Beats = append(f.Beats, other)
			}
		}
		got[kind] = f
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("route kinds (-want +got):\n%s", diff)
	}
}

func TestRole(t *testing.T) {
	cart := mesh.ServiceKey{Kind: mesh.ServiceKind, Namespace: "shop", Name: "cart"}
	for namespace, want := range map[string]struct {
		scope mesh.Scope
		role  mesh.Role
		text  string
	}{
		"shop":  {mesh.Scope{}, mesh.Producer, "producer"},
		"faces": {mesh.Scope{ConsumerNamespace: "faces"}, mesh.Consumer, "consumer of faces"},
	} {
		scope := mesh.ScopeOf(namespace, cart)
		if scope != want.scope || scope.Role() != want.role || scope.String() != want.text {
			t.Errorf("scope of a route in %s: got %+v, %s, %q", namespace, scope, scope.Role(), scope)
		}
	}
}
