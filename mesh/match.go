package mesh

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// RouteMatch is one match of an HTTPRoute's or a GRPCRoute's rule. An empty field
// was left out.
type RouteMatch struct {
	Path        *ValueMatch  `json:"path"`
	Headers     []ValueMatch `json:"headers"`
	QueryParams []ValueMatch `json:"queryParams"`
	Method      *MethodMatch `json:"method"`
}

// ValueMatch matches a path, or a named header or query parameter.
type ValueMatch struct {
	Type  string `json:"type"`
	Name  string `json:"name"`
	Value string `json:"value"`
}

// MethodMatch is an HTTPRoute's method, a string, or a GRPCRoute's, an object.
type MethodMatch struct {
	// HTTP is the HTTP method.
	HTTP string `json:"-"`
	// Type, Service and Method are the gRPC match.
	Type    string `json:"type"`
	Service string `json:"service"`
	Method  string `json:"method"`
}

// UnmarshalJSONFrom takes both forms.
func (m *MethodMatch) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() == '"' {
		return json.UnmarshalDecode(d, &m.HTTP)
	}
	type object MethodMatch
	return json.UnmarshalDecode(d, (*object)(m))
}

// MatchKey identifies the meaning of a match, regardless of its spelling: two matches of
// routes of one kind have the same key if and only if (but for a hash's odds)
// they match the same requests by the same conditions.
type MatchKey uint64

// CatchAll reports whether any rule of the route matches every request. Rules of
// TLSRoute, TCPRoute and UDPRoute all do: meshes infer nothing from hostnames
// (GEP-1294, hostnames field).
func (r *Route) CatchAll() bool {
	for i := range r.Spec.Rules {
		if r.ruleCatchesAll(&r.Spec.Rules[i]) {
			return true
		}
	}
	return false
}

func (r *Route) ruleCatchesAll(rule *RouteRule) bool {
	if r.Kind != HTTPRoute && r.Kind != GRPCRoute || len(rule.Matches) == 0 {
		return true
	}
	return slices.ContainsFunc(rule.Matches, func(m RouteMatch) bool {
		if len(m.Headers) > 0 || len(m.QueryParams) > 0 {
			return false
		}
		if r.Kind == GRPCRoute {
			return m.Method == nil || m.Method.Service == "" && m.Method.Method == ""
		}
		return m.Method == nil && httpPath(m.Path) == ValueMatch{Type: "PathPrefix", Value: "/"}
	})
}

// httpPath returns a path match with the API's defaults filled in. A trailing
// slash of a prefix has no meaning.
func httpPath(path *ValueMatch) ValueMatch {
	full := ValueMatch{Type: "PathPrefix", Value: "/"}
	if path == nil {
		return full
	}
	full.Type = cmp.Or(path.Type, full.Type)
	full.Value = cmp.Or(path.Value, full.Value)
	if full.Type == "PathPrefix" {
		full.Value = cmp.Or(strings.TrimRight(full.Value, "/"), "/")
	}
	return full
}

// PlacedMatch is a match of a route and its place in the spec.
type PlacedMatch struct {
	Key MatchKey
	// Rule is the rule's index. Match is the match's index in it, or -1 where the
	// rule has no matches and so matches every request.
	Rule, Match int
}

// MatchKeys returns the key of every match of the route, in the order of its
// rules. A rule without matches has the key of the match that the API gives it.
func (r *Route) MatchKeys() []PlacedMatch {
	keys := make([]PlacedMatch, 0, len(r.Spec.Rules))
	for i := range r.Spec.Rules {
		rule := &r.Spec.Rules[i]
		switch {
		case r.Kind == TLSRoute && i > 0: // the hostnames are those of the first rule
		case r.Kind == TLSRoute:
			for _, hostname := range r.Spec.Hostnames {
				keys = append(keys, PlacedMatch{hashKey("sni", strings.ToLower(hostname)), i, -1})
			}
			if len(r.Spec.Hostnames) == 0 {
				keys = append(keys, PlacedMatch{hashKey("all"), i, -1})
			}
		case r.Kind != HTTPRoute && r.Kind != GRPCRoute:
			keys = append(keys, PlacedMatch{hashKey("all"), i, -1})
		case len(rule.Matches) == 0:
			keys = append(keys, PlacedMatch{r.matchKey(&RouteMatch{}), i, -1})
		default:
			for j := range rule.Matches {
				keys = append(keys, PlacedMatch{r.matchKey(&rule.Matches[j]), i, j})
			}
		}
	}
	return keys
}

func (r *Route) matchKey(m *RouteMatch) MatchKey {
	parts := make([]string, 0, 16) // enough for most, and so not on the heap
	if r.Kind == GRPCRoute {
		if m.Method != nil && (m.Method.Service != "" || m.Method.Method != "") {
			parts = append(parts, "method", cmp.Or(m.Method.Type, "Exact"), m.Method.Service, m.Method.Method)
		}
	} else {
		path := httpPath(m.Path)
		parts = append(parts, "path", path.Type, path.Value)
		if m.Method != nil {
			parts = append(parts, "method", m.Method.HTTP)
		}
	}
	parts = appendValues(parts, "header", m.Headers, strings.ToLower)
	parts = appendValues(parts, "query", m.QueryParams, func(name string) string { return name })
	return hashKey(parts...)
}

// appendValues adds the named matches in an order of their own.
func appendValues(parts []string, what string, values []ValueMatch, fold func(string) string) []string {
	if len(values) == 0 {
		return parts
	}
	var few [4]ValueMatch // enough for most, and so not on the heap
	for _, v := range firstOfName(few[:0], values, fold) {
		parts = append(parts, what, v.Type, v.Name, v.Value)
	}
	return parts
}

// hashKey hashes the parts with their lengths, so that no two lists of parts run
// together.
func hashKey(parts ...string) MatchKey {
	h := fnv.New64a()
	for _, part := range parts {
		n := len(part)
		h.Write([]byte{byte(n), byte(n >> 8), byte(n >> 16)})
		h.Write([]byte(part))
	}
	return MatchKey(h.Sum64())
}
