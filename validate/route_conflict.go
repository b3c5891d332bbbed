package validate

import (
	"fmt"

	"github.com/gammaguard/gammaguard/mesh"
)

func routeConflict() *Rule {
	return &Rule{
		ID:    "route-conflict",
		Title: "The route loses a Service port to a route of another kind, or takes one from it",
		Rationale: "Where routes of different kinds are bound to one port of a Service, only the most specific kind is applied (GRPCRoute, HTTPRoute, " +
			"TLSRoute, TCPRoute, in this order); the others are ignored, whatever their age. The author of either route should know.",
		Remedy: "Give the routes different ports of the Service, by port or sectionName in their parentRefs, or use routes of one kind: these merge.",
		Citation: "GEP-1294, Route types: if multiple routes with different types bind to the same Service and port pair, only a single route type " +
			"should be applied",
		Default: Warn,
		Stage:   RouteStage,
		Kinds:   []mesh.RouteKind{mesh.GRPCRoute, mesh.HTTPRoute, mesh.TLSRoute, mesh.TCPRoute},
		Reads:   ReadsServices | ReadsRoutes | ReadsNamespaces,
		Check:   checkRouteConflict,
	}
}

func checkRouteConflict(p *Pass) {
	const remedy = "only the more specific kind applies: use another port, or one route kind"
	own := p.Attached()
	for _, parent := range p.Parents() {
		var lost, taken rivalry
		for at, holder := range p.held(&parent) {
			if holder.Kind.Beats(own.Kind) {
				lost.add(at, holder.Routes...)
			} else if holder.Kind == own.Kind {
				for _, rival := range p.AttachedRoutes(parent.Service) {
					if own.Kind.Beats(rival.Kind) && binds(rival, parent.Service, at) {
						taken.add(at, rival)
					}
				}
			}
		}
		f := Finding{Field: parent.Path(""), Value: parent.Ref.Name, Reference: parent.Reference()}
		if len(lost.ports) > 0 {
			f.Problem = fmt.Sprintf("%s loses %s of %s to %s", own, portsNamed(lost.ports), parent.Key, lost.names())
			f.Remedy = remedy
			p.Report(f)
		}
		if len(taken.ports) > 0 {
			f.Problem = fmt.Sprintf("%s takes %s of %s from %s", own, portsNamed(taken.ports), parent.Key, taken.names())
			f.Remedy = remedy
			p.Report(f)
		}
	}
}

// rivalry collects the ports that are lost or taken, and the routes on the other
// side, in the order in which they are found.
type rivalry struct {
	ports  []string
	routes []*mesh.AttachedRoute
}

func (r *rivalry) add(at mesh.PortScope, routes ...*mesh.AttachedRoute) {
	port := fmt.Sprint(at.Port)
	if len(r.ports) == 0 || r.ports[len(r.ports)-1] != port {
		r.ports = append(r.ports, port)
	}
	for _, route := range routes {
		known := false
		for _, seen := range r.routes {
			known = known || seen == route
		}
		if !known {
			r.routes = append(r.routes, route)
		}
	}
}

// names reads "HTTPRoute shop/cart", with "and N more" for all but the first.
func (r *rivalry) names() string {
	name := r.routes[0].String()
	if more := len(r.routes) - 1; more > 0 {
		name += fmt.Sprintf(" and %d more", more)
	}
	return name
}

// binds says whether the route is bound to the port in the scope.
func binds(route *mesh.AttachedRoute, service *mesh.Service, at mesh.PortScope) bool {
	for i := range route.Parents {
		for _, other := range route.PortScopes(i, service) {
			if other == at {
				return true
			}
		}
	}
	return false
}
