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
	// AfterHTTP: a match comes after that of an HTTPRoute that ranks as high.
	AfterHTTP bool
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

// Whole reports whether a filter of that type, with that new prefix, takes a prefix that ends with a slash as it
// is written.
func (p *Profile) Whole(filter, to string) bool {
	return p != nil && p.WholePrefix.Value && filter == URLRewriteFilter && to == "/"
}

// ReplacesQuery reports whether a redirect that replaces the whole path is known to lose the query.
func (p *Profile) ReplacesQuery() bool { return p != nil && p.QueryReplaced.Value }

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

// conditions returns the conditions of a match of a route of the kind as the mesh reads them.
func (p *Profile) conditions(m *RouteMatch, kind RouteKind) []Condition {
	if !p.readsByPath(kind) {
		return m.conditions(nil, kind)
	}
	var list []Condition
	if path := p.Calls.Value.path(m.Method); path != nil {
		list = append(list, *path)
	}
	return appendNamed(list, HeaderDimension, m.Headers)
}

// Backends are how a mesh reads backendRefs. The zero value is the specification.
type Backends struct {
	// LeavesOut: a Service that does not exist, or that no ReferenceGrant permits, is left out, and
	// the others get its requests.
	LeavesOut bool
	// OnlyOne: where there is one backendRef, its weight does not count.
	OnlyOne bool
	// MergesEqual: where matches of several routes are written alike, the backendRefs of all get the
	// requests, by the rest of the first rule. Those of a route on several ports count once for each.
	MergesEqual bool
	// ZeroRefused: where several backendRefs all have weight 0, the proxies refuse the routes of the
	// whole Service, and keep the former ones.
	ZeroRefused bool
	// WholePercents: the part of the requests that a RequestMirror copies is rounded down to percents.
	WholePercents bool
	// ByName: where there are several backendRefs, without those left out and with those merged, the last
	// filter of one applies to all of the rule that name its Service and port.
	ByName bool
}

// ReadsBackends returns how the mesh reads backendRefs.
func (p *Profile) ReadsBackends() Backends {
	if p == nil {
		return Backends{}
	}
	return p.Backends.Value
}

// IgnoresSectionName reports whether the mesh is known to select ports by their number alone.
func (p *Profile) IgnoresSectionName() bool { return p != nil && !p.SectionNames.Value }

// Unfit returns the application protocol of the port, if routes of the kind do not support it (GEP-1911): its appProtocol, or, where it has
// none and the mesh is known to read names, what its name begins with. It is empty for any other.
func (p *Profile) Unfit(kind RouteKind, port *Port) string {
	protocol, text := strings.ToLower(port.AppProtocol), port.AppProtocol
	if protocol == "" && p != nil {
		name := strings.ToLower(port.Name)
		if protocol, _, _ = strings.Cut(name, "-"); strings.HasPrefix(name, "grpc-web") {
			protocol = "grpc-web"
		}
		if !slices.Contains(p.PortNames.Value, protocol) {
			return ""
		}
		text = protocol + " by the name " + port.Name
	}
	if slices.Contains(unsupported(kind), protocol) {
		return text
	}
	return ""
}

// unsupported returns the application protocols that the route kind does not support. Any other name is accepted.
func unsupported(kind RouteKind) []string {
	switch kind {
	case HTTPRoute:
		return []string{"tcp", "udp", "tls", "https", "kubernetes.io/wss", "mongo", "mysql", "postgresql", "redis"}
	case GRPCRoute:
		return append(unsupported(HTTPRoute), "http", "kubernetes.io/ws")
	case TLSRoute:
		return []string{"http", "http2", "h2c", "grpc", "grpc-web", "kubernetes.io/h2c", "kubernetes.io/ws", "udp"}
	}
	return nil
}

// Selects reports whether a parentRef of a route of the kind that attaches to the port selects it.
func (p *Profile) Selects(kind RouteKind, ref *ParentRef, port *Port) bool {
	if p == nil || ref.Port != 0 {
		return true
	}
	wanted := p.Portless.Value[kind]
	return wanted == "" || port.AppProtocol == wanted
}

// together has the routes of each scope apply on every port that any of them holds.
func (s PortOwners) together() {
	all := map[Scope][]*AttachedRoute{}
	for at, owner := range s {
		for _, route := range owner.Routes {
			if owner.Kind.MatchesRequests() && !slices.Contains(all[at.Scope], route) {
				all[at.Scope] = append(all[at.Scope], route)
			}
		}
	}
	for at, owner := range s {
		if owner.Kind.MatchesRequests() {
			owner.selecting = owner.Routes
			owner.Routes = slices.SortedFunc(slices.Values(all[at.Scope]), (*AttachedRoute).CompareAge)
		}
	}
}
