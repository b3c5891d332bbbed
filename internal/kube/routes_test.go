package kube

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/client-go/rest"

	"github.com/gammaguard/gammaguard/mesh"
)

// newCache returns a cache that nothing feeds but put.
func newCache(t testing.TB, options Options) *Cache {
	t.Helper()
	cache, err := New(&rest.Config{Host: "127.0.0.1:1"}, options)
	if err != nil {
		t.Fatal(err)
	}
	return cache
}

// put stores the object as if it had been watched.
func put(t testing.TB, cache *Cache, r resource, object string) {
	t.Helper()
	i, err := cache.decode(r, []byte(object))
	if err != nil {
		t.Fatal(err)
	}
	cache.tables[r].put(i.key(), i.value, false)
}

// TestParentsAreShared: what most routes on a Service have in common is held once.
func TestParentsAreShared(t *testing.T) {
	cache := newCache(t, Options{})
	routes := routeResource(mesh.HTTPRoute)
	for _, name := range []string{"b", "a", "c"} {
		put(t, cache, routes, routeJSON("shop", name, "cart"))
	}
	put(t, cache, routes, routeJSON("lab", "d", "cart"))
	attached, err := mesh.AttachedRoutes(cache, mesh.ServiceKey{Kind: mesh.ServiceKind, Namespace: "shop", Name: "cart"}, "")
	if err != nil || len(attached) != 3 {
		t.Fatalf("%d routes, %v", len(attached), err)
	}
	for _, route := range attached[1:] {
		if &route.Parents[0] != &attached[0].Parents[0] {
			t.Errorf("%s has parentRefs of its own", route)
		}
	}
}

// TestIndexAgreesWithScan makes many random changes, and after each compares the
// index with a scan of all routes; what readers were given before must not change.
func TestIndexAgreesWithScan(t *testing.T) {
	const seed = 7
	random := rand.New(rand.NewPCG(seed, 0))
	cache := newCache(t, Options{})
	all := map[RouteKey]*Route{}
	names := []string{"a", "b", "c"}
	pick := func() string { return names[random.IntN(len(names))] }
	type lent struct{ given, copied []*mesh.AttachedRoute }
	var readers []lent
	for step := range 3000 {
		key := RouteKey{mesh.RouteKinds()[random.IntN(2)], pick(), pick()}
		table := cache.tables[routeResource(key.Kind)]
		if random.IntN(4) == 0 {
			table.put(tableKey(key.Namespace, key.Name), nil, false)
			delete(all, key)
		} else {
			route := &Route{AttachedRoute: mesh.AttachedRoute{Kind: key.Kind, Namespace: key.Namespace, Name: key.Name, Generation: int64(step), Created: int64(random.IntN(5))}}
			for range 1 + random.IntN(4) {
				core := ""
				ref := mesh.ParentRef{Group: &core, Kind: "Service", Name: pick()}
				if random.IntN(2) == 0 {
					ref.Namespace = pick()
				}
				route.Parents = append(route.Parents, ref)
			}
			table.put(tableKey(key.Namespace, key.Name), route, false)
			all[key] = route
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
				attached, err := mesh.AttachedRoutes(cache, service, "")
				if err != nil {
					t.Fatal(err)
				}
				readers = append(readers, lent{attached, slices.Clone(attached)})
				for _, route := range attached {
					got = append(got, fmt.Sprint(route.String(), " ", route.Generation))
				}
				of := map[string][]*mesh.AttachedRoute{}
				for _, route := range attached {
					of[route.Namespace] = append(of[route.Namespace], route)
				}
				for _, from := range names {
					theirs, err := mesh.AttachedRoutes(cache, service, from)
					if err != nil || !slices.Equal(theirs, of[from]) || !slices.IsSortedFunc(theirs, (*mesh.AttachedRoute).CompareAge) {
						t.Fatalf("step %d: from namespace %s, on %s: %v, %v, want the oldest first of %v", step, from, service, theirs, err, of[from])
					}
				}
				slices.Sort(want)
				slices.Sort(got)
				if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
					t.Fatalf("step %d: routes on %s (-want +got):\n%s", step, service, diff)
				}
				if isParent := slices.Contains(cache.ParentsInNamespace(namespace), service); isParent != (len(want) > 0) {
					t.Fatalf("step %d: %s is a parent: %v, with %d routes", step, service, isParent, len(want))
				}
			}
			want := 0
			for key := range all {
				if key.Namespace == namespace {
					want++
				}
			}
			if got := len(cache.RoutesInNamespace(namespace)); got != want {
				t.Fatalf("step %d: %d routes in %s, want %d", step, got, namespace, want)
			}
		}
		if got := len(slices.Collect(cache.Routes())); got != len(all) {
			t.Fatalf("step %d: %d routes, want %d", step, got, len(all))
		}
	}
	for _, reader := range readers {
		if !slices.Equal(reader.given, reader.copied) {
			t.Fatal("what a reader was given has changed")
		}
	}
}

// TestEndpoints: a Service has endpoints as long as one of its slices has.
func TestEndpoints(t *testing.T) {
	cache := newCache(t, Options{})
	for i, step := range []struct {
		slice, service, endpoints string
		has                       bool
	}{
		{"cart-1", "cart", `[]`, false},
		{"cart-1", "cart", `[{}]`, true},
		{"cart-2", "cart", `[{}]`, true},
		{"cart-1", "cart", `null`, true},
		{"cart-2", "pay", `[{}]`, false},
		{"cart-2", "cart", `[{}, {}]`, true},
		{"cart-2", "", `[{}]`, false},
	} {
		put(t, cache, endpointSlices, fmt.Sprintf(`{"kind":"EndpointSlice","metadata":{"namespace":"shop","name":%q,"labels":{"kubernetes.io/service-name":%q}},"endpoints":%s}`,
			step.slice, step.service, step.endpoints))
		if got, err := mesh.HasEndpoints(cache, cartKey); got != step.has || err != nil {
			t.Errorf("step %d: got %v, %v", i, got, err)
		}
	}
	if keys := cache.tables[endpointSlices].ListKeys(); len(keys) != 0 {
		t.Errorf("still holds %v", keys)
	}
}

// TestGrants: the ReferenceGrants of a namespace are those that are there.
func TestGrants(t *testing.T) {
	cache := newCache(t, Options{})
	grant := func(name, from string) string {
		return fmt.Sprintf(`{"kind":"ReferenceGrant","metadata":{"namespace":"shop","name":%q},"spec":{"from":[{"namespace":%q}]}}`, name, from)
	}
	put(t, cache, referenceGrants, grant("one", "a"))
	put(t, cache, referenceGrants, grant("two", "b"))
	put(t, cache, referenceGrants, grant("one", "c"))
	var got []string
	grants, err := mesh.ReferenceGrants(cache, "shop")
	for _, g := range grants {
		got = append(got, g.From[0].Namespace)
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{"b", "c"}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	cache.tables[referenceGrants].empty()
	if grants, err := mesh.ReferenceGrants(cache, "shop"); grants != nil || err != nil {
		t.Errorf("still holds %v, %v", grants, err)
	}
}

// TestAnswered: the cache knows for which parentRefs other controllers have entries.
func TestAnswered(t *testing.T) {
	cart, pay := `{"group":"","kind":"Service","name":"cart","port":80}`, `{"group":"","kind":"Service","name":"pay"}`
	entry := func(ref, controller string) string {
		return `{"parentRef":` + ref + `,"controllerName":"` + controller + `"}`
	}
	for entries, want := range map[string]mesh.ParentSet{
		"":                   0,
		entry(cart, "us"):    0,
		entry(pay, "others"): 1 << 1,
		entry(cart, "others") + "," + entry(pay, "us") + "," + entry(pay, "third"): 1<<0 | 1<<1,
		entry(`{"group":"","kind":"Service","name":"cart"}`, "others"):             0,
		entry(`7`, "others"): 0,
	} {
		cache := newCache(t, Options{ControllerName: "us"})
		put(t, cache, routeResource(mesh.HTTPRoute), `{"kind":"HTTPRoute","metadata":{"namespace":"shop","name":"web"},
			"spec":{"parentRefs":[`+cart+`,`+pay+`]},"status":{"parents":[`+entries+`]}}`)
		if got := cache.Route(RouteKey{mesh.HTTPRoute, "shop", "web"}).ForeignParents; got != want {
			t.Errorf("%s: answered are %b, want %b", entries, got, want)
		}
	}
}

// TestAcknowledged: the cache knows what other controllers answered for each parentRef, and since
// when. An answer alone is no change.
func TestAcknowledged(t *testing.T) {
	const cart, pay = `{"group":"","kind":"Service","name":"cart","port":80}`, `{"group":"","kind":"Service","name":"pay"}`
	entry := func(ref, controller, status string, generation int) string {
		return fmt.Sprintf(`{"parentRef":%s,"controllerName":%q,"conditions":[{"type":"Accepted","status":%q,"observedGeneration":%d}]}`, ref, controller, status, generation)
	}
	cache := newCache(t, Options{ControllerName: "us"})
	var changes []Change
	cache.OnChange(func(change Change) { changes = append(changes, change) })
	key := RouteKey{mesh.HTTPRoute, "shop", "web"}
	var held *Route
	for _, test := range []struct {
		generation int
		entries    string
		want       [2]mesh.Acknowledgement
		changes    int
		restarts   bool
	}{
		{1, "", [2]mesh.Acknowledgement{}, 1, true},
		{1, entry(cart, "us", "False", 1), [2]mesh.Acknowledgement{}, 2, false},
		{1, entry(cart, "others", "True", 1), [2]mesh.Acknowledgement{mesh.Applied}, 3, true},
		{1, entry(cart, "others", "False", 1), [2]mesh.Acknowledgement{mesh.Refused}, 3, true},
		{1, entry(cart, "others", "False", 1), [2]mesh.Acknowledgement{mesh.Refused}, 3, false},
		{2, entry(cart, "others", "False", 1), [2]mesh.Acknowledgement{mesh.Stale}, 4, true},
		{2, entry(cart, "others", "True", 2) + "," + entry(pay, "third", "False", 2), [2]mesh.Acknowledgement{mesh.Applied, mesh.Refused}, 5, true},
		{2, entry(cart, "others", "x", 2) + "," + `{"parentRef":` + pay + `,"controllerName":"third","conditions":7}`, [2]mesh.Acknowledgement{}, 5, true},
	} {
		if held != nil {
			held.since = 7
		}
		put(t, cache, routeResource(mesh.HTTPRoute), fmt.Sprintf(`{"kind":"HTTPRoute","metadata":{"namespace":"shop","name":"web","generation":%d},
			"spec":{"parentRefs":[%s,%s]},"status":{"parents":[%s]}}`, test.generation, cart, pay, test.entries))
		held = cache.Route(key)
		answers, since := held.Acknowledged()
		if got := [2]mesh.Acknowledgement{answers.Of(0), answers.Of(1)}; got != test.want || since.Unix() == 7 == test.restarts {
			t.Errorf("generation %d, %s: %v since %v, want %v", test.generation, test.entries, got, since, test.want)
		}
		if len(changes) != test.changes {
			t.Errorf("generation %d, %s: %d changes, want %d", test.generation, test.entries, len(changes), test.changes)
		}
	}
}
