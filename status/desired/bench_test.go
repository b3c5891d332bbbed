package desired_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/status/desired"
	"github.com/gammaguard/gammaguard/validate"
)

// BenchmarkView looks at one Service and all of its routes, as the reconciler
// does for each change. One in ten routes has lost its port.
func BenchmarkView(b *testing.B) {
	for _, routes := range []int{1, 10, 100, 1000} {
		var text strings.Builder
		for i := range routes {
			kind := mesh.GRPCRoute
			if i%10 == 9 {
				kind = mesh.HTTPRoute
			}
			text.WriteString(route(kind, fmt.Sprintf("shop/r%d", i), "name: cart, port: 80"))
		}
		world := newWorld(b, cluster, text.String())
		b.Run(fmt.Sprintf("routes=%d", routes), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				view := desired.NewView(engine(b, validate.Policy{}), world, desired.Settings{})
				marks := 0
				for _, route := range world.Routes() {
					entries, _, err := view.Entries(route.Route.Attached(nil))
					if err != nil {
						b.Fatal(err)
					}
					marks += len(entries)
				}
				if marks != routes/10 {
					b.Fatalf("%d marks, want %d", marks, routes/10)
				}
			}
		})
	}
}

// BenchmarkBackends looks at one Service whose routes have a backend that became of type ExternalName:
// with more of them, each costs the same.
func BenchmarkBackends(b *testing.B) {
	for _, routes := range []int{10, 100, 1000, 10000} {
		var text strings.Builder
		for i := range routes {
			text.WriteString(strings.Replace(route(mesh.HTTPRoute, fmt.Sprintf("shop/r%d", i), "name: cart, port: 80"),
				"spec: {", "spec: {rules: [{backendRefs: [{name: cart, port: 80}, {name: alias, port: 80}]}], ", 1))
		}
		world := newWorld(b, cluster, text.String())
		b.Run(fmt.Sprintf("routes=%d", routes), func(b *testing.B) {
			var all []*mesh.AttachedRoute
			for _, object := range world.Routes() {
				all = append(all, object.Route.Attached(nil).WithBackends(object.Route, nil))
			}
			b.ReportAllocs()
			for b.Loop() {
				view := desired.NewView(engine(b, validate.Policy{}), world, desired.Settings{})
				for _, route := range all {
					if entries, _, err := view.Entries(route); err != nil || len(entries) != 1 || entries[0].Condition.Reason != desired.BackendExternalName {
						b.Fatal(entries, err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(routes), "ns/route")
		})
	}
}
