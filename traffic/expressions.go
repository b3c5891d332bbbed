package traffic

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/mesh"
)

// ExpressionChange is a regular expression that is another text now, where no example tells the two
// apart: whether requests go somewhere else is not known.
type ExpressionChange struct {
	// Route, Rule, and Match are where it is.
	Route string `json:"route"`
	Rule  int    `json:"rule"`
	Match int    `json:"match"`
	// Subject is what it is matched with: "path", "header tenant".
	Subject string `json:"subject"`
	Before  string `json:"before"`
	After   string `json:"after"`
}

// String reads `HTTPRoute shop/cart rule[0] match[0]: the regular expression on the path was "\\d" and is "[0-9]"; ...`.
func (e *ExpressionChange) String() string {
	return fmt.Sprintf("%s rule[%d] match[%d]: the regular expression on the %s was %q and is now %q; no example tells them apart, so it is not known which requests go somewhere else",
		e.Route, e.Rule, e.Match, e.Subject, e.Before, e.After)
}

// unclear returns the expressions that changed, of which no example tells the versions apart.
func (c *comparer) unclear() (changes []ExpressionChange) {
	was := map[string]*entry{}
	for e := range c.sides[0].expressions() {
		was[e.String()] = e
	}
	for e := range c.sides[1].expressions() {
		before := was[e.String()]
		if before == nil {
			continue
		}
		for i := range e.conditions {
			now := &e.conditions[i]
			at := slices.IndexFunc(before.conditions, func(old condition) bool { return old.Type == now.Type && old.Subject == now.Subject })
			if now.Type == mesh.RegularExpression && at >= 0 && before.conditions[at].Text != now.Text && !c.tells(&before.conditions[at], now) {
				changes = append(changes, ExpressionChange{e.route.String(), e.rule, e.at, now.Subject.String(), before.conditions[at].Text, now.Text})
			}
		}
	}
	return changes
}

// tells reports whether there is an example that meets one of two conditions on a subject.
func (c *comparer) tells(a, b *condition) bool {
	for _, pair := range [][2]*condition{{a, b}, {b, a}} {
		if text, _ := example(valuesOf(pair[0]), pair[1:], &c.searches); text != "" {
			return true
		}
	}
	return false
}

// valuesOf returns what a value must meet, to be one of a request that meets the condition.
func valuesOf(c *condition) []*condition {
	if c.Dimension == mesh.PathDimension && c.whole != nil {
		return []*condition{c, &aPath}
	}
	return []*condition{c}
}

// expressions yields the matches with regular expressions.
func (s *side) expressions() func(yield func(*entry) bool) {
	return func(yield func(*entry) bool) {
		if s.routes == nil {
			return
		}
		for i := range s.routes.entries {
			e := &s.routes.entries[i]
			if slices.ContainsFunc(e.conditions, func(c condition) bool { return c.Type == mesh.RegularExpression }) && !yield(e) {
				return
			}
		}
	}
}

// approximate notes whose regular expressions are compared by examples.
func (c *comparer) approximate() {
	var routes []string
	for i := range c.sides {
		for e := range c.sides[i].expressions() {
			if name := e.route.String(); !slices.Contains(routes, name) {
				routes = append(routes, name)
			}
		}
	}
	if len(routes) > 0 {
		c.notes = append(c.notes, "regular expressions of "+someOf(routes)+" are compared as text, and by examples of what they match: changes within what they match may be missing")
	}
}

// maxNamed is how many names a note has.
const maxNamed = 3

func someOf(names []string) string {
	slices.Sort(names)
	text := strings.Join(names[:min(len(names), maxNamed)], ", ")
	if more := len(names) - maxNamed; more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return text
}

// findExamples finds paths that stand for the regular expressions on paths: one for each; one for what two have in common, and
// for what each of the two has beyond the other; and one for what an expression has beyond all others.
func (c *comparer) findExamples(t *texts) {
	var exact []*condition
	for _, path := range slices.Sorted(maps.Keys(t.paths)) {
		if !strings.HasSuffix(path, "*") {
			exact = append(exact, &condition{Condition: mesh.Condition{Type: mesh.Exact, Text: path}})
		}
	}
	budget := c.searches / 2 // the other half is for the values of headers
	c.searches -= budget
	defer func() { c.searches += budget }()
	find := func(these, others []*condition) (path string, all bool) {
		var values []*condition
		for _, expression := range these {
			values = append(values, valuesOf(expression)...)
		}
		if path, all = example(values, others, &budget); t.paths[path] && t.examples[path] == nil { // that of an exact match
			path, _ = example(values, slices.Concat(others, exact), &budget)
		}
		return path, all && path == ""
	}
	var regions []*region
	add := func(path string) {
		if path == "" || t.paths[path] {
			return
		}
		found := &region{path: path, meets: t.met(path)}
		if !slices.ContainsFunc(regions, func(r *region) bool { return slices.Equal(r.meets, found.meets) }) {
			regions = append(regions, found)
			t.paths[path], t.examples[path] = true, found
		}
	}
	found := make([]string, len(t.expressions))
	for i := range t.expressions {
		found[i], _ = find(t.expressions[i:i+1], nil)
		add(found[i])
	}
	within := map[[2]int]bool{} // all that meets the one meets the other
	for i, expression := range t.expressions {
		var others []*condition
		for j, other := range t.expressions {
			if i == j || found[i] == "" || found[j] == "" {
				continue
			}
			if !other.holds(found[i]) {
				if i < j && !expression.holds(found[j]) {
					path, _ := find([]*condition{expression, other}, nil)
					add(path)
				}
				continue
			}
			path, none := find([]*condition{expression}, []*condition{other})
			if within[[2]int{i, j}] = none; path != "" {
				others = append(others, other)
				add(path)
			}
		}
		if len(others) > 1 {
			path, _ := find([]*condition{expression}, others)
			add(path)
		}
	}
	for _, r := range regions {
		r.name(t.expressions, within)
	}
}

// region is where some regular expressions on paths hold.
type region struct {
	// path is one of the paths.
	path string
	// meets are the numbers of all expressions that hold there, ascending.
	meets []int
	// text names those of them that the others follow from: "~ /v[0-9]+", "~ /a.* and ~ /.*b".
	text string
}

// name writes the text.
func (r *region) name(expressions []*condition, within map[[2]int]bool) {
	var texts []string
	for _, i := range r.meets {
		if !slices.ContainsFunc(r.meets, func(j int) bool {
			return i != j && within[[2]int{j, i}] && (j < i || !within[[2]int{i, j}])
		}) {
			texts = append(texts, "~ "+expressions[i].Text)
		}
	}
	r.text = strings.Join(texts, " and ")
}

// met returns the numbers of the expressions that a path meets.
func (t *texts) met(path string) (numbers []int) {
	for i, expression := range t.expressions {
		if expression.holds(path) {
			numbers = append(numbers, i)
		}
	}
	return numbers
}

// nest puts the points of narrower regions, and of paths that are matched as a whole, into those of the regions around them.
func (t *texts) nest(points []*point) {
	var regions []*point
	for _, p := range points {
		if p.region != nil {
			regions = append(regions, p)
		}
	}
	slices.SortStableFunc(regions, func(a, b *point) int { return len(a.region.meets) - len(b.region.meets) })
	for _, p := range regions {
		p.nest(p.region.meets, regions)
	}
	for _, p := range points {
		switch {
		case len(regions) == 0 || p.region != nil:
		case t.paths[p.at.Path]:
			p.nest(t.met(p.at.Path), regions)
		default:
			p.cut(t.met(p.at.Path), regions)
		}
	}
}

// cut makes a prefix an exception of the regions that its path is in, if it decides there. It is not within them: other
// paths below it may meet none of their expressions.
func (p *point) cut(meets []int, regions []*point) {
	for _, r := range regions {
		if subset(r.region.meets, meets) && !r.within(p) {
			r.children = append(r.children, p)
		}
	}
}

// nest puts a point that meets expressions into the narrowest regions around it.
func (p *point) nest(meets []int, regions []*point) {
	var around []*point
	for _, r := range regions {
		if r != p && subset(r.region.meets, meets) {
			around = slices.DeleteFunc(around, func(wider *point) bool { return subset(wider.region.meets, r.region.meets) })
			around = append(around, r)
		}
	}
	above := map[*point]bool{}
	for _, r := range around {
		r.addParents(above)
	}
	p.parents = slices.DeleteFunc(p.parents, func(wider *point) bool {
		if above[wider] {
			wider.children = slices.DeleteFunc(wider.children, func(other *point) bool { return other == p })
		}
		return above[wider]
	})
	for _, r := range around {
		p.putInto(r)
	}
}

// addParents adds the points that a point is in.
func (p *point) addParents(above map[*point]bool) {
	for _, around := range p.parents {
		if !above[around] {
			above[around] = true
			around.addParents(above)
		}
	}
}
