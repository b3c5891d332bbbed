package mesh

import "slices"

// Rank is the place of a match among those of its kind of route: the larger one takes precedence. What
// its parts mean depends on the kind.
type Rank [5]int

// The parts of an HTTPRoute match's rank (Gateway API, HTTPRouteRule.matches).
const (
	ByPathType = iota
	ByPathLength
	ByMethod
	ByHeaders
	ByQueryParams
)

// The parts of a GRPCRoute match's rank (Gateway API, GRPCRouteRule.matches); ByHeaders is
// the third.
const (
	ByService = iota
	ByRPC
)

// The parts of the rank of a TLSRoute's hostname: the one that says most takes precedence, an
// exact one before a wildcard.
const (
	ByExactName = iota
	ByNameLength
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

// Compare compares ranks as lists.
func (r *Rank) Compare(other *Rank) int { return slices.Compare(r[:], other[:]) }

// OrdersExpressions reports whether it is known where the mesh has a path by RegularExpression among the
// matches of a route of the kind.
func (p *Profile) OrdersExpressions(kind RouteKind) bool {
	return p.Ranks() != RankingUnknown && (kind == HTTPRoute || p.readsByPath(kind))
}

// readsByPath reports whether the mesh reads the matches of the kind, GRPCRoute, as those of paths.
func (p *Profile) readsByPath(kind RouteKind) bool {
	_, byPath := p.ByPath()
	return byPath && kind == GRPCRoute
}

// Rank returns the rank of a match of a rule with these conditions, of Conditions, as the mesh ranks it. That
// of a hostname is no part of it, but that of a TLSRoute.
func (r *Route) Rank(rule int, conditions []Condition, profile *Profile) (rank Rank) {
	calls, _ := profile.ByPath()
	byPath, pathless := profile.readsByPath(r.Kind), true
	if r.Kind == HTTPRoute || byPath {
		rank[ByPathLength] = 1 // that of the prefix without a condition
	}
	if byPath && calls.AfterHTTP {
		rank[ByQueryParams] = -1
	}
	for i := range conditions {
		c := &conditions[i]
		switch c.Dimension {
		case PathDimension:
			pathless = false
			rank[ByPathType], rank[ByPathLength] = profile.pathRank(r.Kind, c)
			if byPath && calls.SlashCounts && c.Type == PathPrefix {
				rank[ByPathLength]++
			}
		case MethodDimension:
			rank[ByMethod] = 1
		case HeaderDimension:
			rank[ByHeaders]++
		case QueryParamDimension:
			rank[ByQueryParams]++
		case GRPCServiceDimension:
			rank[ByService] = len(c.Text)
		case GRPCMethodDimension:
			rank[ByRPC] = len(c.Text)
		case ServerNameDimension:
			rank[ByNameLength] = len(c.Text)
			if c.Type == Exact {
				rank[ByExactName] = 1
			}
		}
	}
	if byPath && pathless && calls.OthersLast {
		rank[ByPathType], rank[ByPathLength] = noPath, 0
		if len(r.Spec.Rules[rule].Matches) == 0 && !slices.ContainsFunc(r.Spec.ParentRefs, func(ref ParentRef) bool { return ref.Port != 0 }) {
			rank[ByPathLength] = -1 // the API gives rules of HTTPRoutes a match
		}
	}
	return rank
}

// pathRank returns the rank by a path's type and length. That of a prefix counts, and of a regular
// expression where its place is known.
func (p *Profile) pathRank(kind RouteKind, c *Condition) (byType, byLength int) {
	switch {
	case c.Type == Exact:
		return exactPath, 0
	case c.Type != RegularExpression:
		return prefixPath, len(c.Text)
	case !p.OrdersExpressions(kind):
		return regularPath, 0
	case p.Ranks() == RankedLast:
		return lastPath, len(c.Text)
	}
	return regularPath, len(c.Text)
}
