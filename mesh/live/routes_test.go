package live

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gammaguard/gammaguard/mesh"
)

// TestIndexAgreesWithScan makes many random changes, and after each compares the
// index with a scan of all routes; what readers were given before must not change.
func TestIndexAgreesWithScan(t *testing.T) {
	const seed = 7
	random := rand.New(rand.NewPCG(seed, 0))
	var index routes
	all := map[RouteKey]*Route{}
	names := []string{"a", "b", "c"}
	pick := func() string { return names[random.IntN(len(names))] }
	type lent struct{ given, copied []*mesh.AttachedRoute }
	var readers []lent
	for step := range 3000 {
		key := RouteKey{mesh.RouteKinds()[random.IntN(2)], pick(), pick()}
		if random.IntN(4) == 0 {
			if got := index.remove(key); (got == nil) != (all[key] == nil) {
				t.Fatalf("step %d: remove returned %v, held was %v", step, got, all[key])
			}
			delete(all, key)
		} else {
			route := &Route{AttachedRoute: mesh.AttachedRoute{Kind: key.Kind, Namespace: key.Namespace, Name: key.Name, Generation: int64(step)}}
			for range random.IntN(4) {
				group := []string{"", mesh.GatewayGroup}[random.IntN(2)]
				ref := mesh.ParentRef{Group: &group, Kind: "Service", Name: pick()}
				if random.IntN(2) == 0 {
					ref.Namespace = pick()
				}
				route.Parents = append(route.Parents, ref)
			}
			if random.IntN(8) == 0 {
				route.Entries = []Entry{{}}
			}
			index.put(route)
			delete(all, key)
			if route.matters() {
				all[key] = route
			}
		}
		for _, namespace := range names {
			for _, name := range names {
				service := mesh.ServiceKey{Kind: "Service", Namespace: namespace, Name: name}
				var want, got []string
				for _, route := range all {
					if slices.Contains(route.Services(), service) {
						want = append(want, fmt.Sprint(route.Key(), " ", route.Generation))
					}
				}
				attached := index.attached(service)
				readers = append(readers, lent{attached, slices.Clone(attached)})
				for _, route := range attached {
					got = append(got, fmt.Sprint(route.String(), " ", route.Generation))
				}
				slices.Sort(want)
				slices.Sort(got)
				if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
					t.Fatalf("step %d: routes on %s (-want +got):\n%s", step, service, diff)
				}
				if on := index.on(service); len(on) != len(got) || slices.Contains(on, nil) {
					t.Fatalf("step %d: %d routes on %s with their status, want %d", step, len(on), service, len(got))
				}
				if isParent := slices.Contains(index.parentsIn(namespace), service); isParent != (len(want) > 0) {
					t.Fatalf("step %d: %s is a parent: %v, with %d routes", step, service, isParent, len(want))
				}
			}
			want := 0
			for key := range all {
				if key.Namespace == namespace {
					want++
				}
			}
			if got := len(index.inNamespace(namespace)); got != want {
				t.Fatalf("step %d: %d routes in %s, want %d", step, got, namespace, want)
			}
		}
		if got := len(slices.Collect(index.all())); got != len(all) {
			t.Fatalf("step %d: %d routes, want %d", step, got, len(all))
		}
	}
	for _, reader := range readers {
		if !slices.Equal(reader.given, reader.copied) {
			t.Fatal("what a reader was given has changed")
		}
	}
}

func TestEndpoints(t *testing.T) {
	var e endpoints
	cart := mesh.ServiceKey{Kind: "Service", Namespace: "shop", Name: "cart"}
	first, second := objectName{"shop", "cart-1"}, objectName{"shop", "cart-2"}
	for i, step := range []struct {
		slice   objectName
		service string
		has     bool
	}{
		{first, "", false},
		{first, "cart", true},
		{second, "cart", true},
		{first, "", true},
		{second, "pay", false},
		{second, "cart", true},
		{second, "cart", true},
		{second, "", false},
		{second, "", false},
	} {
		e.put(step.slice, step.service)
		if got := e.has(cart); got != step.has {
			t.Errorf("step %d: got %v", i, got)
		}
	}
	if names := e.names(); len(names) != 0 {
		t.Errorf("still holds %v", names)
	}
}

func TestGrants(t *testing.T) {
	var g grants
	grant := func(namespace string) *mesh.ReferenceGrant {
		return &mesh.ReferenceGrant{From: []mesh.ReferenceGrantFrom{{Namespace: namespace}}}
	}
	g.put(objectName{"shop", "one"}, grant("a"))
	before := g.in("shop")
	g.put(objectName{"shop", "two"}, grant("b"))
	g.put(objectName{"shop", "one"}, grant("c"))
	if diff := cmp.Diff([]mesh.ReferenceGrant{*grant("b"), *grant("c")}, g.in("shop")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]mesh.ReferenceGrant{*grant("a")}, before); diff != "" {
		t.Errorf("what a reader was given has changed (-want +got):\n%s", diff)
	}
	g.put(objectName{"shop", "two"}, nil)
	g.put(objectName{"shop", "one"}, nil)
	if g.in("shop") != nil || len(g.names()) != 0 {
		t.Errorf("still holds %v", g.names())
	}
}

// TestSharedParents: routes of a namespace with the same parentRefs share them, and
// what one of them becomes leaves the others as they are.
func TestSharedParents(t *testing.T) {
	core, port := "", int32(80)
	route := func(namespace, name string, ports ...int32) *Route {
		r := &Route{AttachedRoute: mesh.AttachedRoute{Kind: mesh.HTTPRoute, Namespace: namespace, Name: name}}
		for _, port := range ports {
			r.Parents = append(r.Parents, mesh.ParentRef{Group: &core, Kind: mesh.ServiceKind, Namespace: "shop", Name: "cart", Port: port})
		}
		return r
	}
	var held routes
	for _, r := range []*Route{
		route("shop", "a", port), route("shop", "b", port), route("shop", "c", port, 90), route("web", "d", port),
		route("shop", "b", 70),
	} {
		held.put(r)
	}
	get := func(namespace, name string) *Route { return held.get(RouteKey{mesh.HTTPRoute, namespace, name}) }
	held.put(route("shop", "e", port))
	if &get("shop", "a").Parents[0] != &get("shop", "e").Parents[0] {
		t.Error("two routes with the same parentRefs do not share them")
	}
	for name, want := range map[string]*Route{
		"a": route("shop", "a", port), "b": route("shop", "b", 70), "c": route("shop", "c", port, 90), "e": route("shop", "e", port),
	} {
		if diff := cmp.Diff(want, get("shop", name)); diff != "" {
			t.Errorf("route %s (-want +got):\n%s", name, diff)
		}
	}
	if diff := cmp.Diff(route("web", "d", port), get("web", "d")); diff != "" {
		t.Errorf("route d (-want +got):\n%s", diff)
	}
}
