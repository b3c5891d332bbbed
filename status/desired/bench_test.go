package desired_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/status/desired"
	"github.com/gammaguard/gammaguard/validate"
)

// BenchmarkPlace looks at one Service and all of its routes, as the reconciler
// does for each change. One in ten routes has lost its port.
func BenchmarkPlace(b *testing.B) {
	key := mesh.ServiceKey{Kind: mesh.ServiceKind, Namespace: "shop", Name: "cart"}
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
				place, err := desired.At(key, world, &validate.Policy{}, desired.Settings{})
				if err != nil {
					b.Fatal(err)
				}
				marks := 0
				for _, route := range place.Routes() {
					entries, err := place.Entries(route)
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
