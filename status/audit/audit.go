package audit

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/gammaguard/gammaguard/internal/creation"
	"github.com/gammaguard/gammaguard/internal/kube"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

// Options configures the standing audit. Only Judge must be set.
type Options struct {
	Judge creation.Judge
	// Reports has a Report written for each namespace with routes.
	Reports bool
	// Registerer takes the metric; nil is controller-runtime's.
	Registerer prometheus.Registerer
	Log        logr.Logger
}

// Retries of what failed wait from a second to half a minute.
const (
	firstRetry = time.Second
	lastRetry  = 30 * time.Second
)

// cache is what is used of a kube.Cache, and lister of a kube.Reader.
type (
	cache interface {
		mesh.Reader
		routeIndex
	}
	lister interface {
		Routes(ctx context.Context, kind mesh.RouteKind, namespace string, each func(jsontext.Value) error) error
	}
)

// reconciler judges the routes of a namespace. The cache keeps too little of a route to judge
// it by, so that they are listed.
type reconciler struct {
	cache    cache
	lister   lister
	judge    creation.Judge
	enqueuer *enqueuer
	metric   *metric
	// reports is nil where none are written.
	reports *reports
}

// Add registers the audit with the manager. The cache must not yet have been started; the
// caller starts it, on every replica. The audit runs only on the leader.
func Add(mgr manager.Manager, cache *kube.Cache, options Options) error {
	lister, err := kube.NewReader(mgr.GetConfig(), nil)
	if err != nil {
		return err
	}
	if options.Registerer == nil {
		options.Registerer = ctrlmetrics.Registry
	}
	r := newReconciler(cache, lister, options.Judge)
	if options.Reports {
		if r.reports, err = addReports(mgr, cache, options.Log); err != nil {
			return err
		}
	}
	for _, collector := range []prometheus.Collector{r.metric, age{r.enqueuer}} {
		if err := options.Registerer.Register(collector); err != nil {
			return fmt.Errorf("metrics of stored findings: %w", err)
		}
	}
	cache.OnChange(r.enqueuer.changed)
	c, err := newController(mgr, "audit", r)
	if err == nil {
		err = c.Watch(whenSynced(cache, r.lead))
	}
	if err != nil {
		return fmt.Errorf("controller of the audit: %w", err)
	}
	return nil
}

// newController returns a controller of namespaces, which handles one at a time.
func newController(mgr manager.Manager, name string, r reconcile.TypedReconciler[string]) (controller.TypedController[string], error) {
	yes := true
	return controller.NewTyped(name, mgr, controller.TypedOptions[string]{
		Reconciler:              r,
		MaxConcurrentReconciles: 1,
		NeedLeaderElection:      &yes,
		UsePriorityQueue:        &yes,
		SkipNameValidation:      &yes, // the name is for logs and metrics, and tests run several managers
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[string](firstRetry, lastRetry),
	})
}

// whenSynced is a source that starts once the cache is complete.
func whenSynced(cache *kube.Cache, start func(context.Context, namespaceQueue)) source.TypedSource[string] {
	return source.TypedFunc[string](func(ctx context.Context, queue namespaceQueue) error {
		go func() {
			if cache.WaitForSync(ctx) == nil {
				start(ctx, queue)
			}
		}()
		return nil
	})
}

// lead audits until the context ends. Then all is forgotten: another replica may lead.
func (r *reconciler) lead(ctx context.Context, queue namespaceQueue) {
	r.enqueuer.start(queue.(priorityQueue)) //nolint:forcetypeassert // newController asks for one
	<-ctx.Done()
	r.enqueuer.stop()
	r.metric.stop()
}

func newReconciler(cache cache, lister lister, judge creation.Judge) *reconciler {
	return &reconciler{cache: cache, lister: lister, judge: judge, enqueuer: newEnqueuer(cache), metric: newMetric()}
}

// Reconcile judges all routes of the namespace.
func (r *reconciler) Reconcile(ctx context.Context, namespace string) (reconcile.Result, error) {
	began := time.Now()
	first := r.enqueuer.begin(namespace)
	seen, err := r.look(ctx, namespace)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("audit: %w", err)
	}
	took := time.Since(began)
	r.metric.replace(namespace, seen.counts)
	if r.reports != nil {
		r.reports.replace(namespace, seen.routes)
	}
	if all := r.enqueuer.done(namespace, seen, took); all {
		debug.FreeOSMemory() // what the start needed is several times what is kept
	} else if first {
		select { // requests are answered meanwhile
		case <-ctx.Done():
		case <-time.After(took):
		}
	}
	return reconcile.Result{}, nil
}

// seen is what was found in a namespace.
type seen struct {
	// counts are the findings, and foreign the reads of other namespaces by which routes were judged.
	counts  map[series]int
	foreign map[fingerprint]struct{}
	// routes are for the Report.
	routes []audited
}

// audited is a route and what was found on it.
type audited struct {
	kind     mesh.RouteKind
	metadata mesh.Metadata
	findings []finding
}

// finding is what a Report says of a finding.
type finding struct {
	rule, field, message string
	action, effect       validate.Action
}

// look judges the routes of a namespace.
func (r *reconciler) look(ctx context.Context, namespace string) (*seen, error) {
	s := &seen{counts: map[series]int{}, foreign: map[fingerprint]struct{}{}}
	var kinds []mesh.RouteKind
	for _, route := range r.cache.RoutesInNamespace(namespace) {
		if !slices.Contains(kinds, route.Kind) {
			kinds = append(kinds, route.Kind)
		}
	}
	slices.Sort(kinds)
	for _, kind := range kinds {
		err := r.lister.Routes(ctx, kind, namespace, func(text jsontext.Value) error {
			route, err := mesh.DecodeRoute(text)
			if err != nil {
				return nil //nolint:nilerr // it counts as absent, as in the cache
			}
			return r.audit(route, s)
		})
		if err != nil {
			return nil, fmt.Errorf("%ss: %w", kind, err)
		}
	}
	return s, nil
}

// audit judges the route by the cache, and adds what is found.
func (r *reconciler) audit(route *mesh.Route, s *seen) error {
	if !r.judge.Engine.Concerns(route) {
		return nil
	}
	world := &mesh.Recorder{Reader: r.cache}
	_, verdict, err := r.judge.Audit(route, world)
	if err != nil {
		return err
	}
	for i := range world.Reads {
		if read := &world.Reads[i]; home(read) != route.Metadata.Namespace {
			s.foreign[fingerprintOf(read)] = struct{}{}
		}
	}
	found := audited{kind: route.Kind, metadata: route.Metadata}
	for i := range verdict.Findings {
		f := &verdict.Findings[i]
		if f.Downgraded == validate.DowngradedByAnnotation {
			continue
		}
		s.counts[series{route.Kind, f.Rule, f.Action}]++
		if r.reports != nil {
			message := f.Message()
			message = strings.ToValidUTF8(message[:min(len(message), maxMessage)], "")
			found.findings = append(found.findings, finding{f.Rule, f.Field, message, f.Action, f.Effect})
		}
	}
	if r.reports != nil {
		s.routes = append(s.routes, found)
	}
	return nil
}
