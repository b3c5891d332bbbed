package mesh

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

const regularExpression = "RegularExpression"

// Regular expressions are compared with so many matches of a route, and up to this
// length: a route costs at most what its size justifies.
const (
	mostCompared      = 200
	longestExpression = 64
)

// Shadow is a match that never decides, since an earlier match of the same route
// holds for all its requests and ranks as high.
type Shadow struct {
	PlacedMatch
	// By is the earlier match.
	By PlacedMatch
}

// Shadows returns the matches of an HTTPRoute or GRPCRoute that never decide. An
// earlier match that holds for all requests of another one and ranks as high has the
// same path, method and names: it is equal, or has regular expressions for the
// values of headers or query parameters. The keys are those of all matches, in the order
// of the rules.
func (r *Route) Shadows(keys []MatchKey) []Shadow {
	if r.Kind != HTTPRoute && r.Kind != GRPCRoute || r.onlyMatch() {
		return nil
	}
	var shadows []Shadow
	all, compared := r.placed(keys), 0
	for i, placed := range all {
		by := slices.IndexFunc(all[:i], func(p PlacedMatch) bool {
			if p.Key == placed.Key {
				return true
			}
			earlier := r.match(p)
			if compared == mostCompared || !anyRegular(earlier.Headers) && !anyRegular(earlier.QueryParams) {
				return false // only an equal one
			}
			compared++
			return r.shadows(earlier, r.match(placed))
		})
		if by >= 0 {
			shadows = append(shadows, Shadow{placed, all[by]})
		}
	}
	return shadows
}

// placed returns the places of the keys.
func (r *Route) placed(keys []MatchKey) []PlacedMatch {
	all := make([]PlacedMatch, 0, len(keys))
	for i := range r.Spec.Rules {
		if len(r.Spec.Rules[i].Matches) == 0 {
			all = append(all, PlacedMatch{keys[len(all)], i, -1})
		}
		for j := range r.Spec.Rules[i].Matches {
			all = append(all, PlacedMatch{keys[len(all)], i, j})
		}
	}
	return all
}

// onlyMatch reports whether the route has no two matches.
func (r *Route) onlyMatch() bool {
	return len(r.Spec.Rules) == 0 || len(r.Spec.Rules) == 1 && len(r.Spec.Rules[0].Matches) < 2
}

// match returns the match at a place; the empty one for a rule without matches.
func (r *Route) match(at PlacedMatch) *RouteMatch {
	if at.Match < 0 {
		return &RouteMatch{}
	}
	return &r.Spec.Rules[at.Rule].Matches[at.Match]
}

// shadows reports whether a match holds for all requests of another one with the same
// path, method and names.
func (r *Route) shadows(by, match *RouteMatch) bool {
	x, y := *by, *match
	x.Headers, x.QueryParams, y.Headers, y.QueryParams = nil, nil, nil, nil
	return r.matchKey(&x) == r.matchKey(&y) &&
		coverValues(by.Headers, match.Headers, strings.ToLower) &&
		coverValues(by.QueryParams, match.QueryParams, func(name string) string { return name })
}

func anyRegular(values []ValueMatch) bool {
	return slices.ContainsFunc(values, func(v ValueMatch) bool { return v.Type == regularExpression })
}

// coverValues reports whether the first conditions have the names of the others, and
// hold where these do.
func coverValues(by, values []ValueMatch, fold func(string) string) bool {
	by, values = firstOfName(make([]ValueMatch, 0, len(by)), by, fold), firstOfName(make([]ValueMatch, 0, len(values)), values, fold)
	return slices.EqualFunc(by, values, func(x, y ValueMatch) bool {
		if x == y || x.Name != y.Name || x.Type != regularExpression || y.Type == regularExpression || max(len(x.Value), len(y.Value)) > longestExpression {
			return x == y
		}
		// Where the whole value matches, implementations cannot differ.
		expression, err := regexp.Compile("^(?:" + x.Value + ")$")
		return err == nil && expression.MatchString(y.Value)
	})
}

// firstOfName appends the conditions by name, with the API's defaults, to an empty list. Of
// several with one name only the first counts, as the API demands of implementations.
func firstOfName(first, values []ValueMatch, fold func(string) string) []ValueMatch {
	for _, v := range values {
		v.Name, v.Type = fold(v.Name), cmp.Or(v.Type, "Exact")
		if !slices.ContainsFunc(first, func(f ValueMatch) bool { return f.Name == v.Name }) {
			first = append(first, v)
		}
	}
	slices.SortFunc(first, func(a, b ValueMatch) int { return strings.Compare(a.Name, b.Name) })
	return first
}
