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
	Path        *PathMatch   `json:"path"`
	Headers     []ValueMatch `json:"headers"`
	QueryParams []ValueMatch `json:"queryParams"`
	Method      *MethodMatch `json:"method"`
}

// PathMatch matches the path of a request.
type PathMatch struct {
	Type  MatchType `json:"type"`
	Value string    `json:"value"`
}

// ValueMatch matches a named header or query parameter.
type ValueMatch struct {
	Type  MatchType `json:"type"`
	Name  string    `json:"name"`
	Value string    `json:"value"`
}

// MethodMatch is an HTTPRoute's method, a string, or a GRPCRoute's, an object.
type MethodMatch struct {
	// HTTP is the HTTP method.
	HTTP string `json:"-"`
	// Type, Service and Method are the gRPC match.
	Type    MatchType `json:"type"`
	Service string    `json:"service"`
	Method  string    `json:"method"`
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

// PlacedMatch is a match of a route and its place in the spec.
type PlacedMatch struct {
	Key MatchKey
	// Rule is the rule's index. Match is the match's index in it, or -1 where the
	// rule has no matches and so matches every request.
	Rule, Match int
}

// MatchKeys returns the key of every match of the route, in the order of its
// rules, as the mesh of the profile reads them. A rule without matches has the key of the match
// that the API gives it.
func (r *Route) MatchKeys(profile *Profile) []PlacedMatch {
	if r.Kind.MatchesRequests() {
		hosts := profile.matchedHosts(r)
		return r.placed(func(_ int, m *RouteMatch) MatchKey { return r.matchKey(m, hosts) })
	}
	var keys []PlacedMatch
	for i := range r.Spec.Rules {
		if r.Kind == TLSRoute && i > 0 {
			break // the hostnames are those of the first rule
		}
		for _, conditions := range r.Conditions(i, profile) {
			keys = append(keys, PlacedMatch{keyOf(conditions), i, -1})
		}
	}
	return keys
}

// placed returns the places of the matches of an HTTPRoute or GRPCRoute, with the key that is
// given for each.
func (r *Route) placed(key func(n int, match *RouteMatch) MatchKey) []PlacedMatch {
	all := make([]PlacedMatch, 0, len(r.Spec.Rules))
	for i := range r.Spec.Rules {
		matches := r.Spec.Rules[i].Matches
		if len(matches) == 0 {
			all = append(all, PlacedMatch{key(len(all), &RouteMatch{}), i, -1})
		}
		for j := range matches {
			all = append(all, PlacedMatch{key(len(all), &matches[j]), i, j})
		}
	}
	return all
}

func (r *Route) matchKey(m *RouteMatch, hosts []Condition) MatchKey {
	var few [5]Condition // enough for most, and so not on the heap
	return keyOf(append(m.conditions(few[:0], r.Kind), hosts...))
}

// matchedHosts returns the hostnames of the route as one condition, if the mesh matches them.
func (p *Profile) matchedHosts(r *Route) []Condition {
	if !p.MatchesHostnames(r) {
		return nil
	}
	names := slices.Sorted(slices.Values(r.Spec.Hostnames))
	return []Condition{{Subject{Dimension: HostDimension}, Exact, strings.ToLower(strings.Join(names, ","))}}
}

// catchAll is the key of a match that every request meets.
var catchAll = keyOf(nil)

// keyOf returns the key of a match with these conditions, which it sorts. It hashes them with
// the lengths of their texts, so that no two lists run together.
func keyOf(conditions []Condition) MatchKey {
	slices.SortFunc(conditions, compareSubjects)
	h := fnv.New64a()
	for i := range conditions {
		c := &conditions[i]
		for _, part := range [...]string{string(c.Dimension), c.Name, string(c.Type), c.Text} {
			n := len(part)
			h.Write([]byte{byte(n), byte(n >> 8), byte(n >> 16)})
			h.Write([]byte(part))
		}
	}
	return MatchKey(h.Sum64())
}

func compareSubjects(a, b Condition) int {
	return cmp.Or(cmp.Compare(a.Dimension, b.Dimension), cmp.Compare(a.Name, b.Name))
}
