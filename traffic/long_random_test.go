package traffic

import (
	"context"
	"flag"
	"testing"
	"time"
)

var (
	longFor  = flag.Duration("random-for", time.Second, "for how long TestRandom compares random routes")
	longFrom = flag.Uint64("random-seed", 1, "the first seed of TestRandom")
)

// TestRandom compares the engine with the second opinion, and differences with the fates of
// requests, seed by seed: `make random` does so for a minute, from a seed that nobody chose.
// Each seed is a world of its own, so what is found is found again by -random-seed.
func TestRandom(t *testing.T) {
	first := *longFrom
	t.Logf("the first seed is %d", first)
	for name, disagrees := range map[string]func(t *testing.T, seed uint64) string{
		"second-opinion": func(t *testing.T, seed uint64) string {
			return disagreement(t, randomChoices(seed, bytesOfRoutes), compareEntries)
		},
		"diff": func(t *testing.T, seed uint64) string {
			return misreport(t, randomChoices(seed, 4000), 200, compareEntries, maxComparisons)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, stop := context.WithTimeout(t.Context(), *longFor)
			defer stop()
			seed := first
			for ; seed == first || ctx.Err() == nil; seed++ {
				if d := disagrees(t, seed); d != "" {
					t.Fatalf("again by: go test ./traffic -run TestRandom -random-seed %d\n%s", seed, d)
				}
			}
			t.Logf("%d seeds from %d on agree", seed-first, first)
		})
	}
}
