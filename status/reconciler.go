package status

import (
	"context"
	"errors"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/mesh/live"
	"github.com/gammaguard/gammaguard/status/desired"
	"github.com/gammaguard/gammaguard/validate"
)

const (
	// timeSlice is how long one reconciliation of a Service may write before it lets
	// others run, and batchSize is the maximum number of routes that it writes.
	timeSlice = 250 * time.Millisecond
	batchSize = 32
)

// Reconciler maintains our entries in the status of routes while the process is the
// leader.
type Reconciler struct {
	cache         *live.Cache
	reader        *live.Reader
	engine        *validate.Engine
	settings      desired.Settings
	enqueuer      enqueuer
	writer        *writer
	eventRecorder eventRecorder
	metrics       *metrics
}

// Reconcile handles one Service: for all routes that are bound or marked there, it
// compares the entries about the Service with the desired ones, and writes those that
// differ.
func (r *Reconciler) Reconcile(ctx context.Context, service mesh.ServiceKey) (reconcile.Result, error) {
	r.metrics.reconciles.Inc()
	due, err := r.compare(service, desired.NewView(r.engine, r.cache, r.settings))
	if err != nil {
		return reconcile.Result{}, err
	}
	left, err := r.carryOut(ctx, service, due)
	if err != nil {
		return reconcile.Result{}, err
	}
	if left {
		priority := bulk
		return reconcile.Result{RequeueAfter: time.Millisecond, Priority: &priority}, nil
	}
	return reconcile.Result{}, nil
}

// compare returns the routes whose entries about the Service differ from the desired
// ones, according to the cache, and updates the gauges.
func (r *Reconciler) compare(service mesh.ServiceKey, view *desired.View) ([]live.RouteKey, error) {
	var (
		due  []live.RouteKey
		now  tally
		seen = map[live.RouteKey]bool{}
	)
	look := func(route *live.Route) error {
		if route == nil || seen[route.Key()] {
			return nil
		}
		seen[route.Key()] = true
		entries, err := view.EntriesOn(service, &route.AttachedRoute)
		if err != nil {
			return err
		}
		for i := range entries {
			now.add(route.Kind, &entries[i].Condition)
		}
		same, full := converged(route, service, entries)
		if !same {
			due = append(due, route.Key())
		}
		if full {
			now.addFull(route.Key())
		}
		return nil
	}
	for _, route := range r.cache.RoutesOn(service) {
		if err := look(route); err != nil {
			return nil, err
		}
	}
	for _, key := range r.enqueuer.marked.on(service) {
		if err := look(r.cache.Route(key)); err != nil {
			return nil, err
		}
	}
	for _, key := range r.metrics.replace(service, &now) {
		if route := r.cache.Route(key); route != nil {
			r.eventRecorder.recordFull(key, r.cache.RouteVersion(key.Kind), route.UID.String(), service)
		}
	}
	return due, nil
}

// carryOut writes the routes that are due, confirmed by live reads, until its
// timeSlice is over. It reports whether any are left. If one write fails, it still
// tries the others.
func (r *Reconciler) carryOut(ctx context.Context, service mesh.ServiceKey, due []live.RouteKey) (left bool, err error) {
	if len(due) == 0 {
		return false, nil
	}
	left = len(due) > batchSize
	due = due[:min(len(due), batchSize)]
	view, err := r.confirm(ctx, service, due)
	if err != nil {
		return left, err
	}
	end := time.Now().Add(timeSlice)
	var errs []error
	for i, key := range due {
		if i > 0 && time.Now().After(end) {
			left = true
			break
		}
		version := r.cache.RouteVersion(key.Kind)
		if version == "" {
			continue // no longer served: the routes are gone, and the cache will report it
		}
		done, err := r.writer.write(ctx, key, version, ourPart{service, key.Namespace}, view)
		if err != nil {
			errs = append(errs, err)
		}
		for _, t := range done.transitions {
			r.eventRecorder.recordTransition(key, version, done.uid, service, t)
		}
	}
	return left, errors.Join(errs...)
}

// confirm evaluates the Service again with live reads, so that no route is marked only
// because one watch is ahead of another.
func (r *Reconciler) confirm(ctx context.Context, service mesh.ServiceKey, due []live.RouteKey) (*desired.View, error) {
	reads := []mesh.Read{{Kind: mesh.ReadNamespace, Namespace: service.Namespace}}
	if service.Kind == mesh.ServiceKind || service.Kind == mesh.ServiceImportKind {
		reads = append(reads, mesh.Read{Kind: mesh.ReadService, Service: service})
	}
	for _, key := range due {
		reads = append(reads, mesh.Read{Kind: mesh.ReadNamespace, Namespace: key.Namespace})
	}
	deadline := time.Now().Add(requestTimeout)
	world := live.Confirm(ctx, func() time.Time { return deadline }, r.reader, r.cache)
	if _, err := world.Read(reads); err != nil {
		return nil, err
	}
	return desired.NewView(r.engine, world, r.settings), nil
}
