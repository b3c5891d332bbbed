package validate_test

import (
	"fmt"
	"testing"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

// crowd is a Reader with one Service on which many routes are.
type crowd struct {
	service   *mesh.Service
	namespace *mesh.Namespace
	routes    []*mesh.AttachedRoute
}

// Do implements mesh.Reader.
func (c *crowd) Do(read mesh.Read) mesh.Answer {
	switch read.Kind {
	case mesh.ReadNamespace:
		return mesh.Answer{Namespace: c.namespace}
	case mesh.ReadService:
		return mesh.Answer{Service: c.service}
	case mesh.ReadRoutes:
		return mesh.Answer{AttachedRoutes: c.routes}
	}
	return mesh.Answer{HasEndpoints: true}
}

// crowdOf returns a Reader with so many routes on the Service shop/cart, the oldest
// first and with one list of parentRefs as the cache has them, and a route that is
// about to join them.
func crowdOf(t testing.TB, routes int) (*crowd, *mesh.Route) {
	t.Helper()
	core := ""
	c := &crowd{
		service: &mesh.Service{
			Key:   mesh.ServiceKey{Kind: mesh.ServiceKind, Namespace: "shop", Name: "cart"},
			Type:  mesh.ClusterIP,
			Ports: []mesh.Port{{Name: "http", Number: 80, Protocol: mesh.TCP}},
		},
		namespace: &mesh.Namespace{Name: "shop", Labels: map[string]string{mesh.GrantLabel: string(mesh.GrantAll)}},
	}
	parents := []mesh.ParentRef{{Group: &core, Kind: mesh.ServiceKind, Name: "cart", Port: 80}}
	for i := range routes {
		c.routes = append(c.routes, &mesh.AttachedRoute{
			Kind: mesh.HTTPRoute, Namespace: "shop", Name: fmt.Sprintf("route-%06d", i), Created: int64(i + 1),
			Parents: parents,
			Matches: []mesh.MatchKey{mesh.MatchKey(i * 7919)}, CatchAll: i == 0,
		})
	}
	route, err := mesh.DecodeRoute(routeJSON(t, mesh.HTTPRoute, "shop", on(service("cart, port: 80"))+
		`, rules: [{matches: [{path: {value: /mine}}], backendRefs: [{group: "", kind: Service, name: cart, port: 80}]}]`))
	if err != nil {
		t.Fatal(err)
	}
	return c, route
}

var sizes = []int{10, 100, 1_000, 10_000, 100_000}

// BenchmarkPrecedence decides who holds the ports of one Service.
func BenchmarkPrecedence(b *testing.B) {
	for _, size := range sizes {
		b.Run(fmt.Sprintf("routes=%d", size), func(b *testing.B) {
			world, _ := crowdOf(b, size)
			b.ReportAllocs()
			for b.Loop() {
				(*mesh.Profile)(nil).Precedence(world.service, world.routes)
			}
		})
	}
}

// BenchmarkOverlap judges a route on a Service with many others: route-overlap
// compares its matches with theirs, no-catch-all looks for a rule that takes
// every request.
func BenchmarkOverlap(b *testing.B) {
	for _, size := range sizes {
		b.Run(fmt.Sprintf("routes=%d", size), func(b *testing.B) {
			world, route := crowdOf(b, size)
			engine := newEngine(b, nil)
			b.ReportAllocs()
			for b.Loop() {
				if verdict, err := engine.Judge(&validate.Request{Route: route}, world); err != nil || len(verdict.Findings) > 0 {
					b.Fatalf("findings %q, error %v", told(verdict), err)
				}
			}
		})
	}
}

// TestAllocations holds the engine to ceilings: what a judgment allocates does not
// grow with the routes on the Service, but for the lists of them.
func TestAllocations(t *testing.T) {
	for routes, most := range map[int]float64{10: 32, 1_000: 40} {
		world, route := crowdOf(t, routes)
		engine := newEngine(t, nil)
		got := testing.AllocsPerRun(100, func() {
			if _, err := engine.Judge(&validate.Request{Route: route}, world); err != nil {
				t.Fatal(err)
			}
		})
		t.Logf("%d routes on the Service: %.0f allocations a judgment", routes, got)
		if got > most {
			t.Errorf("%d routes on the Service: %.0f allocations a judgment, want at most %.0f", routes, got, most)
		}
	}
}

// town is a Reader of many Services with five routes each.
type town struct {
	crowd
	services map[mesh.ServiceKey]*crowd
}

// Do implements mesh.Reader.
func (w *town) Do(read mesh.Read) mesh.Answer {
	switch c := w.services[read.Service]; {
	case c != nil:
		return c.Do(read)
	case read.Kind == mesh.ReadService:
		return mesh.Answer{Err: mesh.ErrNotFound}
	case read.Kind == mesh.ReadRoutes:
		return mesh.Answer{}
	}
	return w.crowd.Do(read)
}

// BenchmarkEngine judges routes on Services all over a cluster with so many
// routes, five a Service.
func BenchmarkEngine(b *testing.B) {
	for _, size := range sizes {
		b.Run(fmt.Sprintf("routes=%d", size), func(b *testing.B) {
			world := &town{services: map[mesh.ServiceKey]*crowd{}}
			one, route := crowdOf(b, 5)
			world.crowd = *one
			keys := make([]mesh.ServiceKey, size/5)
			for i := range keys {
				c, _ := crowdOf(b, 5)
				c.service.Key.Name = fmt.Sprintf("cart-%d", i)
				for _, r := range c.routes {
					r.Parents[0].Name = c.service.Key.Name
				}
				keys[i] = c.service.Key
				world.services[keys[i]] = c
			}
			engine := newEngine(b, nil)
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				route.Spec.ParentRefs[0].Name = keys[i%len(keys)].Name
				route.Spec.Rules[0].BackendRefs[0].Name = keys[i%len(keys)].Name
				i++
				if verdict, err := engine.Judge(&validate.Request{Route: route}, world); err != nil || len(verdict.Findings) > 0 {
					b.Fatalf("findings %q, error %v", told(verdict), err)
				}
			}
		})
	}
}

// BenchmarkReplaced judges a consumer route over many producer routes, of two ports, of which it replaces
// all: with more of them, each costs the same.
func BenchmarkReplaced(b *testing.B) {
	for _, size := range sizes {
		b.Run(fmt.Sprintf("routes=%d", size), func(b *testing.B) {
			world, _ := crowdOf(b, size)
			world.service.Ports = append(world.service.Ports, mesh.Port{Name: "alt", Number: 81, Protocol: mesh.TCP})
			parents := []mesh.ParentRef{world.routes[0].Parents[0]}
			parents[0].Port = 0
			for _, route := range world.routes {
				route.Parents = parents
			}
			consumer, err := mesh.DecodeRoute(routeJSON(b, mesh.HTTPRoute, "faces", on(service("cart, namespace: shop"))+
				`, rules: [{backendRefs: [{group: "", kind: Service, name: cart, namespace: shop, port: 80}]}]`))
			if err != nil {
				b.Fatal(err)
			}
			engine := newEngine(b, nil)
			byNamespace := mesh.ReaderFunc(func(read mesh.Read) mesh.Answer {
				answer := world.Do(read)
				if read.Kind == mesh.ReadRoutes {
					answer.AttachedRoutes = mesh.InNamespace(answer.AttachedRoutes, read.Namespace)
				}
				return answer
			})
			b.ReportAllocs()
			for b.Loop() {
				verdict, err := engine.Judge(&validate.Request{Route: consumer}, byNamespace)
				if err != nil || len(verdict.Findings) != 1 || verdict.Findings[0].Rule != "producer-routes-replaced" {
					b.Fatalf("findings %q, error %v", told(verdict), err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(size), "ns/route")
		})
	}
}
