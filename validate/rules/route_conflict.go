package rules

import (
	"fmt"
	"strconv"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

func routeConflict() *validate.Rule {
	return &validate.Rule{
		ID:    "route-conflict",
		Title: "The route loses a Service port to a route of another kind, or takes one from it",
		Rationale: "If routes of different kinds bind to the same port of a Service, only the most specific kind applies (GRPCRoute, HTTPRoute, " +
			"TLSRoute, TCPRoute, in this order). The others are ignored, regardless of their age. The authors of both routes should know. With " +
			"mesh: cilium, routes of one kind are reported too if they select different ports, since Cilium applies each on all of these.",
		Remedy: "Use different ports of the Service for the routes, with port or sectionName in their parentRefs, or use routes of the same kind, " +
			"which merge. With mesh: cilium, use another Service: its ports share their routes.",
		Citation: "GEP-1294, Route types: if multiple routes with different types bind to the same Service and port pair, only a single route type " +
			"should be applied",
		Default:   validate.Warn,
		OfTraffic: true,
		Kinds:     []mesh.RouteKind{mesh.GRPCRoute, mesh.HTTPRoute, mesh.TLSRoute, mesh.TCPRoute},
		Fault:     validate.PortsLost,
		Describe:  describePortsLost,
		Parent: func(p *validate.Pass, parent *validate.Parent) {
			checkPortsTaken(p, parent)
			checkPortsShared(p, parent)
			checkPortsSplit(p, parent)
			checkOtherScopes(p, parent)
		},
	}
}

// describePortsLost reports which ports are lost, to which routes, and which are kept.
// It names only the oldest owner, so that the message does not change when other
// owners are added or removed.
func describePortsLost(policy *validate.Policy, parent *validate.Parent) validate.Finding {
	f := validate.Finding{
		Field: parent.Path(""), Value: parent.Ref.Name, Reference: parent.Reference(),
		Problem: fmt.Sprintf("%s, so this %s is ignored there", lostPorts(parent), parent.Route.Kind),
	}
	kept := parent.Kept()
	if len(kept) > 0 {
		f.Problem += ", but not on " + portsNamed(portNumbers(kept))
	}
	f.Remedy = separate(policy.Mesh, len(kept) > 0)
	return f
}

// separate says how to end a conflict about ports, of a parentRef that also has others or not.
func separate(profile *mesh.Profile, others bool) string {
	switch {
	case !others:
		return "use another port, or one route kind"
	case profile.IgnoresSectionName():
		return "set port, or use one route kind"
	}
	return "set port or sectionName, or use one route kind"
}

// lostPorts reads "port 80 of Service shop/cart is held by GRPCRoute shop/cart". It
// is much shorter than the maximum of 32 KiB for the message of a condition.
func lostPorts(parent *validate.Parent) string {
	var owners rivals
	for _, lost := range parent.Lost {
		owners.add(lost.Port, rival{route: lost.Owner.Routes[0]})
	}
	return owners.text(parent.Key, " is held by ", " are held by ")
}

// rival is a route that others meet on a port, and how many more they meet there.
type rival struct {
	route *mesh.AttachedRoute
	more  int
}

// rivals are those of a route, in the order of the ports on which it meets them first.
type rivals struct {
	all   []rival
	ports map[rival][]string
}

func (r *rivals) add(port int32, met rival) {
	if r.ports == nil {
		r.ports = map[rival][]string{}
	}
	if r.ports[met] == nil {
		r.all = append(r.all, met)
	}
	r.ports[met] = append(r.ports[met], strconv.Itoa(int(port)))
}

// text reads "port 80 of Service shop/cart is held by GRPCRoute shop/cart, port 81 is held by HTTPRoute shop/web and 2 more"
// where one is " is held by ", which is said of one port, as many is of several.
func (r *rivals) text(service mesh.ServiceKey, one, many string) string {
	of := " of " + service.String()
	texts := make([]string, len(r.all))
	for i, met := range r.all {
		verb := one
		if len(r.ports[met]) > 1 {
			verb = many
		}
		texts[i] = portsNamed(r.ports[met]) + of + verb + andMore(met.route, met.more)
		of = ""
	}
	return shortList(texts)
}

func portNumbers(scopes []mesh.PortScope) []string {
	numbers := make([]string, len(scopes))
	for i, at := range scopes {
		numbers[i] = strconv.Itoa(int(at.Port))
	}
	return numbers
}

// checkPortsTaken reports the ports that the route takes from other kinds. It does not name the route, so that all
// owners of a port have one message, and an audit one line.
func checkPortsTaken(p *validate.Pass, parent *validate.Parent) {
	own := p.Attached()
	var from rivals
	for at, owner := range p.Owned(parent) {
		if owner.Holds(own.Kind) && owner.Displaced != nil {
			from.add(at.Port, rival{owner.Displaced, owner.MoreDisplaced})
		}
	}
	if len(from.all) == 0 {
		return
	}
	p.Report(validate.Finding{
		Field: parent.Path(""), Value: parent.Ref.Name, Reference: parent.Reference(),
		Problem: fmt.Sprintf("this %s takes %s", own.Kind, from.text(parent.Key, " from ", " from ")),
		Remedy:  separate(p.Policy.Mesh, len(parent.Ports) > 1), // it may mean one of them
	})
}
