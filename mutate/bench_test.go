package mutate_test

import (
	"fmt"
	"testing"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/mutate"
)

// BenchmarkChanges measures the proposal's example as it is written, and the same
// route once it has what was missing: by far the more frequent one.
func BenchmarkChanges(b *testing.B) {
	_, written := decode(b, seeds[1])
	w := &world{services: services()}
	changes := mutate.Changes(written, w, ownOnly)
	if len(changes) != 3 {
		b.Fatalf("the example has %d changes, want 3", len(changes))
	}
	stored := mutate.Mutated(written, changes)
	b.Run("written", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			mutate.Changes(written, w, ownOnly)
		}
	})
	b.Run("stored", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			mutate.Changes(stored, w, ownOnly)
		}
	})
}

// BenchmarkSizes repairs routes on Services all over a cluster with so many routes,
// five a Service: a mutation sees Services, but no routes.
func BenchmarkSizes(b *testing.B) {
	for _, routes := range []int{10, 100, 1_000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("routes=%d", routes), func(b *testing.B) {
			_, written := decode(b, seeds[1])
			names := make([]string, routes/5)
			w := many{}
			for i := range names {
				names[i] = fmt.Sprintf("cart-%d", i)
				key := mesh.ServiceKey{Kind: mesh.ServiceKind, Namespace: written.Metadata.Namespace, Name: names[i]}
				w[key] = &mesh.Service{Key: key, Type: mesh.ClusterIP, Ports: []mesh.Port{{Name: "http", Number: 80, Protocol: mesh.TCP}}}
			}
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				written.Spec.ParentRefs[0].Name = names[i%len(names)]
				i++
				if len(mutate.Changes(written, w, ownOnly)) == 0 {
					b.Fatal("no changes")
				}
			}
		})
	}
}

// many is a mesh.Reader of many Services.
type many map[mesh.ServiceKey]*mesh.Service

// Do implements mesh.Reader.
func (w many) Do(read mesh.Read) mesh.Answer {
	if service := w[read.Service]; read.Kind == mesh.ReadService && service != nil {
		return mesh.Answer{Service: service}
	}
	return mesh.Answer{Err: mesh.ErrNotFound}
}

// TestAllocations holds the mutations to ceilings.
func TestAllocations(t *testing.T) {
	_, written := decode(t, seeds[1])
	w := &world{services: services()}
	stored := mutate.Mutated(written, mutate.Changes(written, w, ownOnly))
	for _, test := range []struct {
		name string
		do   func()
		most float64
	}{
		{"written", func() { mutate.Changes(written, w, ownOnly) }, 60},
		{"stored", func() { mutate.Changes(stored, w, ownOnly) }, 4},
	} {
		got := testing.AllocsPerRun(100, test.do)
		t.Logf("%s: %.0f allocations", test.name, got)
		if got > test.most {
			t.Errorf("%s: %.0f allocations, want at most %.0f", test.name, got, test.most)
		}
	}
}
