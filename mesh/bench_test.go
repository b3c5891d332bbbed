package mesh_test

import (
	"fmt"
	"testing"

	"github.com/gammaguard/gammaguard/mesh"
)

// BenchmarkDecode decodes so many different routes in turn, an operation a route:
// what is not in the processor's caches costs more.
func BenchmarkDecode(b *testing.B) {
	for _, size := range []int{10, 100, 1_000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("routes=%d", size), func(b *testing.B) {
			bodies := make([][]byte, size)
			for i := range bodies {
				bodies[i] = fmt.Appendf(nil, `{"apiVersion":"gateway.networking.k8s.io/v1","kind":"HTTPRoute","metadata":{"namespace":"shop","name":"route-%d",
					"labels":{"app":"cart"},"uid":"6b0e2d1c-8f7a-4c55-9d3e-0a1b2c3d4e5f","creationTimestamp":"2026-01-02T03:04:05Z","generation":1},
					"spec":{"parentRefs":[{"group":"","kind":"Service","name":"cart-%d","port":80}],"rules":[{"matches":[{"path":{"type":"PathPrefix","value":"/items/%d"}}],
					"backendRefs":[{"group":"","kind":"Service","name":"cart","port":80,"weight":1}]}]}}`, i, i/5, i)
			}
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				if _, err := mesh.DecodeRoute(bodies[i%size]); err != nil {
					b.Fatal(err)
				}
				i++
			}
		})
	}
}

// TestDecodeAllocations holds the decoding of a route to a ceiling.
func TestDecodeAllocations(t *testing.T) {
	body := []byte(`{"kind":"HTTPRoute","metadata":{"namespace":"shop","name":"cart"},"spec":{"parentRefs":[{"group":"","kind":"Service","name":"cart","port":80}],
		"rules":[{"matches":[{"path":{"type":"PathPrefix","value":"/items"}}],"backendRefs":[{"group":"","kind":"Service","name":"cart","port":80}]}]}}`)
	const most = 28
	got := testing.AllocsPerRun(100, func() {
		if _, err := mesh.DecodeRoute(body); err != nil {
			t.Fatal(err)
		}
	})
	t.Logf("%.0f allocations a route", got)
	if got > most {
		t.Errorf("%.0f allocations a route, want at most %d", got, most)
	}
}

// BenchmarkAttached reduces a route of some rules, whose backends are its parent, or two others.
func BenchmarkAttached(b *testing.B) {
	for name, backends := range map[string]string{"parent": `{"name": "cart", "port": 80}`, "others": `{"name": "v1", "port": 80}, {"name": "v2", "port": 80}`} {
		b.Run(name, func(b *testing.B) {
			route, err := mesh.DecodeRoute([]byte(`{"kind": "HTTPRoute", "metadata": {"namespace": "shop", "name": "r"}, "spec": {
				"parentRefs": [{"group": "", "kind": "Service", "name": "cart", "port": 80}], "rules": [{"matches": [{"path": {"value": "/a"}}], "backendRefs": [` + backends + `]},
				{"matches": [{"path": {"value": "/b"}}], "backendRefs": [` + backends + `]}, {"backendRefs": [` + backends + `]}]}}`))
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			b.Run("admission", func(b *testing.B) {
				for b.Loop() {
					route.Attached(nil)
				}
			})
			attached := route.Attached(nil)
			b.Run("status", func(b *testing.B) {
				for b.Loop() {
					attached.WithBackends(route, nil)
				}
			})
		})
	}
}
