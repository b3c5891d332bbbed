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

	"github.com/gammaguard/gammaguard/check"
	"github.com/gammaguard/gammaguard/check/report"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

// Kind is the kind of the JSON and YAML forms.
const Kind = "PortBindingList"

// List is every bound port, by Service, port and scope.
type List struct {
	report.TypeMeta
	Items []Binding `json:"items"`
}

// Binding is one port of a Service in one scope, and the routes bound to it.
type Binding struct {
	Service  Service       `json:"service"`
	Port     int32         `json:"port"`
	PortName string        `json:"portName,omitempty"`
	Protocol mesh.Protocol `json:"protocol"`
	// Scope is "producer" or "consumer of NAMESPACE".
	Scope string `json:"scope"`
	// Winner is the kind of route that is applied; empty if no route takes part.
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

// State is what a route has of a port.
type State string

// The states of a route.
const (
	// Holds: the route is applied.
	Holds State = "holds"
	// Loses: a more specific kind is applied instead.
	Loses State = "loses"
	// Absent: the route does not take part.
	Absent State = "absent"
	// Dormant: no mesh acts on the parentRef until the route is changed.
	Dormant State = "dormant"
)

// Route is a route that is bound to the port.
type Route struct {
	report.RouteName
	Created *time.Time `json:"created,omitempty"`
	State   State      `json:"state"`
	// Reason says why the route is absent or dormant.
	Reason string `json:"reason,omitempty"`
}

// Find lists the bound ports of the cluster's Services in the namespace, or in all if it
// is empty. What may not be read is left out.
func Find(cluster check.Cluster, policy *validate.Policy, namespace string) (*List, error) {
	var fallback []string
	if namespace != "" {
		fallback = []string{namespace}
	}
	objects, err := cluster.Routes(fallback...)
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
	list, _, err := Among(w, routes, policy, namespace)
	return list, err
}

// Among lists the bound ports of the Services in the namespace, or in all if it is empty,
// that are parents of the routes. It also returns the Services that are not known.
func Among(reader mesh.Reader, routes []*mesh.Route, policy *validate.Policy, namespace string) (list *List, unknown []mesh.ServiceKey, _ error) {
	engine, err := validate.New(policy)
	if err != nil {
		return nil, nil, err
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
	list = &List{TypeMeta: report.Typed(Kind), Items: []Binding{}}
	asleep := check.Dormant(routes, policy.Mesh)
	for _, key := range slices.Compact(parents) {
		bindings, err := on(reader, engine, asleep[key], key)
		switch {
		case errors.Is(err, mesh.ErrUnknown):
			unknown = append(unknown, key)
		case err != nil:
			return nil, nil, fmt.Errorf("%s: %w", key, err)
		}
		list.Items = append(list.Items, bindings...)
	}
	return list, unknown, nil
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

// on lists the bound ports of one Service, with the routes that are asleep on it: none if it
// does not exist.
func on(w mesh.Reader, engine *validate.Engine, asleep []*mesh.Route, key mesh.ServiceKey) ([]Binding, error) {
	service, err := w.Service(key)
	if errors.Is(err, mesh.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	routes, err := w.AttachedRoutes(key, "")
	if err != nil {
		return nil, err
	}
	view := engine.View(w, key)
	owners, err := view.Owners()
	if err != nil {
		return nil, err
	}
	absent := func(r *mesh.AttachedRoute) string {
		eligible, _ := view.Eligible(r) // an error would have come up before
		switch {
		case eligible:
			return ""
		case !engine.Policy().Implements(r.Kind):
			return "the mesh does not implement its kind"
		}
		return "lacks the grant, or is refused"
	}
	bound := map[mesh.PortScope][]*mesh.AttachedRoute{}
	for _, route := range routes {
		for i := range route.Parents {
			for _, at := range route.PortScopes(i, service) {
				if !slices.Contains(bound[at], route) {
					bound[at] = append(bound[at], route)
				}
			}
		}
	}
	dormant := dormantOn(engine.Policy(), asleep, service)
	for at := range dormant {
		if _, known := bound[at]; !known {
			bound[at] = nil
		}
	}
	bindings := make([]Binding, 0, len(bound))
	for at, here := range bound {
		bindings = append(bindings, binding(service, at, owners[at], here, dormant[at], absent))
	}
	slices.SortFunc(bindings, func(a, b Binding) int {
		return cmp.Or(cmp.Compare(a.Port, b.Port), strings.Compare(string(a.Protocol), string(b.Protocol)),
			-strings.Compare(a.Scope[:1], b.Scope[:1]), strings.Compare(a.Scope, b.Scope))
	})
	return bindings, nil
}

// binding describes one port. Dormant are the routes that would be bound to it, and absent
// says why a route does not take part, or nothing.
func binding(
	service *mesh.Service, at mesh.PortScope, owner *mesh.Owner, routes []*mesh.AttachedRoute, dormant []Route, absent func(*mesh.AttachedRoute) string,
) Binding {
	b := Binding{
		Service: Service(service.Key), Port: at.Port, Protocol: at.Protocol, Scope: at.Scope.String(),
	}
	for _, port := range service.Ports {
		if port.Number == at.Port && port.Protocol == at.Protocol {
			b.PortName = port.Name
		}
	}
	if owner != nil {
		b.Winner = owner.Kind
	}
	losers := map[mesh.RouteKind]bool{}
	slices.SortFunc(routes, (*mesh.AttachedRoute).CompareAge)
	for _, route := range routes {
		r := Route{RouteName: report.RouteName{Kind: route.Kind, Namespace: route.Namespace, Name: route.Name}, State: Holds}
		if route.Created != 0 && route.Created < mesh.Undated {
			created := time.Unix(route.Created, 0).UTC()
			r.Created = &created
		}
		if r.Reason = absent(route); r.Reason != "" {
			r.State = Absent
		} else if owner == nil || !owner.Holds(route.Kind) {
			r.State = Loses
			losers[route.Kind] = true
		}
		b.Routes = append(b.Routes, r)
	}
	b.Routes = append(b.Routes, dormant...)
	slices.SortStableFunc(b.Routes, func(x, y Route) int { return cmp.Compare(order[x.State], order[y.State]) })
	b.Conflict = len(losers) > 0
	b.Why = why(b.Winner, losers, b.Routes)
	return b
}

var order = map[State]int{Holds: 0, Loses: 1, Absent: 2, Dormant: 3}

// why says in one clause why the winner has the port.
func why(winner mesh.RouteKind, losers map[mesh.RouteKind]bool, routes []Route) string {
	if winner == "" {
		if !slices.ContainsFunc(routes, func(r Route) bool { return r.State != Dormant }) {
			return "dormant routes only"
		}
		return "no route takes part"
	}
	if len(losers) > 0 {
		var names []string
		for _, kind := range mesh.RouteKinds() {
			if losers[kind] {
				names = append(names, string(kind))
			}
		}
		return string(winner) + " is more specific than " + strings.Join(names, " and ")
	}
	holders := 0
	for _, route := range routes {
		if route.State == Holds {
			holders++
		}
	}
	if holders > 1 {
		if slices.ContainsFunc(routes, func(r Route) bool { return r.State == Holds && r.Kind != winner }) {
			return "the mesh merges these kinds"
		}
		return "routes of one kind merge"
	}
	return "the only route"
}
