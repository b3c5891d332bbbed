package attack

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/procfs"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/test/bed/guard"
	"github.com/gammaguard/gammaguard/test/kustomize"
)

// floodRate is how many routes are created in a second, by so many at a time.
const floodRate, flooders = 1000, 32

// BenchmarkUngranted measures what a flood of routes without the grant, all of which the
// policies on grants refuse, changes for others: the p99 of a granted user's applies, and the
// CPU of both replicas. Beside it is a flood of routes on Gateways that RBAC lets through and
// their definition refuses: it is what the API server's own work costs them on the same
// processors.
func BenchmarkUngranted(b *testing.B) {
	p := startPair(b)
	p.namespace(b, "hostile", "none")
	if err := guard.InstallPolicies(b.Context(), p.plane, config.Default().Policy()); err != nil {
		b.Fatal(err)
	}
	p.limitMutations(b)
	const others = `"parentRefs": [{"name": "edge", "port": 0}]`
	const ungranted = `"parentRefs": [{"group": "", "kind": "Service", "name": "cart"}]`
	p.flood(b, ungranted, time.Second) // connections are open
	for b.Loop() {
		quiet := p.during(b, "")
		beside := p.during(b, others)
		flooded := p.during(b, ungranted)
		for name, m := range map[string]mood{"quiet": quiet, "schema": beside, "ungranted": flooded} {
			b.ReportMetric(m.p99, name+"-p99-ms")
			b.ReportMetric(m.cpu, name+"-cpu-ms/s")
			b.ReportMetric(m.rate, name+"-refused/s")
		}
		if flooded.calls > quiet.calls+quiet.calls/100 || quiet.calls == 0 {
			b.Errorf("%d calls of the webhooks during the flood, %d without", flooded.calls, quiet.calls)
		}
	}
}

// limitMutations limits the mutating webhook as the component policies does.
func (p *pair) limitMutations(b *testing.B) {
	b.Helper()
	built, err := kustomize.Build("base", "self-managed", "policies")
	if err != nil {
		b.Fatal(err)
	}
	for _, manifest := range built {
		if manifest["kind"] != "MutatingWebhookConfiguration" {
			continue
		}
		webhook := manifest["webhooks"].([]any)[0].(map[string]any)
		patch, err := json.Marshal([]object{{"op": "add", "path": "/webhooks/0/namespaceSelector", "value": webhook["namespaceSelector"]}})
		if err != nil {
			b.Fatal(err)
		}
		configurations := validatingConfigurations
		configurations.Resource = "mutatingwebhookconfigurations"
		if _, err := p.admin.Resource(configurations).Patch(b.Context(), "gammaguard", types.JSONPatchType, patch, metav1.PatchOptions{}); err != nil {
			b.Fatal(err)
		}
		return
	}
	b.Fatal("no MutatingWebhookConfiguration")
}

// mood is how the granted user fared in half a minute, and what that took of both replicas.
type mood struct {
	p99       float64 // milliseconds
	cpu, rate float64 // milliseconds, and requests that were refused, a second
	calls     int
}

func (p *pair) during(b *testing.B, spec string) (m mood) {
	b.Helper()
	const duration = 30 * time.Second
	cpu, calls := p.cost(b)
	var flooding sync.WaitGroup
	if spec != "" {
		flooding.Go(func() { m.rate = float64(p.flood(b, spec, duration)) / duration.Seconds() })
	}
	waits := p.applies(b, "", duration)
	flooding.Wait()
	after, called := p.cost(b)
	m.p99, m.cpu, m.calls = usual(waits, 0.99), float64((after-cpu).Microseconds())/1000/duration.Seconds(), called-calls
	return m
}

// flood creates routes, each of which must be refused, and returns how many were.
func (p *pair) flood(b *testing.B, spec string, duration time.Duration) (refused int) {
	b.Helper()
	routes, err := p.as(tenant)
	if err != nil {
		b.Error(err)
		return 0
	}
	ctx, cancel := context.WithTimeout(b.Context(), duration)
	defer cancel()
	var (
		all  sync.WaitGroup
		sums [flooders]int
	)
	for i := range flooders {
		all.Go(func() {
			ticks := time.NewTicker(time.Second * flooders / floodRate)
			defer ticks.Stop()
			for n := 0; ctx.Err() == nil; n++ {
				route := &unstructured.Unstructured{}
				text := fmt.Sprintf(`{"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "metadata": {"name": "flood-%d-%d", "namespace": "hostile"}, "spec": {%s}}`, i, n, spec)
				if err := route.UnmarshalJSON([]byte(text)); err != nil {
					b.Error(err)
					return
				}
				_, err := routes.Resource(httpRoutes).Namespace("hostile").Create(ctx, route, metav1.CreateOptions{})
				switch {
				case apierrors.IsForbidden(err), apierrors.IsInvalid(err):
					sums[i]++
				case ctx.Err() == nil && !apierrors.IsTooManyRequests(err):
					b.Errorf("a route of the flood: %v", err)
					return
				}
				<-ticks.C
			}
		})
	}
	all.Wait()
	for _, n := range sums {
		refused += n
	}
	return refused
}

// cost returns what both replicas have run, and how often the webhooks were called.
func (p *pair) cost(b *testing.B) (cpu time.Duration, calls int) {
	b.Helper()
	for _, replica := range p.replicas {
		threads, err := procfs.AllThreads(replica.PID())
		if err != nil {
			b.Fatal(err)
		}
		for _, thread := range threads {
			ran, err := thread.Schedstat()
			if err != nil {
				b.Fatal(err)
			}
			cpu += time.Duration(ran.RunningNanoseconds) //nolint:gosec // for 292 years
		}
		metrics, err := replica.Metrics(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		calls += int(total(b, metrics, request))
	}
	return cpu, calls
}
