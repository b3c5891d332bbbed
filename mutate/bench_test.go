package mutate_test

import (
	"testing"

	"github.com/gammaguard/gammaguard/mutate"
)

// BenchmarkChanges measures the proposal's example as it is written, and the same
// route once it has what was missing: by far the more frequent one.
func BenchmarkChanges(b *testing.B) {
	_, written := decode(b, seeds[1])
	w := &world{services: services()}
	changes := mutate.Changes(written, w, mutate.Options{})
	if len(changes) != 3 {
		b.Fatalf("the example has %d changes, want 3", len(changes))
	}
	stored := mutate.Mutated(written, changes)
	b.Run("written", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			mutate.Changes(written, w, mutate.Options{})
		}
	})
	b.Run("stored", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			mutate.Changes(stored, w, mutate.Options{})
		}
	})
}
