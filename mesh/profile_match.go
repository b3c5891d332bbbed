package mesh

import (
	"cmp"
	"slices"
	"strings"
)

// Ranking is the place of a path by RegularExpression among the matches.
type Ranking string

const (
	// RankingUnknown: it is not known; before every prefix is assumed.
	RankingUnknown Ranking = "not known"
	// RankedFirst: before every prefix, the longer expression first.
	RankedFirst Ranking = "before every prefix, the longer first"
	// RankedLast: after every prefix, the longer expression first.
	RankedLast Ranking = "after every prefix, the longer first"
)

// Ranks returns the place of a path by RegularExpression.
func (p *Profile) Ranks() Ranking {
	if p == nil {
		return RankingUnknown
	}
	return p.Ranking.Value
}

// Calls are how a mesh reads the matches of GRPCRoutes. The zero value is the specification:
// they match gRPC requests by service and method.
type Calls struct {
	// AnyService is the expression of a service that a match does not name. If it is set, a match
	// is one of the path /SERVICE/METHOD, and holds for requests that are not gRPC too.
	AnyService string
	// SlashCounts: the slash after a service counts for the length of a path.
	SlashCounts bool
	// OthersLast: a match without service and method comes after all matches with a path.
	OthersLast bool
}

// ByPath returns how the mesh reads matches of GRPCRoutes as those of paths, and whether it does.
func (p *Profile) ByPath() (Calls, bool) {
	if p == nil {
		return Calls{}, false
	}
	return p.Calls.Value, p.Calls.Value.AnyService != ""
}

// Join returns what a filter of that type puts in place of the prefix that a match matched, and
// whether the mesh joins it with the rest of the path as it is, so that a slash is missing or there
// are two. An empty one stands for no change.
func (p *Profile) Join(filter, prefix, replacement string) (to string, asIs bool) {
	switch {
	case p == nil || !slices.Contains(p.Joined.Value, filter):
		return cmp.Or(replacement, "/"), false
	case filter == URLRewriteFilter:
		replacement = cmp.Or(strings.TrimSuffix(replacement, "/"), "/")
		asIs = replacement != "/" && prefix == "/"
	case replacement != "":
		asIs = strings.HasSuffix(replacement, "/") != strings.HasSuffix(prefix, "/")
	}
	return replacement, asIs
}

// path returns the condition of a match of a GRPCRoute on the path; nil where there is none.
func (c Calls) path(m *MethodMatch) *Condition {
	if m == nil || m.Service == "" && m.Method == "" {
		return nil
	}
	path := &Condition{Subject: Subject{Dimension: PathDimension}, Type: cmp.Or(m.Type, Exact)}
	switch {
	case path.Type == Exact && m.Method == "":
		path.Type, path.Text = PathPrefix, "/"+m.Service
	case m.Service == "":
		path.Type, path.Text = RegularExpression, "/"+c.AnyService+"/"+m.Method
	case m.Method == "":
		path.Text = "/" + m.Service + "/.+"
	default:
		path.Text = strings.Join([]string{"", m.Service, m.Method}, "/")
	}
	return path
}

// callConditions returns the conditions of a match of a GRPCRoute as the mesh reads them.
func (p *Profile) callConditions(m *RouteMatch) []Condition {
	calls, byPath := p.ByPath()
	if !byPath {
		return m.conditions(nil, GRPCRoute)
	}
	var list []Condition
	if path := calls.path(m.Method); path != nil {
		list = append(list, *path)
	}
	return appendNamed(list, HeaderDimension, m.Headers)
}
