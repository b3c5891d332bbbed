package standing

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"unique"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/sync/errgroup"

	"github.com/gammaguard/gammaguard/internal/kube"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

// listFrom is the share of the routes of a kind in a namespace from which they are listed
// instead of read one by one.
const listFrom = 0.1

// readers is how many routes are read at a time.
const readers = 8

// read reads routes of one kind in a namespace, which are by name, judges them, and takes
// them out. The cache keeps too little of a route to judge it by.
func (a *auditor) read(ctx context.Context, namespace string, kind mesh.RouteKind, routes map[string]*kube.Route) error {
	if known := a.namespaces[namespace]; known == nil || float64(len(routes)) > listFrom*float64(known.of(kind)) {
		if err := a.list(ctx, namespace, kind, routes); err != nil {
			return err
		}
	} else if err := a.readEach(ctx, routes); err != nil {
		return err
	}
	for _, route := range routes { // they are gone
		a.drop(route.Key())
	}
	clear(routes)
	return nil
}

func (a *auditor) list(ctx context.Context, namespace string, kind mesh.RouteKind, routes map[string]*kube.Route) error {
	return a.reader.Routes(ctx, kind, namespace, func(text jsontext.Value) error {
		route, err := mesh.DecodeRoute(text)
		if err != nil {
			return nil //nolint:nilerr // it counts as absent, as in the cache
		}
		cached := routes[route.Metadata.Name]
		if cached == nil {
			return nil
		}
		delete(routes, route.Metadata.Name)
		return a.put(cached, route)
	})
}

// readEach reads the routes one by one, several at a time.
func (a *auditor) readEach(ctx context.Context, routes map[string]*kube.Route) error {
	var judging sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(readers)
	for _, cached := range slices.Collect(maps.Values(routes)) {
		group.Go(func() error {
			route, err := a.readOne(ctx, cached)
			if route == nil {
				return err
			}
			judging.Lock()
			defer judging.Unlock()
			delete(routes, cached.Name)
			return a.put(cached, route)
		})
	}
	return group.Wait()
}

// readOne reads a route, from the API server's cache unless that has it in another state.
// It returns nil for one that is gone or, as in the cache, cannot be read.
func (a *auditor) readOne(ctx context.Context, cached *kube.Route) (*mesh.Route, error) {
	text, err := a.reader.CachedRouteObject(ctx, cached.Kind, cached.Namespace, cached.Name)
	if err == nil {
		if route, err := mesh.DecodeRoute(text); err == nil && cached.SameState(route) {
			return route, nil
		}
	}
	text, err = a.reader.RouteObject(ctx, cached.Kind, cached.Namespace, cached.Name)
	switch {
	case errors.Is(err, mesh.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	}
	route, err := mesh.DecodeRoute(text)
	if err != nil {
		return nil, nil //nolint:nilerr // it counts as absent
	}
	return route, nil
}

// put judges the route by the cache, and keeps what is found.
func (a *auditor) put(cached *kube.Route, route *mesh.Route) error {
	now := audited{route: cached}
	world := &mesh.Recorder{Reader: a.cache}
	if a.judge.Concerns(route) {
		_, verdict, err := a.judge.Audit(route, world)
		if err != nil {
			return err
		}
		for i := range verdict.Findings {
			f := &verdict.Findings[len(verdict.Findings)-1-i] // the first is the head of the chain
			if f.Downgraded != validate.DowngradedByAnnotation {
				now.found = unique.Make(a.kept(f, now.found))
			}
		}
	}
	var foreign reads
	now.reads, foreign = collect(world.Reads, cached.Namespace)
	here := a.namespaces[cached.Namespace]
	if here == nil {
		here = &routes{}
		a.namespaces[cached.Namespace] = here
	}
	here.foreign |= foreign
	before := here.put(now)
	a.metric.replace(cached.Namespace, &before, &now)
	a.reports.note(cached.Namespace, &before, &now)
	return nil
}

// kept returns what is kept of a finding, before the next one.
func (a *auditor) kept(f *validate.Finding, next unique.Handle[finding]) finding {
	kept := finding{rule: f.Rule, action: f.Action, next: next}
	if a.reports != nil {
		kept.effect, kept.field, kept.message = f.Effect, f.Field, strings.ToValidUTF8(f.Message()[:min(len(f.Message()), maxMessage)], "")
	}
	return kept
}

// drop forgets a route that is gone.
func (a *auditor) drop(key kube.RouteKey) {
	routes := a.namespaces[key.Namespace]
	if routes == nil {
		return
	}
	before := routes.drop(key)
	a.metric.replace(key.Namespace, &before, &audited{})
	a.reports.note(key.Namespace, &before, &audited{})
	if len(routes.sorted) == 0 {
		delete(a.namespaces, key.Namespace)
	}
}
