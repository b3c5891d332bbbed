package mesh

import (
	"cmp"
	"regexp/syntax"
	"slices"
	"strings"
)

const regularExpression = "RegularExpression"

// Matches, and values with regular expressions, are compared so many times in a route. An
// expression has at most this length, and comes to at most so many instructions: a{1000}
// has seven characters. A route costs at most what its size justifies.
const (
	mostCompared      = 200
	longestExpression = 64
	mostInstructions  = 1000
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
	all := r.placed(keys)
	c := r.newComparison(all)
	for i, placed := range all {
		for j, earlier := range all[:i] {
			if earlier.Key == placed.Key || c.shadows(j, i) {
				shadows = append(shadows, Shadow{placed, earlier})
				break
			}
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

// comparison compares matches of a route that are not equal.
type comparison struct {
	// matches are those of the route; none if none has a regular expression.
	matches []comparedMatch
	// compared is how many times values have been compared.
	compared int
}

// comparedMatch is a match with its conditions by name.
type comparedMatch struct {
	// plain is the key of the match without headers and query parameters.
	plain                MatchKey
	headers, queryParams []ValueMatch
	// regular is set if the match has regular expressions.
	regular bool
}

func (r *Route) newComparison(all []PlacedMatch) *comparison {
	c := &comparison{}
	if !slices.ContainsFunc(all, func(p PlacedMatch) bool { return r.match(p).anyRegular() }) {
		return c
	}
	for _, placed := range all {
		match := r.match(placed)
		plain := *match
		plain.Headers, plain.QueryParams = nil, nil
		c.matches = append(c.matches, comparedMatch{
			plain:       r.matchKey(&plain),
			headers:     firstOfName(nil, match.Headers, strings.ToLower),
			queryParams: firstOfName(nil, match.QueryParams, func(name string) string { return name }),
			regular:     match.anyRegular(),
		})
	}
	return c
}

// shadows reports whether a match with regular expressions holds for all requests of
// another one with the same path, method and names.
func (c *comparison) shadows(by, match int) bool {
	if len(c.matches) == 0 || c.compared >= mostCompared {
		return false
	}
	x, y := &c.matches[by], &c.matches[match]
	if !x.regular || x.plain != y.plain {
		return false
	}
	c.compared++
	return c.coverValues(x.headers, y.headers) && c.coverValues(x.queryParams, y.queryParams)
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

// anyRegular reports whether the match has a regular expression for a value.
func (m *RouteMatch) anyRegular() bool {
	regular := func(v ValueMatch) bool { return v.Type == regularExpression }
	return slices.ContainsFunc(m.Headers, regular) || slices.ContainsFunc(m.QueryParams, regular)
}

// coverValues reports whether the first conditions have the names of the others, and
// hold where these do.
func (c *comparison) coverValues(by, values []ValueMatch) bool {
	return slices.EqualFunc(by, values, func(x, y ValueMatch) bool {
		if x == y || x.Name != y.Name || x.Type != regularExpression || y.Type == regularExpression || max(len(x.Value), len(y.Value)) > longestExpression {
			return x == y
		}
		c.compared++
		return c.compared <= mostCompared && covers(x.Value, y.Value)
	})
}

// covers reports whether the expression matches the whole value, so that implementations
// cannot differ. One that is costly does not.
func covers(expression, value string) bool {
	if ExpressionCost(expression) > longestExpression {
		return false
	}
	parsed, err := syntax.Parse(expression, syntax.Perl)
	if err != nil || instructions(parsed) > mostInstructions {
		return false
	}
	whole, err := compileWhole(expression)
	return err == nil && whole.MatchString(value)
}

// instructions is about how many a regular expression comes to.
func instructions(expression *syntax.Regexp) int {
	n := 1
	if expression.Op == syntax.OpLiteral {
		n = len(expression.Rune)
	}
	for _, sub := range expression.Sub {
		n += instructions(sub)
	}
	if expression.Op == syntax.OpRepeat {
		n *= max(expression.Min, expression.Max, 1)
	}
	return n
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
