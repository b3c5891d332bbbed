package check

import (
	"time"

	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/mutate"
)

// putBase stores a route as the cluster would have it. One with a uid comes from a
// cluster, where it may never have been mutated.
func (l *loader) putBase(object *manifest.Object) error {
	var plan mutate.Plan
	var err error
	if object.Route.Metadata.UID == "" {
		if plan, err = l.mutate(object.Route); err != nil {
			return err
		}
	}
	stored := *object
	if _, stored.JSON, stored.Route, err = l.stored(object, plan.Made()); err != nil {
		return err
	}
	return l.world.base.Put(&stored)
}

// putRoute makes the mutations and stores the route.
func (l *loader) putRoute(r *route) error {
	var err error
	if r.plan, err = l.mutate(r.Route); err != nil {
		return err
	}
	same, err := l.unchanged(r)
	if err != nil {
		return err
	}
	if same {
		r.plan = mutate.Plan{}
	}
	if r.patched, r.stored, r.mutated, err = l.stored(r.Object, r.plan.Made()); err != nil {
		return err
	}
	l.inherit(r)
	if created := &r.mutated.Metadata.CreationTimestamp; created.IsZero() {
		l.arrived++
		*created = time.Unix(l.arrival(r.Key)+l.arrived, 0).UTC()
	}
	object := &manifest.Object{Origin: r.Origin, Key: r.Key, Version: r.Version, JSON: r.JSON, Route: r.mutated} // without its text
	if err := l.world.files.Put(object); err != nil {
		return err
	}
	r.mutated = l.world.files.Get(r.Key).Route // with its age
	return nil
}

// unchanged reports whether the route, as it is written, leaves the spec of the one that was
// there before as it is: the webhook does not change such an update, so that what is dormant
// stays so.
func (l *loader) unchanged(r *route) (bool, error) {
	old := l.world.base.Get(r.Key)
	if old == nil || len(r.plan.Changes) == 0 {
		return false, nil
	}
	_, stored, _, err := l.stored(r.Object, nil)
	return err == nil && mesh.SameSpec(stored, old.JSON), err
}

// arrival is when the first new route of the input arrives, each other a second
// later: after all that is there already, and in the order of the input. One that the version before lacks arrives after all
// others.
func (l *loader) arrival(key manifest.Key) int64 {
	if l.earlier != nil && !l.earlier[key] {
		return mesh.LaterSyntheticAge
	}
	return 2 * mesh.FirstSyntheticAge
}

// inherit gives the route the age of the one that was there before, and a
// generation that is later unless the spec stays as it is.
func (l *loader) inherit(r *route) {
	if r.old = l.world.base.Get(r.Key); r.old == nil {
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
func (l *loader) mutate(route *mesh.Route) (mutate.Plan, error) {
	return l.creation.Plan(route, l.options.User, l.creation.Changes(route, l.world), l.world)
}
