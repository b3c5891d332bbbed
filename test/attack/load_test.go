package attack

import (
	"context"
	"math"
	nethttp "net/http"
	"slices"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	// hostileRate and goodRate are requests a second.
	hostileRate, goodRate = 50, 100
	// phase is how long a measurement takes, and rounds how often both are made: the
	// medians count.
	phase  = 10 * time.Second
	rounds = 3
	// mostSlower is what a flood of connections may make of the p99 of others.
	mostSlower = 2.0
)

// BenchmarkUnderAttack measures what a well-behaved tenant waits for the webhooks, first
// alone and then during an attack of each sort: the p99 of both, their ratio, and the memory
// of the webhook's process. Every second call comes by a new connection. The webhooks'
// timeoutSeconds come from here too: four times the p99.9 of one call must fit into them.
func BenchmarkUnderAttack(b *testing.B) {
	s := start(b)
	s.namespace(b, "good", "all")
	s.namespace(b, "hostile", "none")
	webhook, newcomer := newCaller(s.guard.URL, s.guard.CA), newCaller(s.guard.URL, s.guard.CA)
	newcomer.client.Transport.(*nethttp.Transport).DisableKeepAlives = true
	b.Cleanup(webhook.client.CloseIdleConnections)
	good := `{"parentRefs": [` + parentOnCart + `], "rules": [{"backendRefs": [` + backendOnCart + `]}]}`
	paths := []string{"/mutate", "/validate"}
	timeout := s.timeout(b)
	wait := func() (both, each []time.Duration) {
		each = make([]time.Duration, len(paths)*goodRate*int(phase.Seconds()))
		both = paced(b.Context(), phase, goodRate, func(ctx context.Context, i int) {
			caller := webhook
			if i%2 > 0 {
				caller = newcomer
			}
			for j, path := range paths {
				begun := time.Now()
				if allowed, err := caller.call(ctx, path, "good", good); err != nil || !allowed {
					b.Errorf("%s: allowed: %v, %v", path, allowed, err)
				}
				each[i*len(paths)+j] = time.Since(begun)
			}
		})
		return both, each
	}
	wait() // connections are open, and the caches know the Service
	for _, sort := range attackers {
		b.Run(sort.name, func(b *testing.B) {
			attack := attackerOf(b, s.guard.CA)
			for b.Loop() {
				var quiet, attacked [rounds]float64 // milliseconds, of both calls
				var calls []time.Duration
				for i := range rounds {
					both, _ := wait()
					quiet[i] = quantile(both, 0.99)
					var other sync.WaitGroup
					other.Go(func() { attack(b, sort.name, s.guard.URL, phase) })
					both, each := wait()
					attacked[i], calls = quantile(both, 0.99), append(calls, each...)
					other.Wait()
				}
				needed := quantile(calls, 0.999)
				before, during, peak := median(quiet), median(attacked), s.peakMemory(b)
				b.ReportMetric(before, "quiet-p99-ms")
				b.ReportMetric(during, "attacked-p99-ms")
				b.ReportMetric(during/before, "times")
				b.ReportMetric(needed, "attacked-call-p99.9-ms")
				b.ReportMetric(4*needed/1000, "timeout-s")
				b.Logf("p99.9 of a call is %.1f ms, the slowest took %.1f ms", needed, quantile(calls, 1)) // also where it fails
				b.ReportMetric(float64(peak)/(1<<20), "MiB")
				if during > sort.slower*before || peak > mostMemory {
					b.Errorf("p99 is %.1f ms instead of %.1f ms, want at most %v times as much; %d MiB, want at most %d", during, before, sort.slower, peak>>20, mostMemory>>20)
				}
				if allowed := timeout.Seconds() * 1000; 4*needed > allowed {
					b.Errorf("p99.9 of a call is %.1f ms, want at most a quarter of the timeout, %.0f ms", needed, allowed)
				}
			}
		})
	}
}

// timeout returns the timeout of the webhook that judges routes.
func (s *site) timeout(t testing.TB) time.Duration {
	t.Helper()
	found, err := s.admin.Resource(validatingConfigurations).Get(t.Context(), "gammaguard", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	webhooks, _, _ := unstructured.NestedSlice(found.Object, "webhooks")
	if len(webhooks) == 0 {
		t.Fatal("there are no webhooks")
	}
	return time.Duration(webhooks[0].(object)["timeoutSeconds"].(int64)) * time.Second
}

func median(all [rounds]float64) float64 {
	slices.Sort(all[:])
	return all[rounds/2]
}

// paced sends so many requests a second for a time, whether or not others are answered,
// and returns how long after its time each was answered.
func paced(ctx context.Context, duration time.Duration, rate int, send func(ctx context.Context, i int)) []time.Duration {
	waits := make([]time.Duration, int(duration.Seconds())*rate)
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

// quantile is the time within which such a part is answered, in milliseconds.
func quantile(waits []time.Duration, part float64) float64 {
	sorted := slices.Sorted(slices.Values(waits))
	return sorted[int(math.Ceil(float64(len(sorted))*part))-1].Seconds() * 1000
}
