package attack

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/procfs"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gammaguard/gammaguard/test/background"
	"github.com/gammaguard/gammaguard/test/bed/guard"
)

// applyRate is how many routes are applied in a second, in turn to so many.
const applyRate, applied = 20, 40

// TestFloods: while one who has no rights holds all connections of both replicas, or opens
// ever new ones, every apply of a granted user is answered, and the replicas stay ready and
// small.
func TestFloods(t *testing.T) {
	p := startPair(t)
	for _, sort := range []string{"idle-connections", "silent-connections"} {
		p.applies(t, sort, 8*time.Second) // silent ones fill a replica in 3 s
	}
	p.wantSmall(t)
}

// BenchmarkFloods measures what an apply waits during floods of a minute each, and before,
// as the median of each ten seconds.
func BenchmarkFloods(b *testing.B) {
	p := startPair(b)
	p.applies(b, "", phase)
	for _, sort := range []string{"idle-connections", "silent-connections"} {
		b.Run(sort, func(b *testing.B) {
			for b.Loop() {
				quiet := p.applies(b, "", time.Minute)
				attacked := p.applies(b, sort, time.Minute)
				for part, name := range map[float64]string{0.5: "p50", 0.99: "p99"} {
					b.ReportMetric(usual(quiet, part), "quiet-"+name+"-ms")
					b.ReportMetric(usual(attacked, part), "attacked-"+name+"-ms")
				}
				b.ReportMetric(quantile(attacked, 1), "attacked-slowest-ms")
				if before, during := usual(quiet, 0.99), usual(attacked, 0.99); during > mostSlower*before {
					b.Errorf("p99 is %.1f ms instead of %.1f ms, want at most %v times as much", during, before, mostSlower)
				}
				b.ReportMetric(float64(p.wantSmall(b))/(1<<20), "MiB")
			}
		})
	}
}

// pair are two replicas, both of which answer for each apply: one mutates, the other one
// validates.
type pair struct {
	*site
	replicas [2]*guard.Guard
}

func startPair(t testing.TB) *pair {
	t.Helper()
	s := start(t)
	s.namespace(t, "flooded", "all")
	second, err := guard.Start(t.Context(), s.plane, guard.Options{Unregistered: true, Args: []string{"--cert-dir", s.guard.CertDir}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := second.Stop(); err != nil {
			t.Error(err)
		}
	})
	p := &pair{s, [2]*guard.Guard{s.guard, second}}
	p.redirect(t, s.guard.URL, second.URL)
	t.Cleanup(func() { p.redirect(t, second.URL, s.guard.URL) })
	background.Eventually(t, func() string {
		if err := p.applyRoute(t.Context(), 0, fmt.Sprint("/", time.Now().UnixNano())); err != nil {
			return err.Error()
		}
		text, err := second.Metrics(t.Context())
		if err != nil {
			return err.Error()
		}
		if !strings.Contains(text, `gammaguard_webhook_requests_total{authenticated="false",kind="HTTPRoute"`) {
			return "a call of the second replica"
		}
		return ""
	})
	return p
}

var validatingConfigurations = schema.GroupVersionResource{
	Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations",
}

// redirect has the API server call another replica to validate.
func (p *pair) redirect(t testing.TB, from, to string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	configurations := p.admin.Resource(validatingConfigurations)
	found, err := configurations.Get(ctx, "gammaguard", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	webhooks, _, _ := unstructured.NestedSlice(found.Object, "webhooks")
	for _, webhook := range webhooks {
		client := webhook.(object)["clientConfig"].(object)
		client["url"] = strings.Replace(client["url"].(string), from, to, 1)
	}
	found.Object["webhooks"] = webhooks
	if _, err := configurations.Update(ctx, found, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// applyRoute applies a route of the granted user, which the webhooks judge, as its spec
// changes.
func (p *pair) applyRoute(ctx context.Context, i int, path string) error {
	routes, err := p.as(tenant)
	if err != nil {
		return err
	}
	name := fmt.Sprint("route-", i%applied)
	route := &unstructured.Unstructured{Object: object{
		"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "metadata": object{"name": name, "namespace": "flooded"},
		"spec": object{
			"parentRefs": []any{object{"group": "", "kind": "Service", "name": "cart", "port": int64(80)}},
			"rules": []any{object{
				"matches":     []any{object{"path": object{"type": "PathPrefix", "value": path}}},
				"backendRefs": []any{object{"name": "cart", "port": int64(80)}},
			}},
		},
	}}
	_, err = routes.Resource(httpRoutes).Namespace("flooded").Apply(ctx, name, route, metav1.ApplyOptions{FieldManager: "tenant", Force: true})
	return err
}

// applies has routes applied for a time, while both replicas are attacked so, if at all, and
// returns how long each took.
func (p *pair) applies(t testing.TB, attack string, duration time.Duration) []time.Duration {
	t.Helper()
	var attackers sync.WaitGroup
	if attack != "" {
		start := attackerOf(t, p.guard.CA)
		for _, replica := range p.replicas {
			attackers.Go(func() { start(t, attack, replica.URL, duration) })
		}
	}
	begun := time.Now().UnixNano()
	waits := paced(t.Context(), duration, applyRate, func(ctx context.Context, i int) {
		if err := p.applyRoute(ctx, i, fmt.Sprintf("/%d/%d", begun, i)); err != nil {
			t.Errorf("%s: an apply: %v", attack, err)
		}
		if i%applyRate == 0 {
			for _, replica := range p.replicas {
				if err := replica.Ready(ctx); err != nil {
					t.Errorf("%s: %v", attack, err)
				}
			}
		}
	})
	attackers.Wait()
	t.Logf("%s: %d applies, the slowest took %s", attack, len(waits), slices.Max(waits))
	return waits
}

// usual is the median of a quantile of each ten seconds: others may use the machine too.
func usual(waits []time.Duration, part float64) float64 {
	var all []float64
	for some := range slices.Chunk(waits, 10*applyRate) {
		all = append(all, quantile(some, part))
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// wantSmall fails where a replica has used more memory than it may.
func (p *pair) wantSmall(t testing.TB) (largest uint64) {
	t.Helper()
	for _, replica := range p.replicas {
		process, err := procfs.NewProc(replica.PID())
		status, errStatus := process.NewStatus()
		if err := errors.Join(err, errStatus); err != nil {
			t.Fatal(err)
		}
		largest = max(largest, status.VmHWM)
	}
	if largest > mostMemory {
		t.Errorf("a replica has used %d MiB, want at most %d", largest>>20, mostMemory>>20)
	}
	return largest
}
