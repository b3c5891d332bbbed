package traffic

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/mesh"
)

// findExamples finds paths, or names, that stand for the regular expressions on them: one for each; one for what two have in common, and
// for what each of the two has beyond the other; one for what an expression has beyond all others; and one for what it has in each prefix, and
// beyond all prefixes.
func (c *comparer) findExamples(t *looked) {
	if len(t.expressions) == 0 {
		return
	}
	e := examples{looked: t, budget: c.searches / 2, all: map[[2]*condition]bool{}} // the other half is for the values of headers
	c.searches -= e.budget
	defer func() { c.searches += e.budget }()
	for _, path := range slices.Sorted(maps.Keys(t.texts)) {
		if prefix, is := strings.CutSuffix(path, "*"); !is {
			e.exact = append(e.exact, &condition{Condition: mesh.Condition{Subject: t.any.Subject, Type: mesh.Exact, Text: path}})
		} else if prefix != "" {
			e.prefixes = append(e.prefixes, pathCondition(mesh.PathPrefix, prefix))
		}
	}
	found := make([]string, len(t.expressions))
	for i := range t.expressions {
		found[i], _ = e.find(t.expressions[i:i+1], nil)
		e.add(found[i])
	}
	for i := range t.expressions {
		e.besideOthers(i, found)
	}
	for i, path := range found {
		if path != "" {
			e.besidePrefixes(t.expressions[i])
		}
	}
	for _, r := range e.regions {
		e.name(r)
	}
	e.standIn(t.any, "")
	for _, prefix := range e.prefixes {
		e.standIn(prefix, prefix.Text)
	}
}

func pathCondition(kind mesh.MatchType, path string) *condition {
	return &condition{Condition: mesh.Condition{Subject: mesh.Subject{Dimension: mesh.PathDimension}, Type: kind, Text: path}}
}

// examples is the search for such paths.
type examples struct {
	*looked
	// exact and prefixes are the other conditions on paths.
	exact, prefixes []*condition
	// budget counts down the steps of searches.
	budget  int
	regions []*region
	// all says of two conditions whether all paths of the one meet the other.
	all map[[2]*condition]bool
}

// find returns a path that meets these conditions and none of the others, if possible none that is matched as a whole. There is none if it
// looked at all.
func (e *examples) find(these, others []*condition) (path string, none bool) {
	var values []*condition
	for _, c := range these {
		values = append(values, valuesOf(c)...)
	}
	path, all := example(values, others, &e.budget)
	none = all && path == ""
	if e.texts[path] && e.examples[path] == nil { // that of an exact match
		path, _ = example(values, slices.Concat(others, e.exact), &e.budget)
	}
	return path, none
}

// within reports whether all paths of a meet b.
func (e *examples) within(a, b *condition) bool {
	key := [2]*condition{a, b}
	if _, known := e.all[key]; !known {
		_, e.all[key] = e.find([]*condition{a}, []*condition{b})
	}
	return e.all[key]
}

// add adds the region of a path, unless it is there, or is that of a prefix as a whole.
func (e *examples) add(path string) {
	if path == "" || e.texts[path] {
		return
	}
	added := &region{path: path, meets: e.met(path), prefix: e.narrowest(path)}
	if added.prefix != nil && !slices.ContainsFunc(added.meets, func(i int) bool { return !e.covers(added.prefix, e.expressions[i]) }) {
		return
	}
	if !slices.ContainsFunc(e.regions, func(r *region) bool { return slices.Equal(r.meets, added.meets) && r.prefix == added.prefix }) {
		e.regions = append(e.regions, added)
		e.texts[path], e.examples[path] = true, added
	}
}

// covers reports whether all paths of the prefix meet the expression.
func (e *examples) covers(prefix, expression *condition) bool {
	return (prefix == e.any || expression.holds(prefix.Text)) && e.within(prefix, expression)
}

// narrowest returns the longest prefix that holds for the path, or nil.
func (e *examples) narrowest(path string) *condition {
	for at := range ancestors(path) {
		if i, is := slices.BinarySearchFunc(e.prefixes, at+"*", func(c *condition, text string) int { return strings.Compare(c.Text+"*", text) }); is {
			return e.prefixes[i]
		}
	}
	return nil
}

// besideOthers finds what an expression has in common with each other one, and what beyond it, and beyond all.
func (e *examples) besideOthers(i int, found []string) {
	expression := e.expressions[i]
	var others []*condition
	for j, other := range e.expressions {
		switch {
		case i == j || found[i] == "" || found[j] == "":
		case other.holds(found[i]):
			path, none := e.find([]*condition{expression}, []*condition{other})
			if e.all[[2]*condition{expression, other}] = none; path != "" {
				others = append(others, other)
				e.add(path)
			}
		case i < j && !expression.holds(found[j]):
			path, _ := e.find([]*condition{expression, other}, nil)
			e.add(path)
		}
	}
	if len(others) > 1 {
		path, _ := e.find([]*condition{expression}, others)
		e.add(path)
	}
}

// besidePrefixes finds what an expression has beyond the prefixes, and what in each, beyond those that are narrower, and beyond other expressions.
func (e *examples) besidePrefixes(expression *condition) {
	e.add(e.apart([]*condition{expression}, nil, ""))
	var literal string // begins all that it matches
	if expression.anywhere != nil {
		literal, _ = expression.anywhere.LiteralPrefix()
	}
	for _, prefix := range e.prefixes {
		if !strings.HasPrefix(prefix.Text, literal) && !strings.HasPrefix(literal, prefix.Text) || e.covers(prefix, expression) {
			continue
		}
		these := []*condition{expression, prefix}
		path := e.apart(these, nil, prefix.Text)
		e.add(path)
		if others := e.others(path, prefix, expression); path != "" && len(others) > 0 {
			e.add(e.apart(these, others, prefix.Text))
		}
	}
}

// others returns the expressions but for one that a path in a prefix meets, and not all of the prefix does.
func (e *examples) others(path string, prefix, but *condition) (others []*condition) {
	for _, other := range e.expressions {
		if other != but && other.holds(path) && !e.covers(prefix, other) {
			others = append(others, other)
		}
	}
	return others
}

// standIn finds a path that stands for a prefix, if the plainest one meets an expression that others in the prefix do not meet.
func (e *examples) standIn(in *condition, prefix string) {
	path := e.standsFor(prefix)
	if others := e.others(path, in, nil); len(others) > 0 {
		if path = e.apart([]*condition{in}, others, prefix); path != "" && !e.texts[path] {
			e.instead[prefix] = path
		}
	}
}

// maxApart is how many prefixes a path is kept from, to find one beyond all.
const maxApart = 8

// apart finds a path that meets these conditions and none of the others, and no prefix that is longer than the one given.
func (e *examples) apart(these, others []*condition, prefix string) (path string) {
	for range maxApart {
		path, _ = e.find(these, others)
		narrower := e.narrowest(path)
		if narrower == nil || len(narrower.Text) <= len(prefix) {
			return path
		}
		others = append(others, narrower)
	}
	return ""
}

// region is where some regular expressions on paths hold.
type region struct {
	// path is one of the paths.
	path string
	// meets are the numbers of all expressions that hold there, ascending.
	meets []int
	// prefix is the narrowest that holds there; nil if none does.
	prefix *condition
	// text names those of them that the others follow from: "~ /v[0-9]+", "~ /a.* and ~ /.*b", "~ /a.+ and /a*".
	text string
}

// holds reports whether the region has a path, which meets these expressions.
func (r *region) holds(path string, meets []int) bool {
	return subset(r.meets, meets) && (r.prefix == nil || r.prefix.holds(path))
}

// depth is how long the prefix of a region is.
func (r *region) depth() int {
	if r.prefix == nil {
		return 0
	}
	return len(r.prefix.Text)
}

// name writes the text of a region.
func (e *examples) name(r *region) {
	var texts []string
	implied := false // the prefix, by an expression
	for _, i := range r.meets {
		this := e.expressions[i]
		if !slices.ContainsFunc(r.meets, func(j int) bool {
			other := e.expressions[j]
			return i != j && e.all[[2]*condition{other, this}] && (j < i || !e.all[[2]*condition{this, other}])
		}) {
			texts = append(texts, "~ "+this.Text)
		}
		implied = implied || r.prefix != nil && e.within(this, r.prefix)
	}
	if r.prefix != nil && !implied {
		texts = append(texts, r.prefix.Text+"*")
	}
	r.text = strings.Join(texts, " and ")
}

// nest puts the points of narrower regions, and of paths that are matched as a whole, into those of the regions around them.
func (t *looked) nest(points []*point) {
	var regions []*point
	for _, p := range points {
		if p.region != nil {
			regions = append(regions, p)
		}
	}
	slices.SortStableFunc(regions, func(a, b *point) int { // the wider ones first
		return cmp.Or(len(a.region.meets)-len(b.region.meets), a.region.depth()-b.region.depth())
	})
	for _, p := range regions {
		p.nest(p.region.meets, regions)
	}
	for _, p := range points {
		switch {
		case len(regions) == 0 || p.region != nil:
		case t.texts[p.at.Path]:
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
		if r.region.holds(p.at.Path, meets) && !r.within(p) {
			r.children = append(r.children, p)
		}
	}
}

// nest puts a point that meets expressions into the narrowest regions around it.
func (p *point) nest(meets []int, regions []*point) {
	var around []*point
	for _, r := range regions {
		if r != p && r.region.holds(p.at.Path, meets) {
			around = slices.DeleteFunc(around, func(wider *point) bool { return wider.region.holds(r.at.Path, r.region.meets) })
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
