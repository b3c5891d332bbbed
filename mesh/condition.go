package mesh

import (
	"cmp"
	"slices"
	"strings"
)

// MatchType is how a match compares a value.
type MatchType string

// The types of matches.
const (
	Exact             MatchType = "Exact"
	PathPrefix        MatchType = "PathPrefix"
	RegularExpression MatchType = "RegularExpression"
	// Subdomain is that of a wildcard hostname, which has no type in the API: the value is
	// a name under the text, which starts with a dot.
	Subdomain MatchType = "Subdomain"
)

// Dimension is a property of a request that a match can look at.
type Dimension string

// The properties of requests. The last four are the two parts of a gRPC method, the name that a
// TLS client asks for, and the host that a request is for, without its port.
const (
	PathDimension        Dimension = "path"
	MethodDimension      Dimension = "method"
	HeaderDimension      Dimension = "header"
	QueryParamDimension  Dimension = "query parameter"
	GRPCServiceDimension Dimension = "gRPC service"
	GRPCMethodDimension  Dimension = "gRPC method"
	ServerNameDimension  Dimension = "server name"
	HostDimension        Dimension = "host"
)

// Subject is what a condition looks at: a property, with the name of the header (in lower
// case) or query parameter.
type Subject struct {
	Dimension
	Name string
}

// String names the property as messages do: "header tenant".
func (s Subject) String() string {
	return strings.TrimSuffix(string(s.Dimension)+" "+s.Name, " ")
}

// Condition is one of the conditions that a match puts to a request.
type Condition struct {
	Subject
	Type MatchType
	Text string
}

// Conditions returns the conditions of each match of a rule. A rule without matches has one
// match without conditions, and so do all rules of routes that match connections. By GEP-1294,
// hostnames field, nothing follows from hostnames; a mesh may match them all the same, as its
// profile says: each match then stands for one of each hostname.
func (r *Route) Conditions(rule int, profile *Profile) [][]Condition {
	var matches [][]Condition
	if r.Kind.MatchesRequests() {
		for i := range r.Spec.Rules[rule].Matches {
			matches = append(matches, profile.conditions(&r.Spec.Rules[rule].Matches[i], r.Kind))
		}
	}
	if len(matches) == 0 {
		matches = make([][]Condition, 1)
	}
	if !profile.MatchesHostnames(r) {
		return matches
	}
	each := make([][]Condition, 0, len(matches)*len(r.Spec.Hostnames))
	for _, match := range matches {
		for _, hostname := range r.Spec.Hostnames {
			each = append(each, append(slices.Clip(match), named(r.Kind, hostname)))
		}
	}
	return each
}

// MatchesHostnames reports whether the mesh matches the hostnames that the route has.
func (p *Profile) MatchesHostnames(r *Route) bool {
	return p != nil && len(r.Spec.Hostnames) > 0 && p.Does(r.Kind, HostnamesField).Value == Honored
}

// conditions appends those of the match to an empty list: all must hold. They are in the order
// of the match, with the API's defaults; what always holds is none of them.
func (m *RouteMatch) conditions(list []Condition, kind RouteKind) []Condition {
	switch {
	case kind != GRPCRoute:
		if path := m.Path.condition(); path.Text != "" {
			list = append(list, path)
		}
		if m.Method != nil {
			list = append(list, Condition{Subject{Dimension: MethodDimension}, Exact, m.Method.HTTP})
		}
	case m.Method != nil:
		kind := cmp.Or(m.Method.Type, Exact)
		if m.Method.Service != "" {
			list = append(list, Condition{Subject{Dimension: GRPCServiceDimension}, kind, m.Method.Service})
		}
		if m.Method.Method != "" {
			list = append(list, Condition{Subject{Dimension: GRPCMethodDimension}, kind, m.Method.Method})
		}
	}
	list = appendNamed(list, HeaderDimension, m.Headers)
	return appendNamed(list, QueryParamDimension, m.QueryParams)
}

// condition returns that of the path. A trailing slash of a prefix has no meaning, and
// without its text the prefix holds for every path.
func (p *PathMatch) condition() Condition {
	c := Condition{Subject{Dimension: PathDimension}, PathPrefix, "/"}
	if p != nil {
		c.Type, c.Text = cmp.Or(p.Type, c.Type), cmp.Or(p.Value, c.Text)
	}
	if c.Type == PathPrefix {
		c.Text = strings.TrimRight(c.Text, "/")
	}
	return c
}

// appendNamed appends the conditions on headers or query parameters. Of several with one name
// only the first counts, as the API demands of implementations.
func appendNamed(list []Condition, dimension Dimension, values []ValueMatch) []Condition {
	for i := range values {
		v := &values[i]
		subject := Subject{dimension, v.Name}
		if dimension == HeaderDimension {
			subject.Name = strings.ToLower(v.Name)
		}
		if !slices.ContainsFunc(list, func(c Condition) bool { return c.Subject == subject }) {
			list = append(list, Condition{subject, cmp.Or(v.Type, Exact), v.Value})
		}
	}
	return list
}

// named returns the condition of a hostname.
func named(kind RouteKind, hostname string) Condition {
	hostname = strings.ToLower(hostname)
	c := Condition{Subject{Dimension: HostDimension}, Exact, hostname}
	if kind == TLSRoute {
		c.Dimension = ServerNameDimension
	}
	if under, wildcard := strings.CutPrefix(hostname, "*."); wildcard {
		c.Type, c.Text = Subdomain, "."+under
	}
	return c
}
