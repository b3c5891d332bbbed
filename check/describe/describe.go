// Package describe says all about one Service: who may route it, who does, and what
// becomes of each route.
package describe

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/check"
	"github.com/gammaguard/gammaguard/check/grants"
	"github.com/gammaguard/gammaguard/check/report"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/mesh/manifest"
	"github.com/gammaguard/gammaguard/validate"
)

// Kind is the kind of the JSON and YAML forms.
const Kind = "ServiceDescription"

// Service is all about a Service or ServiceImport.
type Service struct {
	report.TypeMeta
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Type is the type, "headless", "not found" or "unknown".
	Type string `json:"type"`
	// ConsumerRoutes are the settings for consumer routes.
	ConsumerRoutes []Setting `json:"consumerRoutes"`
	// Routes are the routes on it, by port and scope; those that attach to no port first.
	Routes []Route `json:"routes"`
	// Grants are those of its namespace, and of those with routes on it; Uses and Lacks
	// are the routes on it.
	Grants []grants.Namespace `json:"grants"`
	// Unseen lists what the user cannot read.
	Unseen []string `json:"unseen,omitempty"`
}

// Setting is the label, or an annotation, for consumer routes.
type Setting struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	// From is "Service", "namespace" or "default".
	From string `json:"from"`
}

// State is what a route has of a port.
type State string

// The states of a route.
const (
	Applies State = "applies"
	Loses   State = "loses"
	Absent  State = "absent"
	Unknown State = "unknown"
	// Dormant: no mesh acts on the parentRef until the route is changed.
	Dormant State = "dormant"
)

// Route is a route on a port.
type Route struct {
	Route string `json:"route"`
	// Scope is "producer" or "consumer of NAMESPACE".
	Scope string `json:"scope"`
	// Port is zero for a route that attaches to none.
	Port     int32         `json:"port,omitempty"`
	Protocol mesh.Protocol `json:"protocol,omitempty"`
	State    State         `json:"state"`
	// Reason is why it does not apply, and Rule the rule that says so.
	Reason string `json:"reason,omitempty"`
	Rule   string `json:"rule,omitempty"`
}

// Find describes the Service, which may not exist. The routes are those of the cluster.
func Find(cluster check.Cluster, routes []*manifest.Object, policy *validate.Policy, key mesh.ServiceKey) (*Service, error) {
	engine, err := validate.New(policy)
	if err != nil {
		return nil, err
	}
	stored, err := check.NewStored(cluster, routes, policy.Mesh)
	if err != nil {
		return nil, err
	}
	service, why := stored.Service(key)
	d := &Service{TypeMeta: report.Typed(Kind), Namespace: key.Namespace, Name: key.Name}
	if d.Type, err = typeOf(service, why); err != nil {
		return nil, err
	}
	if d.Routes, err = Routes(engine, stored, check.Dormant(decoded(routes), policy.Mesh)[key], key, 0); err != nil {
		return nil, err
	}
	attached, err := stored.AttachedRoutes(key, "")
	if err != nil {
		return nil, err
	}
	only, err := grantOnly(engine, stored, routes, key)
	if err != nil {
		return nil, err
	}
	attached, d.Routes = append(slices.Clip(attached), only.attached...), append(only.rows, d.Routes...)
	namespaces := []string{key.Namespace}
	for _, route := range attached {
		namespaces = append(namespaces, route.Namespace)
	}
	err = d.access(stored, service, namespaces, attached, routes, policy)
	return d, err
}

func typeOf(service *mesh.Service, why error) (string, error) {
	switch {
	case errors.Is(why, mesh.ErrNotFound):
		return "not found", nil
	case errors.Is(why, mesh.ErrUnknown):
		return "unknown", nil
	case why != nil:
		return "", why
	case service.Headless && service.Type != mesh.ExternalName:
		return "headless", nil
	}
	return string(service.Type), nil
}

// decoded returns the routes of the objects.
func decoded(objects []*manifest.Object) []*mesh.Route {
	routes := make([]*mesh.Route, len(objects))
	for i := range objects {
		routes[i] = objects[i].Route
	}
	return routes
}

// Routes returns what becomes of each parentRef to the Service, by port and scope; those
// that attach to no port first, with the dormant parentRefs of the routes that are asleep on
// it. Of the assumed faults, those that cannot be known count as not there.
func Routes(engine *validate.Engine, reader mesh.Reader, asleep []*mesh.Route, key mesh.ServiceKey, assumed validate.Faults) ([]Route, error) {
	attached, err := reader.AttachedRoutes(key, "")
	if err != nil {
		return nil, err
	}
	routes := dormant(engine, asleep, key)
	view := engine.View(reader, key)
	for _, route := range attached {
		for i := range route.Parents {
			ref := &route.Parents[i]
			if !route.IsMeshParent(i) || ref.Service(route.Namespace) != key {
				continue
			}
			parent := view.Parent(route, i)
			outcome, err := parent.Evaluate(validate.AllFaults)
			if errors.Is(err, mesh.ErrUnknown) {
				outcome.Unknown |= validate.Only(validate.PortsLost)
			} else if err != nil {
				return nil, err
			}
			outcome.Unknown &^= assumed
			routes = append(routes, states(engine, &parent, outcome)...)
		}
	}
	slices.SortFunc(routes, func(a, b Route) int {
		return cmp.Or(cmp.Compare(a.Port, b.Port), strings.Compare(string(a.Protocol), string(b.Protocol)),
			-strings.Compare(a.Scope[:1], b.Scope[:1]), strings.Compare(a.Scope, b.Scope), cmp.Compare(a.State, b.State), strings.Compare(a.Route, b.Route))
	})
	return routes, nil
}

// dormant returns the dormant parentRefs of the routes to the Service.
func dormant(engine *validate.Engine, asleep []*mesh.Route, key mesh.ServiceKey) []Route {
	rows := []Route{}
	for _, route := range asleep {
		for _, found := range engine.Dormant(route) {
			if found.Reference.Service == key {
				scope := mesh.ScopeOf(route.Metadata.Namespace, key)
				rows = append(rows, Route{Route: route.String(), Scope: scope.String(), State: Dormant, Reason: found.Problem, Rule: found.Rule})
			}
		}
	}
	return rows
}

// states returns what becomes of a parentRef, by port.
func states(engine *validate.Engine, parent *validate.Parent, outcome validate.Outcome) []Route {
	row := Route{Route: parent.Route.String(), Scope: parent.Scope.String(), State: Absent}
	switch {
	case outcome.Fault != validate.NoFault && outcome.Fault != validate.PortsLost:
		found := engine.Describe(outcome.Fault, parent)
		row.Reason, row.Rule = found.Problem, found.Rule
		return []Route{row}
	case !engine.Policy().Implements(parent.Route.Kind):
		row.Reason, row.Rule = "the mesh does not implement "+string(parent.Route.Kind), "mesh-unsupported"
		return []Route{row}
	case outcome.Unknown != 0:
		row.State, row.Reason = Unknown, "it depends on objects that cannot be read"
		return []Route{row}
	}
	var routes []Route
	for _, at := range parent.Kept {
		row.Port, row.Protocol, row.State = at.Port, at.Protocol, Applies
		routes = append(routes, row)
	}
	for _, lost := range parent.Lost {
		row.Port, row.Protocol, row.State = lost.Port, lost.Protocol, Loses
		row.Reason, row.Rule = "the port belongs to "+lost.Owner.Routes[0].String(), "route-conflict"
		routes = append(routes, row)
	}
	return routes
}

// access adds the settings for consumer routes, and the grants of the namespaces.
func (d *Service) access(world mesh.Reader, service *mesh.Service, names []string, attached []*mesh.AttachedRoute, routes []*manifest.Object, policy *validate.Policy) error {
	slices.Sort(names)
	var namespaces []*mesh.Namespace
	for _, name := range slices.Compact(names) {
		namespace, err := mesh.Known(world.Namespace(name))
		if err != nil {
			return err
		}
		if namespace != nil {
			namespaces = append(namespaces, namespace)
		}
		if name == d.Namespace {
			d.ConsumerRoutes = settings(service, namespace)
		}
	}
	here := slices.DeleteFunc(slices.Clone(routes), func(o *manifest.Object) bool {
		return !slices.ContainsFunc(attached, func(r *mesh.AttachedRoute) bool {
			return r.Kind == o.Route.Kind && r.Namespace == o.Key.Namespace && r.Name == o.Key.Name
		})
	})
	d.Grants = grants.Find(namespaces, here, policy).Items
	return nil
}

// settings returns the label for consumer routes, and the annotations that are set.
func settings(service *mesh.Service, namespace *mesh.Namespace) []Setting {
	var own mesh.ServiceMetadata
	if service != nil {
		own = service.ServiceMetadata
	}
	var theirs mesh.Namespace
	if namespace != nil {
		theirs = *namespace
	}
	label := Setting{mesh.ConsumerRoutesLabel, string(mesh.ConsumersAllowed), "default"}
	if value, set := theirs.Labels[mesh.ConsumerRoutesLabel]; set {
		label.Value, label.From = value, "namespace"
	}
	if own.ConsumerRoutes != "" {
		label.Value, label.From = own.ConsumerRoutes, "Service"
	}
	all := []Setting{label}
	switch {
	case own.From != nil:
		all = append(all, Setting{mesh.ConsumerRoutesFromAnnotation, own.From.Value, "Service"})
	case theirs.From != nil:
		all = append(all, Setting{mesh.ConsumerRoutesFromAnnotation, theirs.From.Value, "namespace"})
	}
	switch {
	case own.Kinds != nil:
		all = append(all, Setting{mesh.ConsumerRouteKindsAnnotation, own.Kinds.Value, "Service"})
	case theirs.Kinds != nil:
		all = append(all, Setting{mesh.ConsumerRouteKindsAnnotation, theirs.Kinds.Value, "namespace"})
	}
	return all
}
