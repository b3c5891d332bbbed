package attack

import (
	"context"
	"math"
	"slices"
	"sync"
	"testing"
	"time"
)

const (
	// hostileRate and goodRate are requests a second.
	hostileRate, goodRate = 50, 100
	// phase is how long each of the two measurements takes.
	phase = 15 * time.Second
	// mostSlower is what an attack may make of the p99 of others.
	mostSlower = 3.0
)

// BenchmarkUnderAttack measures what a well-behaved tenant waits for the webhooks, first
// alone and then while another one, without a grant, sends hostile requests: the p99 of
// both, their ratio, and the memory of the webhook's process.
func BenchmarkUnderAttack(b *testing.B) {
	s := start(b)
	s.namespace(b, "good", "all")
	s.namespace(b, "hostile", "none")
	webhook := newCaller(b, s.guard)
	good := `{"parentRefs": [` + parentOnCart + `], "rules": [{"backendRefs": [` + backendOnCart + `]}]}`
	var hostile []string
	for _, large := range tooLarge {
		hostile = append(hostile, large.spec(largest-2<<10))
	}
	for _, limit := range atLimits {
		hostile = append(hostile, limit.spec)
	}
	wait := func() []time.Duration {
		return paced(b.Context(), goodRate, func(ctx context.Context, _ int) {
			for _, path := range []string{"/mutate", "/validate"} {
				if allowed, err := webhook.call(ctx, path, "good", good); err != nil || !allowed {
					b.Errorf("%s: allowed: %v, %v", path, allowed, err)
				}
			}
		})
	}
	wait() // connections are open, and the caches know the Service
	for b.Loop() {
		quiet := p99(wait())
		var attacked []time.Duration
		var both sync.WaitGroup
		both.Go(func() {
			paced(b.Context(), hostileRate, func(ctx context.Context, i int) {
				// Some are turned away by the webhook's bounds, which is as good as a refusal.
				allowed, err := webhook.call(ctx, "/validate", "hostile", hostile[i%len(hostile)])
				if err == nil && allowed {
					b.Error("a hostile request is allowed")
				}
			})
		})
		both.Go(func() { attacked = wait() })
		both.Wait()
		slower, peak := float64(p99(attacked))/float64(quiet), s.peakMemory(b)
		b.ReportMetric(quiet.Seconds()*1000, "quiet-p99-ms")
		b.ReportMetric(p99(attacked).Seconds()*1000, "attacked-p99-ms")
		b.ReportMetric(slower, "times")
		b.ReportMetric(float64(peak)/(1<<20), "MiB")
		if slower > mostSlower || peak > mostMemory {
			b.Errorf("p99 is %.1f times as long, want at most %.0f; %d MiB, want at most %d", slower, mostSlower, peak>>20, mostMemory>>20)
		}
	}
}

// paced sends so many requests a second for a phase, whether or not others are answered,
// and returns how long after its time each was answered.
func paced(ctx context.Context, rate int, send func(ctx context.Context, i int)) []time.Duration {
	waits := make([]time.Duration, int(phase.Seconds())*rate)
	ticks := time.NewTicker(time.Second / time.Duration(rate))
	defer ticks.Stop()
	var sent sync.WaitGroup
	for i := range waits {
		due := <-ticks.C
		sent.Go(func() {
			send(ctx, i)
			waits[i] = time.Since(due)
		})
	}
	sent.Wait()
	return waits
}

// p99 is the time within which 99 of 100 are answered.
func p99(waits []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(waits))
	return sorted[int(math.Ceil(float64(len(sorted))*0.99))-1]
}
