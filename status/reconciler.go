package status

import (
	"context"
	"errors"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/gammaguard/gammaguard/internal/kube"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/status/desired"
	"github.com/gammaguard/gammaguard/validate"
)

const (
	// timeSlice is how long one reconciliation of a Service may write before it lets
	// others run, and batchSize is the maximum number of routes that it writes.
	timeSlice = 250 * time.Millisecond
	batchSize = 32
)

// reconciler maintains our entries in the status of routes while the process is the
// leader.
type reconciler struct {
	cache         *kube.Cache
	reader        *kube.Reader
	engine        *validate.Engine
	settings      desired.Settings
	enqueuer      enqueuer
	writer        *writer
	eventRecorder eventRecorder
	metrics       *metrics
	stopping      func() bool
}

// Reconcile handles one Service: for all routes that are bound or marked there, it
// compares the entries about the Service with the desired ones, and writes those that
// differ.
func (r *reconciler) Reconcile(ctx context.Context, service mesh.ServiceKey) (reconcile.Result, error) {
	r.metrics.reconciles.Inc()
	if r.stopping() {
		return reconcile.Result{}, nil // the next leader looks at all Services
	}
	found, err := r.compare(service, desired.NewView(r.engine, r.cache, r.settings))
	if err != nil {
		return reconcile.Result{}, err
	}
	if err := r.carryOut(ctx, service, found); err != nil || found.again == 0 {
		return reconcile.Result{}, err
	}
	priority := bulk
	return reconcile.Result{RequeueAfter: found.again, Priority: &priority}, nil
}

// findings are what is to be done about a Service.
type findings struct {
	// due are the routes whose entries about the Service differ from the desired ones.
	due []kube.RouteKey
	// again is when the Service must be looked at even if nothing changes; zero is never.
	again time.Duration
}

// after has the Service looked at again, after a pause that is not zero.
func (f *findings) after(pause time.Duration) {
	if pause > 0 && (f.again == 0 || pause < f.again) {
		f.again = pause
	}
}

// compare looks at the routes on the Service, according to the cache, and updates the
// gauges.
func (r *reconciler) compare(service mesh.ServiceKey, view *desired.View) (*findings, error) {
	var (
		found  findings
		now    tally
		routes = r.routesOn(service)
	)
	for _, route := range routes {
		wanted, err := view.EntriesOn(service, &route.AttachedRoute)
		if err != nil {
			return nil, err
		}
		for i := range wanted {
			now.add(route.Kind, &wanted[i].Condition)
		}
		entries := wanted
		if wait := r.writer.damper.yielding(kindOn{route.Kind, service}); wait > 0 {
			if entries = desired.AnsweredOnly(wanted, route.ForeignParents); len(entries) < len(wanted) {
				found.after(wait)
			}
		}
		same, full := converged(route, ourPart{service, route.Namespace, r.engine.Policy().Mesh}, entries)
		if !same {
			pause := r.writer.damper.pause(portion{route.Key(), service}, r.writer.damper.fingerprint(route.UID.String(), wanted))
			if found.after(pause); pause == 0 {
				found.due = append(found.due, route.Key())
			}
		}
		if full {
			now.addFull(route.Key())
		}
	}
	for _, key := range r.metrics.replace(service, &now) {
		if route := r.cache.Route(key); route != nil {
			r.eventRecorder.recordFull(key, r.cache.RouteVersion(key.Kind), route.UID.String(), service)
		}
	}
	return &found, nil
}

// routesOn returns the routes that are bound or marked on the Service, each once. Where
// another controller has taken an entry of ours, those of its kind yield.
func (r *reconciler) routesOn(service mesh.ServiceKey) []*kube.Route {
	routes := r.cache.RoutesOn(service)
	seen := make(map[kube.RouteKey]bool, len(routes))
	for _, route := range routes {
		seen[route.Key()] = true
	}
	for _, key := range r.enqueuer.marked.on(service) {
		if route := r.cache.Route(key); route != nil && !seen[key] {
			routes = append(routes, route)
		}
	}
	for _, route := range routes {
		if takenOn(ourPart{service, route.Namespace, r.engine.Policy().Mesh}, route) {
			r.writer.damper.yield(kindOn{route.Kind, service})
		}
	}
	return routes
}

// takenOn reports whether another controller has taken an entry of the part of the route's
// status.
func takenOn(part ourPart, route *kube.Route) bool {
	return slices.ContainsFunc(route.Entries, func(entry kube.Entry) bool {
		return part.taken(&entry, route.Parents, route.ForeignParents)
	})
}

// carryOut writes the routes that are due, confirmed by live reads, until its
// timeSlice is over; if any are left, the Service is looked at again at once. If one
// write fails, it still tries the others.
func (r *reconciler) carryOut(ctx context.Context, service mesh.ServiceKey, found *findings) error {
	due := found.due
	if len(due) == 0 {
		return nil
	}
	const atOnce = time.Millisecond
	if len(due) > batchSize {
		due = due[:batchSize]
		found.after(atOnce)
	}
	view, err := r.confirm(ctx, service, due)
	if err != nil {
		return err
	}
	end := time.Now().Add(timeSlice)
	var errs []error
	for i, key := range due {
		if i > 0 && time.Now().After(end) {
			found.after(atOnce)
			break
		}
		version := r.cache.RouteVersion(key.Kind)
		if version == "" {
			found.after(unservedPause) // not served: the routes go from the cache, or a version comes
			continue
		}
		done, err := r.writer.write(ctx, key, version, ourPart{service, key.Namespace, r.engine.Policy().Mesh}, view)
		if err != nil {
			errs = append(errs, err)
		}
		found.after(done.pause)
		if done.contested {
			r.eventRecorder.recordContested(key, version, done.uid, service)
		}
		for _, t := range done.transitions {
			r.eventRecorder.recordTransition(key, version, done.uid, service, t)
		}
	}
	return errors.Join(errs...)
}

// confirm evaluates the Service again with live reads, so that no route is marked only
// because one watch is ahead of another.
func (r *reconciler) confirm(ctx context.Context, service mesh.ServiceKey, due []kube.RouteKey) (*desired.View, error) {
	reads := []mesh.Read{{Kind: mesh.ReadNamespace, Namespace: service.Namespace}}
	if service.Kind == mesh.ServiceKind || service.Kind == mesh.ServiceImportKind {
		reads = append(reads, mesh.Read{Kind: mesh.ReadService, Service: service})
	}
	for _, key := range due {
		reads = append(reads, mesh.Read{Kind: mesh.ReadNamespace, Namespace: key.Namespace})
		if route := r.cache.Route(key); route != nil {
			if f, err := validate.FindExternalNameBackend(r.cache, &route.AttachedRoute); err == nil && f != nil {
				reads = append(reads, mesh.Read{Kind: mesh.ReadService, Service: f.Reference.Service})
			}
		}
	}
	deadline := time.Now().Add(requestTimeout)
	world := kube.Confirm(ctx, func() time.Time { return deadline }, r.reader, r.cache)
	if _, err := world.Read(reads); err != nil {
		return nil, err
	}
	return desired.NewView(r.engine, world, r.settings), nil
}
