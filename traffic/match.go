package traffic

import "github.com/gammaguard/gammaguard/mesh"

// match is a match of a rule: conditions that must all hold, and its rank among
// the matches of its kind of route.
type match struct {
	conditions []condition
	rank       mesh.Rank
	// host ranks by the hostname, before rank; it is zero but where the mesh matches hostnames.
	host [2]int
	// byPath: the match is a GRPCRoute's, which the mesh reads and ranks as an HTTPRoute's.
	byPath bool
	// written is equal for matches that are written alike, with regard to the order of nothing.
	written string
	// slashed: the prefix is written with a slash at the end.
	slashed bool
	// ordered: the place of a regular expression of its path is known.
	ordered bool
}

// newMatch returns a match of the rule with these conditions, ranked as the mesh ranks it.
func newMatch(route *mesh.Route, rule int, conditions []mesh.Condition, profile *mesh.Profile) match {
	_, byPath := profile.ByPath()
	m := match{
		rank:    route.Rank(rule, conditions, profile),
		byPath:  byPath && route.Kind == mesh.GRPCRoute,
		ordered: profile.OrdersExpressions(route.Kind),
	}
	for _, c := range conditions {
		m.conditions = append(m.conditions, newCondition(c))
		if c.Dimension == mesh.HostDimension {
			m.host[mesh.ByNameLength] = len(c.Text)
			if c.Type == mesh.Exact {
				m.host[mesh.ByExactName] = 1
			}
		}
	}
	return m
}

// path returns the condition on the path, and nil if there is none.
func (m *match) path() *condition {
	if len(m.conditions) > 0 && m.conditions[0].Dimension == mesh.PathDimension {
		return &m.conditions[0]
	}
	return nil
}

// prefix returns the path prefix that the match matched: the part that
// ReplacePrefixMatch replaces.
func (m *match) prefix() string {
	if path := m.path(); path != nil && path.Type == mesh.PathPrefix {
		return path.Text
	}
	return ""
}

// holds reports whether the request meets every condition.
func (m *match) holds(r *Request) bool { return m.firstMiss(r) == nil }

// firstMiss returns the first condition that the request does not meet.
func (m *match) firstMiss(r *Request) *condition {
	for i := range m.conditions {
		c := &m.conditions[i]
		if v, ok := r.value(c.Subject); !ok || !c.holds(v) {
			return c
		}
	}
	return nil
}
