package standing

import (
	"context"
	"fmt"
	"iter"
	"runtime/debug"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/gammaguard/gammaguard/internal/creation"
	"github.com/gammaguard/gammaguard/internal/kube"
	"github.com/gammaguard/gammaguard/mesh"
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

const (
	// calm is for how long changes are collected before routes are judged.
	calm = 100 * time.Millisecond
	// retry is how long the auditor waits after a read that failed.
	retry = time.Second
)

// cache is what is used of a kube.Cache, and reader of a kube.Reader.
type (
	cache interface {
		mesh.Reader
		WaitForSync(ctx context.Context) error
		Route(key kube.RouteKey) *kube.Route
		Routes() iter.Seq[*kube.Route]
		RoutesInNamespace(namespace string) []*kube.Route
	}
	reader interface {
		Routes(ctx context.Context, kind mesh.RouteKind, namespace string, each func(jsontext.Value) error) error
		RouteObject(ctx context.Context, kind mesh.RouteKind, namespace, name string) ([]byte, error)
		CachedRouteObject(ctx context.Context, kind mesh.RouteKind, namespace, name string) ([]byte, error)
	}
)

// auditor judges the stored routes. All but the inbox and the metric is for one goroutine.
type auditor struct {
	cache  cache
	reader reader
	judge  creation.Judge
	log    logr.Logger
	inbox  *inbox
	metric *metric
	// reports is nil where none are written.
	reports *reports

	namespaces map[string]*routes
	due        due
}

// Add registers the audit with the manager. The cache must not yet have been started; the
// caller starts it, on every replica. The audit runs only on the leader.
func Add(mgr manager.Manager, cache *kube.Cache, options Options) error {
	reader, err := kube.NewReader(mgr.GetConfig(), nil)
	if err != nil {
		return err
	}
	if options.Registerer == nil {
		options.Registerer = ctrlmetrics.Registry
	}
	a := newAuditor(cache, reader, options)
	if options.Reports {
		if a.reports, err = newReports(mgr.GetConfig(), cache.RouteVersion, options.Log); err != nil {
			return err
		}
	}
	for _, collector := range []prometheus.Collector{a.metric, age{a.inbox}} {
		if err := options.Registerer.Register(collector); err != nil {
			return fmt.Errorf("metrics of stored findings: %w", err)
		}
	}
	cache.OnChange(a.inbox.changed)
	return mgr.Add(a)
}

func newAuditor(cache cache, reader reader, options Options) *auditor {
	return &auditor{
		cache: cache, reader: reader, judge: options.Judge, log: options.Log,
		inbox: newInbox(), metric: newMetric(),
	}
}

// NeedLeaderElection has only the leader audit.
func (a *auditor) NeedLeaderElection() bool { return true }

// Start audits until the context ends. It never fails.
func (a *auditor) Start(ctx context.Context) error {
	if a.cache.WaitForSync(ctx) != nil {
		return nil
	}
	a.begin()
	defer a.end()
	for first := true; ctx.Err() == nil; {
		a.dispatch(a.inbox.take())
		if len(a.due.order) > 0 {
			began := time.Now()
			a.audit(ctx)
			if first {
				pause(ctx, time.Since(began)) // requests are answered meanwhile
			}
			continue
		}
		if first {
			first = false
			debug.FreeOSMemory() // what the start needed is several times what is kept
		}
		a.inbox.judged()
		if a.reports.write(ctx, a.namespaces) {
			continue
		}
		select {
		case <-ctx.Done():
		case <-a.reports.wait():
		case <-a.inbox.wake:
			pause(ctx, calm)
		}
	}
	return nil
}

// begin has every route judged.
func (a *auditor) begin() {
	a.namespaces, a.due = map[string]*routes{}, due{routes: map[string]map[kube.RouteKey]struct{}{}}
	a.reports.begin()
	a.inbox.open()
	for route := range a.cache.Routes() {
		a.due.addAll(route.Namespace)
	}
}

// end forgets all: another replica may lead.
func (a *auditor) end() {
	a.inbox.close()
	a.metric.reset()
	a.namespaces = nil
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// dispatch finds the routes that must be judged again.
func (a *auditor) dispatch(c *changes) {
	for key, services := range c.routes {
		if !a.unchanged(key) {
			a.due.add(key)
			c.moved(key.Namespace, services)
		}
	}
	for namespace := range c.namespaces {
		a.due.addAll(namespace)
	}
	if len(c.reads) == 0 {
		return
	}
	type change struct {
		bits reads
		home string
	}
	all := make([]change, 0, len(c.reads))
	for read := range c.reads {
		all = append(all, change{bits(read), home(&read)})
	}
	for name, routes := range a.namespaces {
		if !slices.ContainsFunc(all, func(c change) bool { return c.home == name || routes.foreign.has(c.bits) }) {
			continue
		}
		for i := range routes.sorted {
			audited := &routes.sorted[i]
			if slices.ContainsFunc(all, func(c change) bool { return audited.reads.has(c.bits) }) {
				a.due.add(audited.route.Key())
			}
		}
	}
}

// unchanged reports whether the route is as it was judged: only its status has changed. It
// takes note of the route as it is now.
func (a *auditor) unchanged(key kube.RouteKey) bool {
	routes, now := a.namespaces[key.Namespace], a.cache.Route(key)
	if routes == nil || now == nil {
		return false
	}
	i, found := routes.find(key)
	if !found || !routes.sorted[i].same(now) {
		return false
	}
	routes.sorted[i].route = now
	return true
}

// keys returns all routes of the namespace, those included that are gone.
func (a *auditor) keys(namespace string) map[kube.RouteKey]struct{} {
	keys := map[kube.RouteKey]struct{}{}
	for _, route := range a.cache.RoutesInNamespace(namespace) {
		keys[route.Key()] = struct{}{}
	}
	if routes := a.namespaces[namespace]; routes != nil {
		for i := range routes.sorted {
			keys[routes.sorted[i].route.Key()] = struct{}{}
		}
	}
	return keys
}

// audit judges the routes of one namespace that are due. What fails is tried again.
func (a *auditor) audit(ctx context.Context) {
	namespace, keys := a.due.next()
	if keys == nil {
		keys = a.keys(namespace)
	}
	byKind := map[mesh.RouteKind]map[string]*kube.Route{}
	for key := range keys {
		route := a.cache.Route(key)
		if route == nil {
			a.drop(key)
			continue
		}
		if byKind[key.Kind] == nil {
			byKind[key.Kind] = map[string]*kube.Route{}
		}
		byKind[key.Kind][key.Name] = route
	}
	for kind, routes := range byKind {
		if err := a.read(ctx, namespace, kind, routes); err != nil && ctx.Err() == nil {
			a.log.Error(err, "Failed to audit routes; they are tried again", "namespace", namespace, "kind", kind, "routes", len(routes))
			for _, route := range routes {
				a.due.add(route.Key())
			}
			pause(ctx, retry)
		}
	}
	if routes := a.namespaces[namespace]; routes != nil {
		routes.trim()
	}
}
