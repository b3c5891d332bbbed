package traffic

import (
	"fmt"

	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/mesh"
)

// nearMisses returns the rules and routes on the Service that do not decide: first
// those that hold the port, by precedence, then the others.
func (t *Table) nearMisses(pr *portRoutes, r *Request, chosen *entry) []NearMiss {
	type place struct {
		route *route
		rule  int
	}
	var (
		misses  []NearMiss
		best    = map[place]int{} // index of the rule's reason, which its best match gives
		holding = map[*route]bool{}
		outrank = map[place]bool{}
	)
	for i := range pr.entries {
		e := &pr.entries[i]
		at := place{e.route, e.rule}
		holding[e.route] = true
		if chosen != nil && at == (place{chosen.route, chosen.rule}) || outrank[at] {
			continue
		}
		var reason string
		switch {
		case !e.reads(r):
			reason = "the request is not gRPC"
		case e.holds(r):
			reason, outrank[at] = outranked(chosen, e), true
		default:
			miss := e.firstMiss(r)
			v, ok := r.value(miss.Subject)
			reason = miss.miss(v, ok)
		}
		if known, ok := best[at]; ok {
			if outrank[at] {
				misses[known].Reason = reason
			}
			continue
		}
		best[at] = len(misses)
		misses = append(misses, NearMiss{e.route.String(), &e.rule, reason})
	}
	for _, other := range t.on(pr.service.Key) {
		if !holding[other] {
			misses = append(misses, NearMiss{Route: other.String(), Reason: pr.offPort(other, r.From)})
		}
	}
	for i := range misses {
		misses[i].Reason = printable.Text(misses[i].Reason)
	}
	return misses
}

// holds reports whether a route on the Service holds the port.
func (pr *portRoutes) holds(r *route) bool {
	return pr.unbound(r) == "" && mesh.ScopeOf(r.Namespace, pr.service.Key) == pr.scope && pr.owner != nil && pr.owner.Holds(r.Kind)
}

// offPort says why a route on the Service does not hold the port.
func (pr *portRoutes) offPort(r *route, from string) string {
	scope := mesh.ScopeOf(r.Namespace, pr.service.Key)
	switch why := pr.unbound(r); {
	case why != "":
		return why
	case scope == pr.scope && pr.owner != nil && pr.owner.Holds(r.Kind):
		return "it has no rule that can match"
	case scope == pr.scope:
		return fmt.Sprintf("%s holds the port", pr.kind)
	case scope.Role() == mesh.Producer:
		return fmt.Sprintf("the consumer routes of %s replace producer routes", from)
	}
	return fmt.Sprintf("it is for clients in namespace %s", scope.ConsumerNamespace)
}

// outranked says why a match that holds comes after the chosen one.
func outranked(chosen, e *entry) string {
	if e.host != chosen.host {
		return "its hostname is less specific"
	}
	for i := range e.rank {
		if e.rank[i] < chosen.rank[i] {
			return lowerRank(chosen, e, i)
		}
	}
	switch {
	case e.route == chosen.route:
		return fmt.Sprintf("it comes after rule[%d]", chosen.rule)
	case e.route.Created != chosen.route.Created:
		return fmt.Sprintf("%s is younger", e.route)
	}
	return fmt.Sprintf("it comes after %s by name", chosen.route)
}

// lowerRank says in what the match ranks lower, by the part of the rank.
func lowerRank(chosen, e *entry, part int) string {
	if e.route.Kind == mesh.HTTPRoute || e.byPath {
		switch part {
		case mesh.ByPathType:
			above := "every PathPrefix"
			if path := chosen.path(); path != nil && path.Type != mesh.PathPrefix {
				above = map[mesh.MatchType]string{mesh.Exact: "an Exact path", mesh.RegularExpression: "a RegularExpression"}[path.Type]
			}
			return e.pathText() + " ranks below " + above
		case mesh.ByPathLength:
			return e.pathText() + " is shorter"
		case mesh.ByMethod:
			return "it does not match by method"
		case mesh.ByHeaders:
			return "it matches fewer headers"
		}
		if chosen.rank[part] == 0 { // of which it has none either
			return "a GRPCRoute comes after an HTTPRoute"
		}
		return "it matches fewer query parameters"
	}
	if e.route.Kind == mesh.GRPCRoute {
		return [...]string{mesh.ByService: "its service is shorter", mesh.ByRPC: "its method is shorter", mesh.ByHeaders: "it matches fewer headers"}[part]
	}
	return "its hostname is less specific"
}

// pathText reads "PathPrefix /cart".
func (m *match) pathText() string {
	path := m.path()
	switch {
	case path == nil && m.byPath:
		return "a match of every gRPC method"
	case path == nil:
		return "PathPrefix /"
	}
	return string(path.Type) + " " + path.Text
}
