package mesh_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/mesh"
)

func TestAttached(t *testing.T) {
	route := &mesh.Route{
		Kind: mesh.HTTPRoute,
		Metadata: mesh.Metadata{
			Namespace: "shop", Name: "cart", Generation: 4, CreationTimestamp: time.Unix(1700000000, 0),
			DeletionTimestamp: ptr(time.Unix(1700000001, 0)),
		},
		Spec: mesh.RouteSpec{
			ParentRefs: []mesh.ParentRef{{Name: "edge"}, {Group: ptr(""), Kind: "Service", Name: "cart"}},
			Rules:      []mesh.RouteRule{{Matches: []mesh.RouteMatch{{Method: &mesh.MethodMatch{HTTP: "GET"}}}}, {}},
		},
	}
	keys := route.MatchKeys(nil)
	want := &mesh.AttachedRoute{
		Kind: mesh.HTTPRoute, Namespace: "shop", Name: "cart", Created: 1700000000, Generation: 4,
		Parents: route.Spec.ParentRefs, CatchAll: true, Matches: []mesh.MatchKey{keys[0].Key, keys[1].Key},
	}
	got := route.Attached(nil)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("attached route (-want +got):\n%s", diff)
	}
	if got.String() != "HTTPRoute shop/cart" {
		t.Errorf("its name is %q", got)
	}
	route.Metadata.CreationTimestamp = time.Time{}
	if created := route.Attached(nil).Created; created != 0 {
		t.Errorf("a route that is being created was created at %d", created)
	}
}

func TestCompareAge(t *testing.T) {
	want := []*mesh.AttachedRoute{
		{Kind: mesh.HTTPRoute, Namespace: "z", Name: "old", Created: 1},
		{Kind: mesh.HTTPRoute, Namespace: "a", Name: "a", Created: 2},
		{Kind: mesh.HTTPRoute, Namespace: "a", Name: "b", Created: 2},
		{Kind: mesh.TCPRoute, Namespace: "a", Name: "b", Created: 2},
		{Kind: mesh.GRPCRoute, Namespace: "b", Name: "a", Created: 2},
		{Kind: mesh.HTTPRoute, Namespace: "a", Name: "new"}, // just being created: the youngest
	}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, (*mesh.AttachedRoute).CompareAge)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("oldest first (-want +got):\n%s", diff)
	}
}

func TestSame(t *testing.T) {
	cart := &mesh.AttachedRoute{Kind: mesh.HTTPRoute, Namespace: "shop", Name: "cart", Generation: 1}
	for _, test := range []struct {
		other mesh.AttachedRoute
		want  bool
	}{
		{mesh.AttachedRoute{Kind: mesh.HTTPRoute, Namespace: "shop", Name: "cart", Generation: 2, CatchAll: true}, true},
		{mesh.AttachedRoute{Kind: mesh.GRPCRoute, Namespace: "shop", Name: "cart"}, false},
		{mesh.AttachedRoute{Kind: mesh.HTTPRoute, Namespace: "faces", Name: "cart"}, false},
		{mesh.AttachedRoute{Kind: mesh.HTTPRoute, Namespace: "shop", Name: "cart2"}, false},
	} {
		if got := cart.Same(&test.other); got != test.want {
			t.Errorf("%s is %s: %v", cart, &test.other, got)
		}
	}
}

func TestOrderKnown(t *testing.T) {
	const dated, manifest, later = 1767225600, mesh.FirstSyntheticAge + 3, 2*mesh.FirstSyntheticAge + 1
	for _, test := range []struct {
		a, b int64
		want bool
	}{
		{dated, dated + 1, true},
		{0, dated, true},
		{dated, manifest, true},
		{manifest, later, true},
		{0, later, true},
		{manifest, manifest + 1, false},
		{later, later + 1, false},
	} {
		a, b := &mesh.AttachedRoute{Created: test.a}, &mesh.AttachedRoute{Created: test.b}
		if a.OrderKnown(b) != test.want || b.OrderKnown(a) != test.want {
			t.Errorf("%d and %d: want %t", test.a, test.b, test.want)
		}
	}
}

func TestAge(t *testing.T) {
	const dated = 1767225600
	for created, want := range map[int64]int64{
		0: mesh.FirstSyntheticAge, dated: dated, mesh.FirstSyntheticAge + 3: mesh.FirstSyntheticAge, mesh.LaterSyntheticAge + 1: mesh.LaterSyntheticAge,
	} {
		if got := mesh.Age(created); got != want {
			t.Errorf("of %d: got %d, want %d", created, got, want)
		}
	}
}
