package mesh

import (
	"cmp"
	"regexp/syntax"
	"slices"
	"strings"
)

// Matches, and values with regular expressions, are compared so many times in a route. An
// expression has at most this length, and comes to at most so many instructions: a{1000}
// has seven characters. A route costs at most what its size justifies.
const (
	maxMatchComparisons = 200
	longestExpression   = 64
	mostInstructions    = 1000
)

// Shadow is a match that never decides, since another match of the same route
// holds for all its requests and comes first.
type Shadow struct {
	PlacedMatch
	// By is the other match.
	By PlacedMatch
	// Ranked: the mesh ranks the other match higher because one of them has a regular expression for the
	// path, wherever they are in the route.
	Ranked bool
}

// Shadows returns the matches of an HTTPRoute or GRPCRoute that never decide. An
// earlier match that holds for all requests of another one and ranks as high has the
// same path, method and names: it is equal, or has regular expressions for the
// values of headers or query parameters. Where it is known how the mesh ranks regular expressions for
// paths, a match that holds for all requests of another one may rank higher. The keys are those of
// all matches, in the order of the rules.
func (r *Route) Shadows(keys []MatchKey, profile *Profile) []Shadow {
	if r.Kind != HTTPRoute && r.Kind != GRPCRoute || r.onlyMatch() {
		return nil
	}
	var shadows []Shadow
	all := r.placed(func(n int, _ *RouteMatch) MatchKey { return keys[n] })
	c := r.newComparison(all, profile)
	for i, placed := range all {
		others := all[:i]
		if c.ranked {
			others = all
		}
		for j, by := range others {
			higher := c.higher(j, i)
			if (higher > 0 || higher == 0 && j < i) && (by.Key == placed.Key || c.shadows(j, i)) {
				shadows = append(shadows, Shadow{placed, by, higher > 0 && by.Key != placed.Key})
				break
			}
		}
	}
	return shadows
}

// comparison compares matches of a route that are not equal.
type comparison struct {
	// matches are those of the route; none if nothing is known of them but their keys.
	matches []comparedMatch
	// ranked: matches are compared by their ranks too.
	ranked bool
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
	// rank and path are those of a match that is compared by its rank.
	rank Rank
	path comparedPath
}

func (r *Route) newComparison(all []PlacedMatch, profile *Profile) *comparison {
	c := &comparison{ranked: profile.OrdersExpressions(r.Kind) && (r.Kind == GRPCRoute || r.regular())}
	if !c.ranked && !slices.ContainsFunc(all, func(p PlacedMatch) bool { return r.match(p).anyRegular() }) {
		return c
	}
	for _, placed := range all {
		match := r.match(placed)
		compared := comparedMatch{conditions: profile.conditions(match, r.Kind), regular: match.anyRegular()}
		if c.ranked {
			compared.rank = r.Rank(placed.Rule, compared.conditions, profile)
			compared.path = comparePath(compared.conditions)
		}
		slices.SortFunc(compared.conditions, compareSubjects)
		shape := slices.Clone(compared.conditions)
		for i := range shape {
			if shape[i].Name != "" {
				shape[i] = Condition{Subject: shape[i].Subject}
			}
		}
		compared.shape = keyOf(shape)
		c.matches = append(c.matches, compared)
	}
	return c
}

// higher compares the ranks of two matches.
func (c *comparison) higher(a, b int) int {
	if !c.ranked {
		return 0
	}
	return c.matches[a].rank.Compare(&c.matches[b].rank)
}

// shadows reports whether a match that comes before another one, which is not equal, holds for all its
// requests: it has the same path, method and names, and regular expressions, or it ranks higher by its
// path, and has no more conditions.
func (c *comparison) shadows(by, match int) bool {
	if len(c.matches) == 0 || c.compared >= maxMatchComparisons {
		return false
	}
	x, y := &c.matches[by], &c.matches[match]
	if x.shape == y.shape && !x.regular || x.shape != y.shape && (!c.ranked || !x.path.covers(&y.path)) {
		return false
	}
	c.compared++
	for _, condition := range x.conditions {
		if condition.Dimension != PathDimension && !slices.ContainsFunc(y.conditions, func(other Condition) bool {
			return other.Subject == condition.Subject && c.covers(condition, other)
		}) {
			return false
		}
	}
	return true
}

// comparedPath is the condition of a match on the path.
type comparedPath struct {
	Condition
	// begins is what all paths that meet it begin with. all is set if it is an expression that all
	// paths meet which begin with that.
	begins string
	all    bool
}

func comparePath(conditions []Condition) comparedPath {
	p := comparedPath{Condition: Condition{Type: PathPrefix}}
	if i := slices.IndexFunc(conditions, func(c Condition) bool { return c.Dimension == PathDimension }); i >= 0 {
		p.Condition = conditions[i]
	}
	if p.begins = p.Text; p.Type == RegularExpression {
		p.begins, p.all = beginning(p.Text)
	}
	p.begins = cmp.Or(p.begins, "/")
	return p
}

// anyPath reports whether it is certain that a match has a regular expression that all paths meet, and no
// other condition.
func (r *Route) anyPath(profile *Profile) bool {
	return r.Kind == HTTPRoute && len(profile.matchedHosts(r)) == 0 && slices.ContainsFunc(r.Spec.Rules, func(rule RouteRule) bool {
		return slices.ContainsFunc(rule.Matches, func(m RouteMatch) bool {
			if m.Path == nil || m.Path.Type != RegularExpression {
				return false
			}
			conditions := profile.conditions(&m, r.Kind)
			path := comparePath(conditions)
			return len(conditions) == 1 && path.all && path.begins == "/"
		})
	})
}

// covers reports whether it is certain that a path which meets the other condition meets this one.
func (p *comparedPath) covers(other *comparedPath) bool {
	switch p.Type {
	case PathPrefix:
		below, under := strings.CutPrefix(other.begins, p.Text)
		return p.Text == "" || under && strings.HasPrefix(below, "/")
	case RegularExpression:
		return p.all && strings.HasPrefix(other.begins, p.begins)
	}
	return false
}

// beginning returns a text that all values begin with which the expression matches as a whole, and
// whether it matches all that begin with it. Nothing is known of one that is costly.
func beginning(expression string) (text string, all bool) {
	parsed := parseCheap(expression)
	if parsed == nil {
		return "", false
	}
	parts := []*syntax.Regexp{parsed}
	if parsed.Op == syntax.OpConcat {
		parts = parsed.Sub
	}
	if parts[0].Op == syntax.OpBeginText {
		parts = parts[1:]
	}
	if n := len(parts); n > 0 && parts[n-1].Op == syntax.OpEndText {
		parts = parts[:n-1]
	}
	if len(parts) > 0 && parts[0].Op == syntax.OpLiteral && parts[0].Flags&syntax.FoldCase == 0 {
		text, parts = string(parts[0].Rune), parts[1:]
	}
	return text, len(parts) == 1 && parts[0].Op == syntax.OpStar && parts[0].Sub[0].Op == syntax.OpAnyCharNotNL
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
	if parseCheap(expression) == nil {
		return false
	}
	whole, err := compileWhole(expression)
	return err == nil && whole.MatchString(value)
}

// parseCheap parses an expression; it returns nil for one that is costly, or cannot be read.
func parseCheap(expression string) *syntax.Regexp {
	if ExpressionCost(expression) > longestExpression {
		return nil
	}
	parsed, err := syntax.Parse(expression, syntax.Perl)
	if err != nil || instructions(parsed) > mostInstructions {
		return nil
	}
	return parsed
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
