package traffic

import (
	"iter"
	"maps"
	"slices"
	"strings"
)

// Class is a class of requests, by what they have in common.
type Class struct {
	// From is the client's namespace; empty for every one without consumer routes.
	From string `json:"from,omitempty"`
	// Method is the HTTP method; empty for any.
	Method string `json:"method,omitempty"`
	// Where is the path, the gRPC method or the server name: "/v2*". It is empty for
	// every request or connection.
	Where string `json:"where,omitempty"`
	// Conditions are those on headers and query parameters: "tenant=gold", "?a=b".
	Conditions []string `json:"conditions,omitempty"`
	// Except are classes within that go elsewhere. Where there are many, the last
	// is "...".
	Except []string `json:"except,omitempty"`
}

// mostExceptions is how many of the exceptions of a class are named.
const mostExceptions = 3

// changes compares the sides and returns the classes of requests that go somewhere
// else, each told once: where it contains others with the same change, by itself.
func (c *comparer) changes() ([]Change, error) {
	points := c.space()
	for i := range c.sides {
		if err := c.prepare(&c.sides[i]); err != nil {
			return nil, err
		}
	}
	for _, p := range points {
		lists := [2][]reduced{c.reduce(&c.sides[0], p), c.reduce(&c.sides[1], p)}
		if !equalLists(lists[0], lists[1]) {
			p.lists = lists
			p.cells = c.distinct(p, c.compare(lists))
		}
		c.unchanged += max(0, max(len(lists[0]), len(lists[1]))-len(p.cells))
	}
	var changes []Change
	for _, p := range points {
		for j := range p.cells {
			if found := &p.cells[j]; !c.toldAbove(p, found) {
				if change, ok := c.change(p, found); ok {
					changes = append(changes, change)
				}
			}
		}
	}
	return changes, nil
}

func equalLists(a, b []reduced) bool {
	return slices.EqualFunc(a, b, func(x, y reduced) bool {
		return x.outcome == y.outcome && slices.Equal(x.conditions, y.conditions)
	})
}

// distinct drops the cells that others tell.
func (c *comparer) distinct(p *point, cells []cell) []cell {
	slices.SortStableFunc(cells, func(a, b cell) int { return len(a.conditions) - len(b.conditions) })
	var kept []cell
	byChange := map[[2]int][]int{} // indices of those kept
	for i := range cells {
		found := &cells[i]
		change := [2]int{found.sides[0].outcome, found.sides[1].outcome}
		if !slices.ContainsFunc(byChange[change], func(k int) bool { return c.tells(p, &kept[k], p, found) }) {
			byChange[change] = append(byChange[change], len(kept))
			kept = append(kept, *found)
		}
	}
	return kept
}

// toldAbove reports whether a cell of each class around the point tells this one.
func (c *comparer) toldAbove(p *point, found *cell) bool {
	for _, above := range p.parents {
		if !slices.ContainsFunc(above.cells, func(other cell) bool {
			return len(other.conditions) == len(found.conditions) && c.tells(above, &other, p, found)
		}) {
			return false
		}
	}
	return len(p.parents) > 0
}

// tells reports whether one class, with its exceptions, says all that another one
// does: it covers it, and none of its exceptions has requests of the other.
func (c *comparer) tells(p *point, a *cell, q *point, b *cell) bool {
	if !a.covers(b) {
		return false
	}
	for exception := range c.before(p, a) {
		if c.work--; c.work < 0 {
			return false
		}
		within := slices.Concat(exception.conditions, b.conditions)
		slices.Sort(within)
		if c.contradict(within) {
			continue
		}
		both := false
		for other := range c.before(q, b) {
			c.work--
			if both = subset(other.conditions, within); both {
				break
			}
		}
		if !both {
			return false
		}
	}
	return true
}

// before yields the matches before those that decide the cell and that lead
// elsewhere.
func (c *comparer) before(p *point, found *cell) iter.Seq[*reduced] {
	return func(yield func(*reduced) bool) {
		for side := range p.lists {
			list := p.lists[side][:found.position[side]]
			for i := range list {
				if list[i].outcome != found.sides[side].outcome && !c.contradict(slices.Concat(list[i].conditions, found.conditions)) && !yield(&list[i]) {
					return
				}
			}
		}
	}
}

// change describes a cell. Where regular expressions take part it may turn out to
// have no witness.
func (c *comparer) change(p *point, found *cell) (Change, bool) {
	before, after := found.sides[0], found.sides[1]
	out := Change{
		Before:  c.outcomes[before.outcome],
		After:   c.outcomes[after.outcome],
		Because: c.because(before.decides(), after.decides()),
		Witness: c.witness(p, found),
	}
	if c.regular && !c.confirms(&out.Witness, found) {
		return out, false
	}
	out.Class.Where = p.text
	for _, id := range found.conditions {
		if condition := c.conditions[id]; condition.dimension == methodDimension {
			out.Class.Method = condition.text
		} else {
			out.Class.Conditions = append(out.Class.Conditions, condition.String())
		}
	}
	out.Class.Except = c.exceptions(nil, p, found, "")
	if len(out.Class.Except) > mostExceptions {
		out.Class.Except = append(out.Class.Except[:mostExceptions], "...")
	}
	return out, true
}

// decides returns the match, or nil if it stands for none.
func (r *reduced) decides() *entry {
	if r.line == nil {
		return nil
	}
	return r.entry
}

// String reads "tenant=gold", "?color~b.*" or "POST".
func (c *condition) String() string {
	operator := "="
	if c.operator == regular {
		operator = "~"
	}
	switch c.dimension {
	case headerDimension:
		return c.name + operator + shown(c.text)
	case paramDimension:
		return "?" + c.name + operator + shown(c.text)
	}
	return c.text
}

// exceptions adds what in a cell at the point goes elsewhere: by matches before, and
// by narrower paths. Where names the point, seen from the class that they are
// exceptions of.
func (c *comparer) exceptions(out []string, p *point, found *cell, where string) []string {
	for before := range c.before(p, found) {
		if len(out) > mostExceptions {
			return out
		}
		text := strings.TrimSpace(where + " " + c.text(before.conditions, found.conditions))
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	for _, child := range p.children {
		if len(out) > mostExceptions {
			return out
		}
		if within := child.covering(found); within != nil {
			out = c.exceptions(out, child, within, child.text)
		} else if !slices.Contains(out, child.text) {
			out = append(out, child.text)
		}
	}
	return out
}

// covering returns a cell of the point that covers the one given, the same one if
// it is there.
func (p *point) covering(found *cell) *cell {
	var wider *cell
	for i := range p.cells {
		if other := &p.cells[i]; other.covers(found) {
			if wider = other; len(other.conditions) == len(found.conditions) {
				break
			}
		}
	}
	return wider
}

// text writes the conditions but for those that are given.
func (c *comparer) text(conditions, given []int) string {
	var texts []string
	for _, id := range conditions {
		if !slices.Contains(given, id) {
			texts = append(texts, c.conditions[id].String())
		}
	}
	return strings.Join(texts, " ")
}

// witness returns the plainest request of a cell: it has what the conditions ask
// for, and a method that no match there looks for.
func (c *comparer) witness(p *point, found *cell) Request {
	r := p.at
	r.Headers, r.Query = maps.Clone(p.at.Headers), nil
	for _, id := range found.conditions {
		condition := c.conditions[id]
		text := condition.text
		if condition.operator == regular {
			text = condition.example()
		}
		switch {
		case condition.dimension == methodDimension:
			r.Method = text
		case condition.dimension == paramDimension:
			if r.Query == nil {
				r.Query = map[string]string{}
			}
			r.Query[condition.name] = text
		case condition.name == "host":
			r.Host = text
		default:
			if r.Headers == nil {
				r.Headers = map[string]string{}
			}
			r.Headers[condition.name] = text
		}
	}
	if r.Method == "" {
		if p.otherMethod == "" {
			p.otherMethod = c.otherMethod(p.lists)
		}
		if p.otherMethod != "GET" { // the default
			r.Method = p.otherMethod
		}
	}
	return r
}

// otherMethod returns a method that no match of the lists looks for.
func (c *comparer) otherMethod(lists [2][]reduced) string {
	taken := map[string]bool{}
	for _, list := range lists {
		for i := range list {
			for _, id := range list[i].conditions {
				if condition := c.conditions[id]; condition.dimension == methodDimension {
					taken[condition.text] = true
				}
			}
		}
	}
	for _, method := range []string{"GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE", "CONNECT"} {
		if !taken[method] {
			return method
		}
	}
	return fresh("PURGE", func(name string) bool { return taken[name] })
}

// confirms reports whether the engine decides the request as the cell says.
func (c *comparer) confirms(r *Request, found *cell) bool {
	for i := range c.sides {
		s := &c.sides[i]
		got := s.rest
		if s.routes != nil {
			if e := s.routes.decide(r); e != nil {
				for j := range s.routes.entries {
					if &s.routes.entries[j] == e {
						got = s.lines[j].outcome
					}
				}
			}
		}
		if got != found.sides[i].outcome {
			return false
		}
	}
	return true
}
