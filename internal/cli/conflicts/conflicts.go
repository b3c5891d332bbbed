// Package conflicts lists who holds each Service port in each scope, which routes
// are bound there, and why one kind wins.
package conflicts

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gammaguard/gammaguard/internal/cli/bindings"
	"github.com/gammaguard/gammaguard/internal/cli/check"
	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
	"github.com/gammaguard/gammaguard/validate/rules"
)

// Kind is the kind of the JSON and YAML forms.
const Kind = "PortBindingList"

// List is every bound port, by Service, port and scope.
type List struct {
	report.TypeMeta
	Items []Binding `json:"items"`
	// Unknown are the Services that are not known.
	Unknown []mesh.ServiceKey `json:"-"`
}

// Binding is one port of a Service in one scope, and the routes bound to it.
type Binding struct {
	Service  Service       `json:"service"`
	Port     int32         `json:"port"`
	PortName string        `json:"portName,omitempty"`
	Protocol mesh.Protocol `json:"protocol"`
	// Scope is "producer" or "consumer of NAMESPACE".
	Scope string `json:"scope"`
	// Winner is the kind of route that is applied; empty if no route applies.
	Winner mesh.RouteKind `json:"winner,omitempty"`
	// Conflict reports whether routes of other kinds lose the port.
	Conflict bool   `json:"conflict"`
	Why      string `json:"why"`
	// Routes are all routes bound to the port: those that hold it first, the oldest
	// first.
	Routes []Route `json:"routes"`
}

// Service names the Service or ServiceImport.
type Service struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// Route is a route that is bound to the port.
type Route struct {
	report.RouteName
	Created *time.Time     `json:"created,omitempty"`
	State   validate.State `json:"state"`
	// Standing is "holds", "loses" or "absent".
	//
	// Deprecated: State says more. It goes with the next release.
	Standing string `json:"standing"`
	// Reason says why the route does not apply.
	Reason string `json:"reason,omitempty"`
}

// Find lists the bound ports of the cluster's Services in the namespace, or in all if it
// is empty. What may not be read is left out.
func Find(cluster check.Cluster, policy *validate.Policy, namespace string) (*List, error) {
	objects, err := cluster.Routes(namespace)
	if err != nil {
		return nil, err
	}
	w, err := check.NewStored(cluster, objects, policy.Mesh)
	if err != nil {
		return nil, err
	}
	routes := make([]*mesh.Route, len(objects))
	for i, object := range objects {
		routes[i] = object.Route
	}
	return Among(w, routes, policy, namespace, 0)
}

// Among lists the bound ports of the Services in the namespace, or in all if it is empty,
// that are parents of the routes. Of the assumed faults, those that cannot be known count as not there.
func Among(reader mesh.Reader, routes []*mesh.Route, policy *validate.Policy, namespace string, assumed validate.Faults) (*List, error) {
	engine, err := validate.New(rules.Catalog(), policy)
	if err != nil {
		return nil, err
	}
	var parents []mesh.ServiceKey
	for _, route := range routes {
		for _, key := range parentsOf(route, policy.Mesh) {
			if namespace == "" || key.Namespace == namespace {
				parents = append(parents, key)
			}
		}
	}
	slices.SortFunc(parents, func(a, b mesh.ServiceKey) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name), strings.Compare(a.Kind, b.Kind))
	})
	list := &List{TypeMeta: report.TypeMeta{APIVersion: report.StatesVersion, Kind: Kind}, Items: []Binding{}}
	for _, key := range slices.Compact(parents) {
		found, err := on(reader, engine, key, assumed)
		switch {
		case errors.Is(err, mesh.ErrUnknown):
			list.Unknown = append(list.Unknown, key)
		case err != nil:
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		list.Items = append(list.Items, found...)
	}
	return list, nil
}

// parentsOf returns the Services that the route is bound to, or dormant on.
func parentsOf(route *mesh.Route, profile *mesh.Profile) []mesh.ServiceKey {
	var keys []mesh.ServiceKey
	if route.Kind.GrantOnly() {
		return nil
	}
	for i := range route.Spec.ParentRefs {
		ref := &route.Spec.ParentRefs[i]
		if class := ref.Class(profile); class == mesh.MeshParent || class == mesh.LookAlikeParent {
			keys = append(keys, ref.Service(route.Metadata.Namespace))
		}
	}
	return keys
}

// on lists the bound ports of one Service: none if it does not exist.
func on(w mesh.Reader, engine *validate.Engine, key mesh.ServiceKey, assumed validate.Faults) ([]Binding, error) {
	service, err := mesh.FindService(w, key)
	if errors.Is(err, mesh.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	table := engine.Table(w, key)
	owners, err := table.Owners()
	if err != nil {
		return nil, err
	}
	all, err := table.Bindings()
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(all, validate.Binding.Compare)
	var found []Binding
	for len(all) > 0 {
		at := all[0].At
		n := slices.IndexFunc(all, func(b validate.Binding) bool { return b.At != at })
		if n < 0 {
			n = len(all)
		}
		if at.Port != 0 {
			found = append(found, binding(service, at, owners, all[:n], assumed))
		}
		all = all[n:]
	}
	return found, nil
}

// binding describes one port.
func binding(service *mesh.Service, at mesh.PortScope, owners mesh.PortOwners, all []validate.Binding, assumed validate.Faults) Binding {
	b := Binding{
		Service: Service(service.Key), Port: at.Port, Protocol: at.Protocol, Scope: at.Scope.String(),
	}
	for _, port := range service.Ports {
		if port.Number == at.Port && port.Protocol == at.Protocol {
			b.PortName = port.Name
		}
	}
	owner, losers := owners[at], map[mesh.RouteKind]bool{}
	for i := range all {
		route := all[i].Route
		shown := bindings.RouteOf(&all[i], assumed, nil)
		r := Route{
			RouteName: report.RouteName{Kind: route.Kind, Namespace: route.Namespace, Name: route.Name}, State: shown.State, Standing: standing(shown.State), Reason: shown.Reason,
		}
		if slices.ContainsFunc(b.Routes, func(o Route) bool { return o.RouteName == r.RouteName }) {
			continue // by two parentRefs
		}
		if route.Created != 0 && route.Created < mesh.FirstSyntheticAge {
			created := time.Unix(route.Created, 0).UTC()
			r.Created = &created
		}
		if r.State.InEffect() {
			b.Winner = owner.Kind
		}
		losers[route.Kind] = losers[route.Kind] || r.State == validate.Loses && !owner.Holds(route.Kind)
		b.Routes = append(b.Routes, r)
	}
	b.Conflict = slices.ContainsFunc(b.Routes, func(r Route) bool { return r.State == validate.Loses })
	b.Why = why(b.Winner, owner, losers, b.Routes)
	if at.Scope.Role() == mesh.Consumer && owners[mesh.PortScope{Port: at.Port, Protocol: at.Protocol}] != nil && b.Why == noRoute {
		b.Why = "no consumer route applies, so producer routes do"
	}
	return b
}

// standing returns the former word for the state.
func standing(state validate.State) string {
	switch {
	case state.InEffect():
		return "holds"
	case state == validate.Loses:
		return "loses"
	}
	return "absent"
}

// noRoute is why there is no winner.
const noRoute = "no route applies"

// why says in one clause why the winner has the port.
func why(winner mesh.RouteKind, owner *mesh.Owner, losers map[mesh.RouteKind]bool, routes []Route) string {
	if winner == "" {
		if slices.ContainsFunc(routes, func(r Route) bool { return r.State == validate.Unknown }) {
			return validate.Unread
		}
		if slices.ContainsFunc(routes, func(r Route) bool { return r.State == validate.Loses }) {
			return "the mesh compares scopes, and the port belongs to a route of another one"
		}
		if !slices.ContainsFunc(routes, func(r Route) bool { return r.State != validate.Dormant }) {
			return "dormant routes only"
		}
		return noRoute
	}
	var names []string
	for _, kind := range mesh.RouteKinds() {
		if losers[kind] {
			names = append(names, string(kind))
		}
	}
	merged := slices.ContainsFunc(routes, func(r Route) bool { return r.State == validate.Shares && r.Kind != winner })
	switch {
	case len(names) > 0:
		return string(winner) + " is more specific than " + strings.Join(names, " and ")
	case len(owner.Split) > 0 && owner.SplitKnown():
		return "routes with and without port do not merge, and the oldest decides"
	case len(owner.Split) > 0:
		return "routes with and without port do not merge, and the oldest decides, which is not known"
	case merged:
		return "the mesh merges these kinds"
	case slices.ContainsFunc(routes, func(r Route) bool { return r.State == validate.Replaced }):
		return "consumer routes replace producer routes"
	case slices.ContainsFunc(routes, func(r Route) bool { return r.State == validate.Shares }):
		return "routes of one kind merge"
	}
	return "the only route"
}
