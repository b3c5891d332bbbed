package check

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"

	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/traffic"
	"github.com/gammaguard/gammaguard/validate"
)

// effective yields the routes that the API server stores: those of the input, and of what was there before it. One that it refuses, or
// may refuse, is left out, so that the one that was there before it stays.
func (l *loaded) effective() iter.Seq2[manifest.Key, *mesh.Route] {
	return func(yield func(manifest.Key, *mesh.Route) bool) {
		seen := map[manifest.Key]bool{}
		for _, r := range slices.Backward(l.routes) { // of a route that is there twice, the last is applied
			if !seen[r.Key] && len(r.refusals) == 0 {
				if seen[r.Key] = true; !yield(r.Key, r.mutated) {
					return
				}
			}
		}
		for _, object := range l.world.base.Routes() {
			if !seen[object.Key] && !yield(object.Key, object.Route) {
				return
			}
		}
	}
}

// keep takes the routes of the version before for what was there before those that the API server refuses, or may refuse. Where what
// Flagger writes is not known of one version, it is taken to be as in the other.
func (l *loaded) keep(before *loaded) error {
	stored := maps.Collect(before.effective())
	if err := errors.Join(l.assume(l.unexpanded, stored), before.assume(before.unexpanded, maps.Collect(l.effective()))); err != nil {
		return err
	}
	for _, r := range l.routes {
		was := stored[r.Key]
		if len(r.refusals) == 0 || was == nil || l.world.base.Get(r.Key) != nil {
			continue
		}
		route := *was
		if r.mutated != nil { // ages are compared with those of this version
			route.Metadata.CreationTimestamp = r.mutated.Metadata.CreationTimestamp
		}
		if err := l.world.base.Put(&manifest.Object{Origin: r.Origin, Key: r.Key, Version: r.Version, Route: &route}); err != nil {
			return err
		}
	}
	return nil
}

// assume takes routes as they are stored elsewhere for what was there before, where nothing was.
func (l *loaded) assume(keys []manifest.Key, stored map[manifest.Key]*mesh.Route) error {
	for _, key := range keys {
		if was := stored[key]; was != nil && l.world.base.Get(key) == nil {
			if err := l.world.base.Put(&manifest.Object{Key: key, Version: "v1", Route: was}); err != nil {
				return err
			}
		}
	}
	return nil
}

// edited returns the routes, by their names, that are written with another spec than in the version before, which the API server stores then. What a
// mutation no longer sets is no edit.
func (l *loaded) edited(before *loaded) map[string]bool {
	stored, edited := maps.Collect(before.effective()), map[string]bool{}
	written, was := l.written(), before.written()
	for key, route := range l.effective() {
		same := written[key] != nil && was[key] != nil && reflect.DeepEqual(written[key].Spec, was[key].Spec)
		if was := stored[key]; was != nil && !same && !reflect.DeepEqual(was.Spec, route.Spec) {
			edited[key.String()] = true
		}
	}
	return edited
}

// written returns the routes of the input before any mutation.
func (l *loaded) written() map[manifest.Key]*mesh.Route {
	all := map[manifest.Key]*mesh.Route{}
	for _, r := range l.routes {
		all[r.Key] = r.Route
	}
	return all
}

// table returns what requests meet by the routes that the API server stores.
func (l *loaded) table(reader mesh.Reader) *traffic.Table {
	var routes traffic.Routes
	for key, route := range l.effective() {
		whose := &mesh.AttachedRoute{Kind: route.Kind, Namespace: key.Namespace, Name: key.Name}
		if created := route.Metadata.CreationTimestamp; !created.IsZero() {
			whose.Created = created.Unix()
		}
		routes = append(routes, traffic.Route{AttachedRoute: whose, Spec: &route.Spec})
	}
	made := traffic.Options{Engine: l.engine}
	if cluster := l.options.Cluster; cluster != nil {
		made.Live, made.Unread = true, cluster.Unlisted
		made.Stored = func(route *mesh.AttachedRoute) bool { return l.world.base.Get(routeKey(route)) != nil }
	}
	return traffic.New(reader, routes, made)
}

// rejected names the routes of the input that the API server refuses, or may refuse.
func (l *loaded) rejected() (names []string) {
	for _, r := range l.routes {
		if len(r.refusals) > 0 {
			names = append(names, (&mesh.AttachedRoute{Kind: mesh.RouteKind(r.Key.Kind), Namespace: r.Key.Namespace, Name: r.Key.Name}).String())
		}
	}
	return names
}

// leftOut says which routes have no effect because the API server refuses them, and what bears on that. Of what
// the version after, which may be nil, corrects or lacks, it says that it was so before.
func (l *loaded) leftOut(after *loaded) []string {
	var notes []string
	for _, n := range l.notices {
		notes = append(notes, n.Path+": "+n.Message)
	}
	slips := map[manifest.Key]string{}
	if after != nil {
		for _, r := range after.routes {
			slips[r.Key], _ = after.slip(r)
		}
	}
	for _, r := range l.routes {
		what, todo := l.slip(r)
		switch {
		case what == "" || after != nil && slips[r.Key] != "": // it is said of the version after
		case after != nil:
			notes = append(notes, "before, "+what)
		default:
			notes = append(notes, what+": "+todo)
		}
	}
	return notes
}

// leftOutOn says which routes of the input that have the Service as a parent, or cannot be read, are left out.
func (l *loaded) leftOutOn(key mesh.ServiceKey) (notes []string) {
	for _, r := range l.routes {
		on := func(ref mesh.ParentRef) bool { return ref.ServiceKind() != "" && ref.Service(r.Key.Namespace) == key }
		if len(r.refusals) > 0 && (r.Route == nil || slices.ContainsFunc(r.Route.Spec.ParentRefs, on)) {
			what, todo := l.slip(r)
			notes = append(notes, what+": "+todo)
		}
	}
	return notes
}

// slip says what of a route has no effect as it is written, and what to do; empty for nothing.
func (l *loaded) slip(r *route) (what, todo string) {
	switch {
	case len(r.refusals) > 0:
		return l.withoutRefused(r)
	case r.undecodable == nil && r.variables():
		return fmt.Sprintf("%s %s/%s refers to a name with a variable, which is taken as it is written", r.Key.Kind, r.Key.Namespace, r.Key.Name), substituteFirst
	}
	return "", ""
}

// substituteFirst is what to do about a variable.
const substituteFirst = "substitute the variable first"

// homeless names the namespaces that do not exist, since the input is complete, and whose routes so lack a grant.
func (l *loaded) homeless() (notes []string) {
	if !l.options.Complete {
		return nil
	}
	grants := &l.engine.Policy().Grants
	seen := map[string]bool{}
	for key, route := range l.effective() {
		_, err := mesh.FindNamespace(l.sees, key.Namespace)
		if errors.Is(err, mesh.ErrNotFound) && !seen[key.Namespace] && len(grants.Missing(nil, route.Kind, grants.Needed(key.Namespace, route.Spec.ParentRefs))) > 0 {
			seen[key.Namespace] = true
			notes = append(notes, "namespace "+key.Namespace+" is not in the input: by --complete it does not exist, and its routes lack a grant, so they do not apply")
		}
	}
	return notes
}

// withoutRefused says why what a route of the input says does not count, what counts in its place, and what to do.
func (l *loaded) withoutRefused(r *route) (what, todo string) {
	const details = "run gammaguard check for details"
	instead, stays, version := "is left out", "is left out", "it"
	if l.world.base.Get(r.Key) != nil {
		instead, stays, version = "is taken as it was", "stays as it was", "its new version"
	}
	rejects := "the API server rejects " + version
	name := fmt.Sprintf("%s %s/%s ", r.Key.Kind, r.Key.Namespace, r.Key.Name)
	switch {
	case slices.ContainsFunc(r.refusals, func(f refusal) bool { return r.variable(f.Field) }):
		return name + instead + ", because " + rejects + " as it is written", substituteFirst
	case !r.refused():
		object := report.UnknownOf(&validate.Finding{Reference: *r.refusals[0].missing}, "", "").Lacks
		return name + instead + ", because whether " + rejects + " depends on " + object + ", which is not in the input", details
	}
	return name + stays + ", because " + rejects, details
}
