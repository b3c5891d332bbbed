package traffic

import "github.com/gammaguard/gammaguard/mesh"

// match is a match of a rule: conditions that must all hold, and its rank among
// the matches of its kind of route.
type match struct {
	conditions []condition
	// rank compares as a list: the larger one takes precedence. What its parts
	// mean depends on the kind of route.
	rank [5]int
	// host ranks by the hostname, before rank; it is zero but where the mesh matches hostnames.
	host [2]int
	// byPath: the match is a GRPCRoute's, which the mesh reads and ranks as an HTTPRoute's.
	byPath bool
	// written is equal for matches that are written alike, with regard to the order of nothing.
	written string
	// slashed: the prefix is written with a slash at the end.
	slashed bool
	// ordered: the place of the regular expression of its path is known.
	ordered bool
}

// The parts of an HTTPRoute match's rank (Gateway API, HTTPRouteRule.matches).
const (
	byPathType = iota
	byPathLength
	byMethod
	byHeaders
	byQueryParams
)

// The parts of a GRPCRoute match's rank (Gateway API, GRPCRouteRule.matches); byHeaders is
// the third.
const (
	byService = iota
	byRPC
)

// The parts of the rank of a TLSRoute's hostname: the one that says most takes precedence, an
// exact one before a wildcard.
const (
	byExactName = iota
	byNameLength
)

// The path types in the order of their rank. Where a RegularExpression stands is
// up to implementations; before every prefix, as many have it, it can be reached
// even where a prefix matches every request. On a mesh that has it last, it is lastPath.
// noPath is that of a GRPCRoute's match without a path, where it comes after all others.
const (
	noPath = iota - 2
	lastPath
	prefixPath
	regularPath
	exactPath
)

func newMatch(kind mesh.RouteKind, conditions []mesh.Condition) match {
	var m match
	if kind == mesh.HTTPRoute {
		m.rank[byPathLength] = 1 // that of the prefix without a condition
	}
	for _, c := range conditions {
		m.conditions = append(m.conditions, newCondition(c))
		switch c.Dimension {
		case mesh.PathDimension:
			m.rank[byPathType], m.rank[byPathLength] = pathRank(c)
		case mesh.MethodDimension:
			m.rank[byMethod] = 1
		case mesh.HeaderDimension:
			m.rank[byHeaders]++
		case mesh.QueryParamDimension:
			m.rank[byQueryParams]++
		case mesh.GRPCServiceDimension:
			m.rank[byService] = len(c.Text)
		case mesh.GRPCMethodDimension:
			m.rank[byRPC] = len(c.Text)
		case mesh.HostDimension:
			m.host[byNameLength] = len(c.Text)
			if c.Type == mesh.Exact {
				m.host[byExactName] = 1
			}
		case mesh.ServerNameDimension:
			m.rank[byNameLength] = len(c.Text)
			if c.Type == mesh.Exact {
				m.rank[byExactName] = 1
			}
		}
	}
	return m
}

// pathRank returns the rank by a path's type and length. Only that of a prefix counts.
func pathRank(c mesh.Condition) (byType, byLength int) {
	switch c.Type {
	case mesh.Exact:
		return exactPath, 0
	case mesh.RegularExpression:
		return regularPath, 0
	}
	return prefixPath, len(c.Text)
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

// match returns a match with these conditions, ranked as the mesh ranks it.
func (m *reading) match(conditions []mesh.Condition) match {
	calls, byPath := m.profile.ByPath()
	byPath = byPath && m.kind == mesh.GRPCRoute
	if !byPath && m.kind != mesh.HTTPRoute {
		return newMatch(m.kind, conditions)
	}
	out := newMatch(mesh.HTTPRoute, conditions)
	out.byPath = byPath
	if byPath && calls.AfterHTTP {
		out.rank[byQueryParams] = -1
	}
	path, ranking := out.path(), m.profile.Ranks()
	switch {
	case path == nil:
		if byPath && calls.OthersLast {
			out.rank[byPathType], out.rank[byPathLength] = noPath, 0
			if m.noMatches {
				out.rank[byPathLength] = -1
			}
		}
	case path.Type == mesh.RegularExpression && ranking != mesh.RankingUnknown:
		out.ordered, out.rank[byPathLength] = true, len(path.Text)
		if ranking == mesh.RankedLast {
			out.rank[byPathType] = lastPath
		}
	case path.Type == mesh.PathPrefix && byPath && calls.SlashCounts:
		out.rank[byPathLength]++
	}
	return out
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
