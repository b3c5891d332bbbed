package attack

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	// hostileRate and goodRate are requests a second.
	hostileRate, goodRate = 50, 100
	// phase is how long a measurement takes, and rounds how often both are made: the
	// medians count.
	phase  = 10 * time.Second
	rounds = 3
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
	webhook := newCaller(s.guard.URL, s.guard.CA)
	b.Cleanup(webhook.client.CloseIdleConnections)
	good := `{"parentRefs": [` + parentOnCart + `], "rules": [{"backendRefs": [` + backendOnCart + `]}]}`
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
	ca := filepath.Join(b.TempDir(), "ca.crt")
	if err := os.WriteFile(ca, s.guard.CA, 0o600); err != nil {
		b.Fatal(err)
	}
	// The attacker is another process, and gets what the others leave of the processors:
	// in a cluster it has its own.
	attack := func() {
		cmd := exec.CommandContext(b.Context(), "nice", "-n", "19", os.Args[0])
		cmd.Env = append(os.Environ(), attackerURL+"="+s.guard.URL, attackerCA+"="+ca)
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Errorf("the attacker: %v: %s", err, out)
		}
	}
	for b.Loop() {
		var quiet, attacked [rounds]float64 // milliseconds
		for i := range rounds {
			quiet[i] = p99(wait())
			var other sync.WaitGroup
			other.Go(attack)
			attacked[i] = p99(wait())
			other.Wait()
		}
		before, during, peak := median(quiet), median(attacked), s.peakMemory(b)
		b.ReportMetric(before, "quiet-p99-ms")
		b.ReportMetric(during, "attacked-p99-ms")
		b.ReportMetric(during/before, "times")
		b.ReportMetric(float64(peak)/(1<<20), "MiB")
		if during > mostSlower*before || peak > mostMemory {
			b.Errorf("p99 is %.1f ms instead of %.1f ms, want at most %v times as much; %d MiB, want at most %d", during, before, mostSlower, peak>>20, mostMemory>>20)
		}
	}
}

func median(all [rounds]float64) float64 {
	slices.Sort(all[:])
	return all[rounds/2]
}

// What makes the test binary an attacker: the webhooks' URL, and the file of their CA.
const attackerURL, attackerCA = "GAMMAGUARD_TEST_ATTACKED_URL", "GAMMAGUARD_TEST_ATTACKED_CA"

// runAttacker sends hostile requests for a phase. It fails where one is allowed, or where
// it cannot send them at their rate.
func runAttacker() int {
	ca, err := os.ReadFile(os.Getenv(attackerCA))
	if err != nil {
		fmt.Println(err)
		return 1
	}
	webhook := newCaller(os.Getenv(attackerURL), ca)
	var hostile []string
	for _, large := range tooLarge {
		hostile = append(hostile, review("hostile", large.spec(largest-2<<10)))
	}
	for _, limit := range atLimits {
		hostile = append(hostile, review("hostile", limit.spec))
	}
	var allowed, answered atomic.Int64
	begun := time.Now()
	paced(context.Background(), hostileRate, func(ctx context.Context, i int) {
		yes, err := webhook.send(ctx, "/validate", hostile[i%len(hostile)])
		if yes {
			allowed.Add(1)
		}
		if err == nil { // others are turned away by the webhook's bounds
			answered.Add(1)
		}
	})
	took := time.Since(begun)
	fmt.Printf("%d allowed, %d answered, in %s\n", allowed.Load(), answered.Load(), took)
	if allowed.Load() > 0 || answered.Load() == 0 || took > phase*5/4 {
		return 1
	}
	return 0
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

// p99 is the time within which 99 of 100 are answered, in milliseconds.
func p99(waits []time.Duration) float64 {
	sorted := slices.Sorted(slices.Values(waits))
	return sorted[int(math.Ceil(float64(len(sorted))*0.99))-1].Seconds() * 1000
}
