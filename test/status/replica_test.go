package status

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/gammaguard/gammaguard/internal/kube"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/status"
	"github.com/gammaguard/gammaguard/status/desired"
	"github.com/gammaguard/gammaguard/test/background"
	"github.com/gammaguard/gammaguard/validate"
	"github.com/gammaguard/gammaguard/validate/rules"
	"github.com/gammaguard/gammaguard/webhook/server"
)

// election is short, in the proportions of the defaults.
var election = server.LeaderElection{
	Namespace:     "default",
	LeaseDuration: 3 * time.Second,
	RenewDeadline: 2 * time.Second,
	RetryPeriod:   400 * time.Millisecond,
}

// replica is a process of gammaguard, as far as status goes, inside the test.
type replica struct {
	cache    *kube.Cache
	registry *prometheus.Registry
	requests *requestLog
	stop     func()
	stopping atomic.Bool // see status.Options
	// left is what replicas before this one left in their queues.
	left float64
}

// start starts a replica, waits until it leads and has nothing to do, and stops it
// with the test. The wrappers see its requests.
func start(t *testing.T, policy *validate.Policy, wraps ...transport.WrapperFunc) *replica {
	t.Helper()
	r := &replica{registry: prometheus.NewRegistry(), requests: &requestLog{}, left: queued(t)}
	config := rest.CopyConfig(plane.Config)
	for _, wrap := range append(wraps, r.requests.wrap) {
		config.Wrap(wrap)
	}
	mgr, err := newManager(config, false)
	if err != nil {
		t.Fatal(err)
	}
	if r.cache, err = assemble(mgr, status.Options{Engine: engineOf(policy), Stopping: r.stopping.Load, Registerer: r.registry}); err != nil {
		t.Fatal(err)
	}
	r.stop = background.Start(t, mgr.Start)
	<-mgr.Elected()
	wait(t, 30*time.Second, "the caches", r.cache.NotSynced)
	return r
}

// busy returns an error while Services wait for a look, or are looked at.
func (r *replica) busy(t *testing.T) error {
	t.Helper()
	if n := queued(t) - r.left; n > 0 {
		return fmt.Errorf("%v Services are to be looked at", n)
	}
	return nil
}

// queued returns how many Services this process is to look at, by
// controller-runtime's own metrics.
func queued(t *testing.T) float64 {
	t.Helper()
	return sum(t, ctrlmetrics.Registry, "workqueue_depth") + sum(t, ctrlmetrics.Registry, "controller_runtime_active_workers")
}

// looks returns how often the replica has looked at a Service.
func (r *replica) looks(t *testing.T) float64 {
	t.Helper()
	return r.metric(t, "gammaguard_status_reconciles_total")
}

func newManager(config *rest.Config, elect bool) (ctrl.Manager, error) {
	options := ctrl.Options{Logger: logr.Discard(), Metrics: metricsserver.Options{BindAddress: "0"}}
	election := election
	election.Enabled = elect
	election.Set(&options)
	return ctrl.NewManager(config, options)
}

func assemble(mgr ctrl.Manager, options status.Options) (*kube.Cache, error) {
	cache, err := kube.New(mgr.GetConfig(), kube.Options{ControllerName: cmp.Or(options.Settings.ControllerName, desired.ControllerName)})
	if err != nil {
		return nil, err
	}
	return cache, errors.Join(status.Add(mgr, cache, options), mgr.Add(cache))
}

// metric returns the sum of a metric over its labels.
func (r *replica) metric(t *testing.T, name string) float64 {
	t.Helper()
	return sum(t, r.registry, name)
}

func sum(t *testing.T, from prometheus.Gatherer, name string) float64 {
	t.Helper()
	families, err := from.Gather()
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, family := range families {
		if family.GetName() == name {
			for _, m := range family.GetMetric() {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return sum
}

// requestLog counts the requests for routes that a replica makes, watches apart.
type requestLog struct {
	mu    sync.Mutex
	count map[string]int // by "METHOD namespace"
}

func (l *requestLog) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		if _, rest, ok := strings.Cut(req.URL.Path, "/namespaces/"); ok && strings.Contains(req.URL.Path, "/apis/"+mesh.GatewayGroup+"/") {
			namespace, _, _ := strings.Cut(rest, "/")
			l.mu.Lock()
			if l.count == nil {
				l.count = map[string]int{}
			}
			l.count[req.Method+" "+namespace]++
			l.mu.Unlock()
		}
		return next.RoundTrip(req)
	})
}

// of returns how often routes of the namespace were read and patched.
func (l *requestLog) of(namespace string) (reads, patches int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count["GET "+namespace], l.count["PATCH "+namespace]
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// wait waits until check returns nil.
func wait(t *testing.T, limit time.Duration, what string, check func() error) {
	t.Helper()
	deadline := time.Now().Add(limit)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after %s, still waiting for %s: %v", limit, what, err)
		}
		time.Sleep(10 * time.Millisecond) // between polls
	}
}

// engineOf returns an engine for the policy.
func engineOf(policy *validate.Policy) *validate.Engine {
	engine, err := validate.New(rules.Catalog(), policy)
	if err != nil {
		panic(err) // the tests' policies name no rules
	}
	return engine
}
