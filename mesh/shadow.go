package mesh

import (
	"regexp/syntax"
	"slices"
)

// Matches, and values with regular expressions, are compared so many times in a route. An
// expression has at most this length, and comes to at most so many instructions: a{1000}
// has seven characters. A route costs at most what its size justifies.
const (
	maxMatchComparisons = 200
	longestExpression   = 64
	mostInstructions    = 1000
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
	all := r.placed(func(n int, _ *RouteMatch) MatchKey { return keys[n] })
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

// comparison compares matches of a route that are not equal.
type comparison struct {
	// matches are those of the route; none if none has a regular expression.
	matches []comparedMatch
	// compared is how many times values have been compared.
	compared int
}

// comparedMatch is a match with its conditions, by their subjects.
type comparedMatch struct {
	// shape is the key of the match without the values of headers and query parameters.
	shape      MatchKey
	conditions []Condition
	// regular is set if any of these values is a regular expression.
	regular bool
}

func (r *Route) newComparison(all []PlacedMatch) *comparison {
	c := &comparison{}
	if !slices.ContainsFunc(all, func(p PlacedMatch) bool { return r.match(p).anyRegular() }) {
		return c
	}
	for _, placed := range all {
		match := r.match(placed)
		conditions := match.conditions(nil, r.Kind)
		slices.SortFunc(conditions, compareSubjects)
		shape := slices.Clone(conditions)
		for i := range shape {
			if shape[i].Name != "" {
				shape[i] = Condition{Subject: shape[i].Subject}
			}
		}
		c.matches = append(c.matches, comparedMatch{keyOf(shape), conditions, match.anyRegular()})
	}
	return c
}

// shadows reports whether a match with regular expressions holds for all requests of
// another one with the same path, method and names.
func (c *comparison) shadows(by, match int) bool {
	if len(c.matches) == 0 || c.compared >= maxMatchComparisons {
		return false
	}
	x, y := &c.matches[by], &c.matches[match]
	if !x.regular || x.shape != y.shape {
		return false
	}
	c.compared++
	return slices.EqualFunc(x.conditions, y.conditions, c.covers)
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
	regular := func(v ValueMatch) bool { return v.Type == RegularExpression }
	return slices.ContainsFunc(m.Headers, regular) || slices.ContainsFunc(m.QueryParams, regular)
}

// covers reports whether the first condition holds where the second one, on the same subject,
// does.
func (c *comparison) covers(x, y Condition) bool {
	if x == y || x.Type != RegularExpression || y.Type == RegularExpression || max(len(x.Text), len(y.Text)) > longestExpression {
		return x == y
	}
	c.compared++
	return c.compared <= maxMatchComparisons && coversText(x.Text, y.Text)
}

// coversText reports whether the expression matches the whole value, so that implementations
// cannot differ. One that is costly does not.
func coversText(expression, value string) bool {
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
