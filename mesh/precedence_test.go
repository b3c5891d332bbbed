package mesh

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// onService returns a route with parentRefs to Service shop/cart. A port of 0 is
// left out.
func onService(kind RouteKind, namespace, name string, created int64, ports ...int32) *AttachedRoute {
	core := ""
	route := &AttachedRoute{Kind: kind, Namespace: namespace, Name: name, Created: created}
	for _, port := range ports {
		route.Parents = append(route.Parents, ParentRef{Group: &core, Kind: ServiceKind, Namespace: "shop", Name: "cart", Port: port})
	}
	return route
}

// described reads "80/TCP producer" to "HTTPRoute shop/a, HTTPRoute shop/b".
func described(owners PortOwners) map[string]string {
	all := map[string]string{}
	for at, owner := range owners {
		names := ""
		for i, route := range owner.Routes {
			if i > 0 {
				names += ", "
			}
			names += route.String()
		}
		all[fmt.Sprintf("%d/%s %s", at.Port, at.Protocol, at.Scope)] = names
	}
	return all
}

// bySpecification decides without a profile.
var bySpecification = (*Profile)(nil).Precedence

func TestPrecedence(t *testing.T) {
	service := &Service{Key: ServiceKey{ServiceKind, "shop", "cart"}, Ports: []Port{
		{Name: "http", Number: 80, Protocol: TCP},
		{Name: "admin", Number: 90, Protocol: TCP},
		{Name: "dns", Number: 53, Protocol: UDP},
		{Name: "dns-tcp", Number: 53, Protocol: TCP},
	}}
	elsewhere := onService(GRPCRoute, "shop", "elsewhere", 1, 80)
	elsewhere.Parents[0].Name = "checkout"
	misgrouped := onService(GRPCRoute, "shop", "misgrouped", 1, 80)
	misgrouped.Parents[0].Group = nil
	tests := map[string]struct {
		routes []*AttachedRoute
		want   map[string]string
	}{
		"none": {want: map[string]string{}},
		"the most specific kind, whatever its age": {
			routes: []*AttachedRoute{
				onService(TCPRoute, "shop", "a", 1, 80), onService(HTTPRoute, "shop", "b", 3, 80),
				onService(TLSRoute, "shop", "c", 2, 80), onService(GRPCRoute, "shop", "d", 4, 80),
			},
			want: map[string]string{"80/TCP producer": "GRPCRoute shop/d"},
		},
		"routes of one kind merge, the oldest first": {
			routes: []*AttachedRoute{
				onService(HTTPRoute, "shop", "young", 0, 80), onService(HTTPRoute, "shop", "b", 7, 80, 80),
				onService(HTTPRoute, "shop", "a", 7, 80), onService(HTTPRoute, "shop", "old", 1, 80),
			},
			want: map[string]string{"80/TCP producer": "HTTPRoute shop/old, HTTPRoute shop/a, HTTPRoute shop/b, HTTPRoute shop/young"},
		},
		"port by port": {
			routes: []*AttachedRoute{onService(HTTPRoute, "shop", "all", 1, 0), onService(GRPCRoute, "shop", "one", 2, 90)},
			want: map[string]string{
				"80/TCP producer": "HTTPRoute shop/all", "90/TCP producer": "GRPCRoute shop/one", "53/TCP producer": "HTTPRoute shop/all",
			},
		},
		"UDP and TCP on one number": {
			routes: []*AttachedRoute{onService(UDPRoute, "shop", "udp", 1, 53), onService(TCPRoute, "shop", "tcp", 1, 53)},
			want:   map[string]string{"53/UDP producer": "UDPRoute shop/udp", "53/TCP producer": "TCPRoute shop/tcp"},
		},
		"scope by scope": {
			routes: []*AttachedRoute{
				onService(HTTPRoute, "shop", "p", 1, 80), onService(GRPCRoute, "web", "c", 1, 80), onService(TCPRoute, "mobile", "c", 1, 80),
			},
			want: map[string]string{
				"80/TCP producer": "HTTPRoute shop/p", "80/TCP consumer of web": "GRPCRoute web/c", "80/TCP consumer of mobile": "TCPRoute mobile/c",
			},
		},
		"those that take no part": {
			routes: []*AttachedRoute{
				elsewhere, misgrouped, onService(GRPCRoute, "shop", "no-such-port", 1, 8080), onService(UDPRoute, "shop", "wrong", 1, 80),
				onService(TCPRoute, "shop", "valid", 9, 80),
			},
			want: map[string]string{"80/TCP producer": "TCPRoute shop/valid"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for range max(1, len(test.routes)) { // the order of the routes is of no account
				if diff := cmp.Diff(test.want, described(bySpecification(service, test.routes))); diff != "" {
					t.Fatalf("owners (-want +got):\n%s", diff)
				}
				test.routes = rotated(test.routes)
			}
		})
	}
}

// rotated returns the routes with the first one last.
func rotated(routes []*AttachedRoute) []*AttachedRoute {
	first := min(1, len(routes))
	return slices.Concat(routes[first:], routes[:first])
}

// TestPrecedenceShared: that routes share their parentRefs, as in a cache, saves
// time and changes nothing, in whatever order they come.
func TestPrecedenceShared(t *testing.T) {
	service := &Service{Key: ServiceKey{ServiceKind, "shop", "cart"}, Ports: []Port{
		{Name: "http", Number: 80, Protocol: TCP}, {Name: "admin", Number: 90, Protocol: TCP}, {Name: "dns", Number: 53, Protocol: UDP},
	}}
	seed := uint32(1)
	pick := func(n uint32) int { // the same numbers every time
		seed = seed*1664525 + 1013904223
		return int(seed >> 16 % n)
	}
	for range 200 {
		var alone, sharing []*AttachedRoute
		shared := map[string][]ParentRef{}
		for i := range 12 {
			ports := [][]int32{{80}, {0}, {80, 90}, {80, 80}, {53}, {7}, nil}[pick(7)]
			route := onService(RouteKinds()[pick(5)], []string{"shop", "web"}[pick(2)], fmt.Sprint(i), int64(pick(5)), ports...)
			alone = append(alone, route)
			like := *route
			if known, ok := shared[fmt.Sprint(ports)]; ok {
				like.Parents = known
			}
			shared[fmt.Sprint(ports)] = like.Parents
			sharing = append(sharing, &like)
		}
		if diff := cmp.Diff(bySpecification(service, alone), bySpecification(service, sharing), cmpopts.IgnoreUnexported(Owner{})); diff != "" {
			t.Fatalf("(-alone +sharing):\n%s", diff)
		}
	}
}

func TestPrecedenceNowhere(t *testing.T) {
	routes := []*AttachedRoute{onService(HTTPRoute, "shop", "a", 1, 80), onService(GRPCRoute, "shop", "b", 1, 0)}
	for name, service := range map[string]*Service{
		"headless":      {Headless: true, Ports: []Port{{Number: 80, Protocol: TCP}}},
		"external name": {Type: ExternalName, Ports: []Port{{Number: 80, Protocol: TCP}}},
		"no ports":      {},
	} {
		service.Key = ServiceKey{ServiceKind, "shop", "cart"}
		if owners := bySpecification(service, routes); len(owners) > 0 {
			t.Errorf("%s: owners is %v, want none", name, described(owners))
		}
	}
}

// TestMergedKinds: HTTPRoutes and GRPCRoutes share a port on a mesh that merges them, and
// other kinds lose it to them, the one first that would have it, not the oldest.
func TestMergedKinds(t *testing.T) {
	service := &Service{Key: ServiceKey{ServiceKind, "shop", "cart"}, Ports: []Port{{Number: 80, Protocol: TCP}}}
	grpc, http := onService(GRPCRoute, "shop", "grpc", 3, 80), onService(HTTPRoute, "shop", "http", 2, 80)
	tls, tcp := onService(TLSRoute, "shop", "tls", 4, 80), onService(TCPRoute, "shop", "tcp", 1, 80)
	at := PortScope{Port: 80, Protocol: TCP, Scope: Scope{}}
	for _, routes := range [][]*AttachedRoute{{grpc, http, tls, tcp}, {tcp, tls, http, grpc}, {tls, grpc, tcp, http}} {
		owners := FindProfile(Istio).Precedence(service, routes)
		if got := owners[at]; got.Kind != GRPCRoute || !slices.Equal(got.Routes, []*AttachedRoute{http, grpc}) || got.Displaced != tls || got.MoreDisplaced != 1 {
			t.Errorf("%v: got %+v", routes, got)
		}
		for _, route := range routes {
			if lost := owners.LostTo(route, at) != nil; lost != (route == tls || route == tcp) {
				t.Errorf("%s lost the port: %t", route, lost)
			}
		}
		if of := owners[at].Of(HTTPRoute); !slices.Equal(of, []*AttachedRoute{http}) {
			t.Errorf("routes of the kind: got %v", of)
		}
	}
}

// TestAcross: where the mesh compares scopes, the most specific kind has the port in all of them.
func TestAcross(t *testing.T) {
	service := &Service{Key: ServiceKey{ServiceKind, "shop", "cart"}, Ports: []Port{{Number: 80, Protocol: TCP}, {Number: 90, Protocol: TCP}}}
	producer, consumer := onService(HTTPRoute, "shop", "web", 1, 0), onService(GRPCRoute, "faces", "rpc", 3, 80)
	older, tcp := onService(GRPCRoute, "web", "older", 2, 80), onService(TCPRoute, "lab", "raw", 1, 90)
	for _, routes := range [][]*AttachedRoute{{producer, consumer, older, tcp}, {tcp, older, consumer, producer}} {
		for name, want := range map[ProfileName]map[string]*AttachedRoute{
			Linkerd: {"80 producer": older, "90 consumer of lab": producer},
			Istio:   {},
		} {
			got := map[string]*AttachedRoute{}
			for at, owner := range FindProfile(name).Precedence(service, routes) {
				if owner.Across != nil {
					got[fmt.Sprintf("%d %s", at.Port, at.Scope)] = owner.Across
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
	}
}

func TestLostTo(t *testing.T) {
	service := &Service{Key: ServiceKey{ServiceKind, "shop", "cart"}, Ports: []Port{{Number: 80, Protocol: TCP}, {Number: 53, Protocol: UDP}}}
	kinds := RouteKinds()
	for i, winner := range kinds {
		for j, loser := range kinds {
			owner := onService(winner, "shop", "w", 9, 0)
			route := onService(loser, "shop", "l", 1, 0)
			owners := bySpecification(service, []*AttachedRoute{route, owner})
			got := false
			route.eachPort(nil, service, func(at PortScope) {
				lost := owners.LostTo(route, at)
				got = got || lost != nil && lost.Routes[0] == owner
			})
			want := i < j && winner != UDPRoute && loser != UDPRoute
			if got != want {
				t.Errorf("%s lost to %s: %t, want %t", loser, winner, got, want)
			}
		}
	}
	if lost := (PortOwners{}).LostTo(onService(TCPRoute, "shop", "l", 1, 80), PortScope{Port: 80, Protocol: TCP}); lost != nil {
		t.Errorf("lost to %v where nobody holds the port", lost)
	}
}

// TestSplitByPort: the oldest route decides; where its age is not known, one with a port.
func TestSplitByPort(t *testing.T) {
	service := &Service{Key: ServiceKey{ServiceKind, "shop", "cart"}, Ports: []Port{{Number: 80, Protocol: TCP}}}
	for _, test := range []struct {
		without, with int64
		wins          string
		known         bool
	}{
		{1, 2, "without", true},
		{2, 1, "with", true},
		{1, 1, "with", true},
		{1, FirstSyntheticAge, "without", true},
		{FirstSyntheticAge, LaterSyntheticAge, "without", true},
		{FirstSyntheticAge, FirstSyntheticAge + 1, "with", false},
		{FirstSyntheticAge + 1, FirstSyntheticAge, "with", false},
	} {
		routes := []*AttachedRoute{onService(HTTPRoute, "shop", "without", test.without, 0), onService(HTTPRoute, "shop", "with", test.with, 80)}
		owner := FindProfile(Istio).Precedence(service, routes)[PortScope{Port: 80, Protocol: TCP}]
		if len(owner.Routes) != 1 || len(owner.Split) != 1 || owner.Routes[0].Name != test.wins || owner.SplitKnown() != test.known {
			t.Errorf("%+v: got %v and not %v, known %t", test, owner.Routes, owner.Split, owner.SplitKnown())
		}
	}
}
