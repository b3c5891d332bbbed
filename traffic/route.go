package traffic

import (
	"fmt"

	"github.com/gammaguard/gammaguard/mesh"
)

// Routes are the routes that there are, of every kind, in any order.
type Routes []Route

// Route is a route of any kind but those of other groups.
type Route struct {
	// AttachedRoute says whose it is, and its age by Created: zero, or a synthetic one, where it is not known.
	*mesh.AttachedRoute
	Spec *mesh.RouteSpec
}

// Add adds a route as the API server stores it. Whose it is, and its age, are as
// given.
func (r *Routes) Add(whose *mesh.AttachedRoute, data []byte) error {
	if !mesh.IsRouteKind(string(whose.Kind)) {
		return fmt.Errorf("%s is not a kind of route", whose.Kind)
	}
	route, err := mesh.DecodeRoute(data)
	if err != nil {
		return fmt.Errorf("%s: %w", whose, err)
	}
	*r = append(*r, Route{whose, &route.Spec})
	return nil
}

// route is a route of any kind, with the API's defaults filled in.
type route struct {
	mesh.AttachedRoute // Created is its mesh.Age
	spec               *mesh.RouteSpec
	rules              []rule
}

// rule is a rule of a route, with its matches: at least one.
type rule struct {
	name     string
	matches  []match
	effects  Effects
	backends []backendRef
	reading
}

// backendRef is a backendRef of any kind of route.
type backendRef struct {
	ref     mesh.BackendRef
	weight  int64
	effects Effects
	// last is the effects of the last of several filters; nil where the mesh never takes it alone.
	last *Effects
	// filtered: it has filters.
	filtered bool
	// fails says why the mesh answers its requests with an error; empty if it does not.
	fails string
}

// lower brings the routes of all kinds into one form.
func (r Routes) lower(profile *mesh.Profile) []*route {
	routes := make([]*route, len(r))
	for i := range r {
		routes[i] = r[i].lower(profile)
	}
	return routes
}

func (r *Route) lower(profile *mesh.Profile) *route {
	in := mesh.Route{Kind: r.Kind, Spec: *r.Spec}
	if in.Kind == mesh.HTTPRoute && len(in.Spec.Rules) == 0 { // the API's default: one rule for every request
		in.Spec.Rules = make([]mesh.RouteRule, 1)
	}
	out := &route{
		AttachedRoute: mesh.AttachedRoute{Kind: r.Kind, Namespace: r.Namespace, Name: r.Name, Created: mesh.Age(r.Created), Parents: in.Spec.ParentRefs, Dropped: in.DroppedBy(profile)},
		spec:          r.Spec,
		rules:         make([]rule, len(in.Spec.Rules)),
	}
	for i := range in.Spec.Rules {
		from, to := &in.Spec.Rules[i], &out.rules[i]
		to.name, to.reading = from.Name, reading{profile: profile, kind: in.Kind}
		to.effects = lowerFilters(to.filters(from.Filters, mesh.RuleFilter, &to.fails))
		to.effects.addSettings(to.settings(from))
		for _, conditions := range in.Conditions(i, profile) {
			m := newMatch(&in, i, conditions, profile)
			m.written, m.slashed = to.written(from, len(to.matches), conditions), slashed(from, len(to.matches))
			to.matches = append(to.matches, m)
		}
		for j := range from.BackendRefs {
			ref := &from.BackendRefs[j]
			backend := backendRef{ref: *ref, weight: int64(ref.Share())}
			filters := to.filters(ref.Filters, mesh.BackendFilter, &backend.fails)
			backend.filtered, backend.effects = len(filters) > 0, lowerFilters(filters)
			if len(filters) > 1 && profile.ReadsBackends().ByName {
				last := lowerFilters(filters[len(filters)-1:])
				backend.last = &last
			}
			to.backends = append(to.backends, backend)
		}
	}
	return out
}
