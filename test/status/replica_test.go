package status

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
	ctrl "sigs.k8s.io/controller-runtime"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/mesh/live"
	"github.com/gammaguard/gammaguard/status"
	"github.com/gammaguard/gammaguard/status/desired"
	"github.com/gammaguard/gammaguard/validate"
	"github.com/gammaguard/gammaguard/webhook/server"
)

// election is short, in the proportions of the defaults.
var election = server.LeaderElection{
	Namespace:     "default",
	LeaseDuration: 5 * time.Second,
	RenewDeadline: 2500 * time.Millisecond,
	RetryPeriod:   250 * time.Millisecond,
}

// replica is a process of gammaguard, as far as status goes, inside the test.
type replica struct {
	*status.Reconciler
	cache    *live.Cache
	registry *prometheus.Registry
	requests *requestLog
	looks    *lookLog
	stop     func()
}

// start starts a replica, waits until it leads and has nothing to do, and stops it
// with the test. The wrappers see its requests.
func start(t *testing.T, policy *validate.Policy, wraps ...transport.WrapperFunc) *replica {
	t.Helper()
	r := &replica{registry: prometheus.NewRegistry(), requests: &requestLog{}, looks: &lookLog{}}
	config := rest.CopyConfig(plane.Config)
	for _, wrap := range append(wraps, r.requests.wrap) {
		config.Wrap(wrap)
	}
	mgr, err := newManager(config, false)
	if err != nil {
		t.Fatal(err)
	}
	if r.cache, r.Reconciler, err = assemble(mgr, status.Options{Engine: engineOf(policy), Registerer: r.registry, OnLook: r.looks.add}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the manager failed: %v", err)
		}
	})
	t.Cleanup(r.stop)
	<-mgr.Elected()
	wait(t, 30*time.Second, "a look at everything", func() error {
		if err := r.cache.NotSynced(); err != nil {
			return err
		}
		if !r.Leads() || !r.Idle() {
			return fmt.Errorf("leads: %t, idle: %t", r.Leads(), r.Idle())
		}
		return nil
	})
	return r
}

func newManager(config *rest.Config, elect bool) (ctrl.Manager, error) {
	election := election
	election.Enabled = elect
	return election.NewManager(config, ctrl.Options{Logger: logr.Discard(), Metrics: metricsserver.Options{BindAddress: "0"}})
}

func assemble(mgr ctrl.Manager, options status.Options) (*live.Cache, *status.Reconciler, error) {
	cache, err := live.New(mgr.GetConfig(), live.Options{ControllerName: desired.ControllerName})
	if err != nil {
		return nil, nil, err
	}
	reconciler, err := status.Add(mgr, cache, options)
	if err != nil {
		return nil, nil, err
	}
	return cache, reconciler, mgr.Add(cache)
}

// metric returns the sum of a metric over its labels.
func (r *replica) metric(t *testing.T, name string) float64 {
	t.Helper()
	families, err := r.registry.Gather()
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

// lookLog notes at which Services the reconciler looked.
type lookLog struct {
	mu    sync.Mutex
	looks map[mesh.ServiceKey]int
}

func (l *lookLog) add(key mesh.ServiceKey) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.looks == nil {
		l.looks = map[mesh.ServiceKey]int{}
	}
	l.looks[key]++
}

// take returns what was noted, and starts anew.
func (l *lookLog) take() map[mesh.ServiceKey]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	looks := l.looks
	l.looks = nil
	return looks
}

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
	engine, err := validate.New(policy)
	if err != nil {
		panic(err) // the tests' policies name no rules
	}
	return engine
}
