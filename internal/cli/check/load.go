package check

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/mutate"
)

// load reads all input, makes the mutations, and finds what the API server refuses. What
// bears on routes is there before the first of them is looked at.
func load(ctx context.Context, options *Options) (*checker, error) {
	c, err := newChecker(options)
	if err != nil {
		return nil, err
	}
	options.builder.Use(readable{options})
	if c.definitions, err = c.channel(ctx); err != nil {
		return nil, err
	}
	c.files = c.input.read(options.Files)
	for _, folder := range options.Kustomizations {
		files, err := c.kustomize(ctx, folder)
		if err != nil {
			return nil, err
		}
		c.files = append(c.files, files...)
	}
	for i := range options.Charts {
		files, err := c.chart(ctx, &options.Charts[i])
		if err != nil {
			return nil, &notBuilt{error: err, broken: brokenChart(err)}
		}
		c.files = append(c.files, files...)
	}
	c.takes()
	before, err := c.base()
	if err := errors.Join(err, c.input.over()); err != nil {
		return nil, err
	}
	for _, f := range c.files {
		for _, document := range c.put(f, c.world.files) {
			r := &route{document: document, file: f}
			if err := r.DecodeRoute(); err != nil {
				r.undecodable = broken(&document, err)
			}
			c.routes = append(c.routes, r)
		}
		for _, document := range f.documents {
			c.declare(f, &document)
		}
		f.documents = nil // each route is let go once it is judged
	}
	for _, object := range before {
		if err := c.putBase(object); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(c.routes, func(a, b *route) int { return cmp.Compare(c.later(a), c.later(b)) })
	for _, r := range c.routes {
		if r.undecodable != nil {
			continue
		}
		if err := c.putRoute(r); err != nil {
			return nil, err
		}
	}
	if err := c.write(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// declare notes where an object stands, or that it stands somewhere already. Objects
// that bear on no route do not matter, and names that the API server generates differ.
func (c *checker) declare(f *file, d *document) {
	if strings.HasSuffix(d.Key.Name, "*") || !d.IsRoute() && c.world.files.Get(d.Key) == nil {
		return
	}
	place := report.Place{File: f.name, Line: d.line("")}
	if first, again := c.declared[d.Key]; again {
		c.duplicates = append(c.duplicates, report.Duplicate{Place: place, Object: d.Key.String(), First: first})
	} else {
		c.declared[d.Key] = place
	}
}

// later is 0 for a route that was there before the others, and 1 for these.
func (c *checker) later(r *route) int {
	if c.options.earlier[r.Key] {
		return 0
	}
	return 1
}

// base reads what is there already, and returns the routes. Those of a cluster are
// older than those in files.
func (c *checker) base() (routes []*manifest.Object, err error) {
	if c.options.Cluster != nil {
		routes, err = c.options.Cluster.Routes(c.routeNamespaces()...)
		if err != nil && !errors.Is(err, mesh.ErrUnknown) {
			return nil, err
		}
	}
	for _, f := range c.input.read(c.options.Base) {
		for _, document := range c.put(f, c.world.base) {
			if err := document.DecodeRoute(); err != nil {
				c.broken = append(c.broken, err)
				continue
			}
			routes = append(routes, document.Object)
		}
	}
	return routes, nil
}

// routeNamespaces returns the namespaces of the input's routes.
func (c *checker) routeNamespaces() []string {
	seen := map[string]bool{}
	for _, f := range c.files {
		for _, document := range f.documents {
			if document.IsRoute() {
				seen[document.Key.Namespace] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// put stores what the file holds besides routes, and returns these, which are not yet
// decoded.
func (c *checker) put(f *file, set *manifest.Set) (routes []document) {
	c.broken = append(c.broken, f.broken...)
	for _, document := range f.documents {
		if document.IsRoute() {
			routes = append(routes, document)
			continue
		}
		err := set.Put(document.Object)
		if err == nil && definesRoutes(document.Key) {
			if set == c.world.files {
				err = c.define(&document, f.name)
			} else { // what is there already
				err = c.definitions.PutJSON(document.JSON)
			}
		}
		if err != nil {
			c.broken = append(c.broken, broken(&document, err))
		}
	}
	return routes
}

// putBase stores a route as the cluster would have it. One with a uid comes from a
// cluster, where it may never have been mutated.
func (c *checker) putBase(object *manifest.Object) error {
	var plan mutate.Plan
	var err error
	if object.Route.Metadata.UID == "" {
		if plan, err = c.mutate(object.Route); err != nil {
			return err
		}
	}
	stored := *object
	if _, stored.JSON, stored.Route, err = c.stored(object, plan.Made()); err != nil {
		return err
	}
	return c.world.base.Put(&stored)
}

// putRoute makes the mutations and stores the route.
func (c *checker) putRoute(r *route) error {
	var err error
	if r.plan, err = c.mutate(r.Route); err != nil {
		return err
	}
	same, err := c.unchanged(r)
	if err != nil {
		return err
	}
	if same {
		r.plan = mutate.Plan{}
	}
	if r.patched, r.stored, r.mutated, err = c.stored(r.Object, r.plan.Made()); err != nil {
		return err
	}
	c.inherit(r)
	if created := &r.mutated.Metadata.CreationTimestamp; created.IsZero() {
		c.arrived++
		*created = arrival.Add(time.Duration(c.arrived) * time.Second)
	}
	object := &manifest.Object{Origin: r.Origin, Key: r.Key, Version: r.Version, JSON: r.JSON, Route: r.mutated} // without its text
	if err := c.world.files.Put(object); err != nil {
		return err
	}
	r.mutated = c.world.files.Get(r.Key).Route // with its age
	return nil
}

// unchanged reports whether the route, as it is written, leaves the spec of the one that was
// there before as it is: the webhook does not change such an update, so that what is dormant
// stays so.
func (c *checker) unchanged(r *route) (bool, error) {
	old := c.world.base.Get(r.Key)
	if old == nil || len(r.plan.Changes) == 0 {
		return false, nil
	}
	_, stored, _, err := c.stored(r.Object, nil)
	return err == nil && mesh.SameSpec(stored, old.JSON), err
}

// arrival is when the first new route of the input arrives, each other a second
// later: after all that is there already, and in the order of the input.
var arrival = time.Unix(2*mesh.Undated, 0).UTC()

// inherit gives the route the age of the one that was there before, and a
// generation that is later unless the spec stays as it is.
func (c *checker) inherit(r *route) {
	if r.old = c.world.base.Get(r.Key); r.old == nil {
		return
	}
	meta, old := &r.mutated.Metadata, &r.old.Route.Metadata
	if meta.CreationTimestamp.IsZero() {
		meta.CreationTimestamp = old.CreationTimestamp
	}
	if meta.Generation == 0 {
		meta.Generation = old.Generation
		if !mesh.SameSpec(r.stored, r.old.JSON) {
			meta.Generation++
		}
	}
}

// mutate returns the changes to the route by the mutations that are on, and whether the
// webhook makes them.
func (c *checker) mutate(route *mesh.Route) (mutate.Plan, error) {
	return c.creation.Plan(route, c.options.User, c.creation.Changes(route, c.world), c.world)
}
