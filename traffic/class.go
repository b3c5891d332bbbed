package traffic

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/mesh"
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
		c.look(p)
	}
	var changes []Change
	for _, p := range points {
		for j := range p.cells {
			if found := &p.cells[j]; !c.subsumedAbove(p, found) {
				if change, ok := c.change(p, found); ok {
					changes = append(changes, change)
					c.caution(&c.sides[0], found.sides[0].line)
					c.caution(&c.sides[1], found.sides[1].line)
				}
			}
		}
	}
	return changes, nil
}

// look compares the sides at a point.
func (c *comparer) look(p *point) {
	p.lists = [2][]reduced{c.reduce(0, p), c.reduce(1, p)}
	size := max(len(p.lists[0]), len(p.lists[1]))
	if equalLists(p.lists[0], p.lists[1]) {
		c.unchanged += size
		p.lists = [2][]reduced{}
		return
	}
	c.differs = true
	c.work -= workOfLine * (len(p.lists[0]) + len(p.lists[1]))
	cells, ok := c.compare(p.lists)
	if !ok {
		cells = c.witnesses(p, p.lists)
		p.unexamined = true
		if len(cells) > 0 {
			p.otherMethod = c.otherMethod(p.lists)
		}
	}
	p.cells = c.distinct(p, cells)
	if len(p.cells) == 0 || p.unexamined {
		p.lists = [2][]reduced{}
	} else {
		p.lists = [2][]reduced{slices.Clone(p.lists[0]), slices.Clone(p.lists[1])}
	}
	c.unchanged += max(0, size-len(p.cells))
}

func equalLists(a, b []reduced) bool {
	return slices.EqualFunc(a, b, func(x, y reduced) bool {
		return x.outcome == y.outcome && slices.Equal(x.conditions, y.conditions)
	})
}

// change describes a cell. Where regular expressions take part it may turn out to
// have no witness.
func (c *comparer) change(p *point, found *cell) (Change, bool) {
	before, after := &found.sides[0], &found.sides[1]
	out := Change{
		Before:  c.outcomeOf(0, before),
		After:   c.outcomeOf(1, after),
		Because: cmp.Or(c.because(before.decides(), after.decides()), c.leftOut(before.line, after.line)),
	}
	var ok bool
	if out.Witness, ok = c.witness(p, found); !ok {
		return out, false
	}
	out.Class = c.class(p, found)
	if out.Class.Except = c.exceptions(p, found); p.unexamined {
		out.Class.Except = []string{"..."}
	}
	return out, true
}

// class describes the requests of a cell, but for its exceptions.
func (c *comparer) class(p *point, found *cell) Class {
	class := Class{Where: p.text}
	if p.plain {
		class.Where = strings.TrimSpace(notGRPC + " " + class.Where)
	}
	if p.example != "" {
		class.Where += " such as " + p.example
	}
	for _, id := range found.conditions {
		if condition := c.conditions[id]; condition.Dimension == mesh.MethodDimension {
			class.Method = condition.Text
		} else {
			class.Conditions = append(class.Conditions, condition.String())
		}
	}
	return class
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
	if c.Type == mesh.RegularExpression {
		operator = "~"
	}
	switch c.Dimension {
	case mesh.HostDimension:
		return "host" + operator + c.wanted()
	case mesh.HeaderDimension:
		return c.Name + operator + shown(c.Text)
	case mesh.QueryParamDimension:
		return "?" + c.Name + operator + shown(c.Text)
	}
	return c.Text
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

// witness returns a request of a cell. Where regular expressions take part, there may be none: its values
// must meet them, and no other match may decide.
func (c *comparer) witness(p *point, found *cell) (Request, bool) {
	r := c.plainest(p, found, nil)
	if !c.regular || c.confirms(&r, found) {
		return r, true
	}
	rivals := c.rivals(p, found)
	for i := range rivals {
		if r = c.plainest(p, found, rivals[i:i+1]); c.confirms(&r, found) {
			return r, true
		}
	}
	r = c.plainest(p, found, rivals)
	ok := c.confirms(&r, found)
	return r, ok
}

// maxRivals is how many conditions a request is kept from meeting, to find one of a class.
const maxRivals = 32

// rivals are the other conditions at the point on what the cell has regular expressions on.
func (c *comparer) rivals(p *point, found *cell) (rivals []*condition) {
	for _, list := range p.lists {
		for i := range list {
			for _, id := range list[i].conditions {
				rival := c.conditions[id]
				if !slices.Contains(rivals, rival) && !slices.Contains(found.conditions, id) && len(c.regularOn(found, rival.Subject)) > 0 && len(rivals) < maxRivals {
					rivals = append(rivals, rival)
				}
			}
		}
	}
	return rivals
}

// regularOn returns the conditions of a cell on a subject, if one of them is a regular expression.
func (c *comparer) regularOn(found *cell, subject mesh.Subject) (on []*condition) {
	regular := false
	for _, id := range found.conditions {
		if condition := c.conditions[id]; condition.Subject == subject {
			on = append(on, condition)
			regular = regular || condition.Type == mesh.RegularExpression
		}
	}
	if !regular {
		return nil
	}
	return on
}

// on returns the conditions on a subject.
func on(all []*condition, subject mesh.Subject) []*condition {
	return slices.DeleteFunc(slices.Clone(all), func(c *condition) bool { return c.Subject != subject })
}

// plainest returns the plainest request of a cell: it has what the conditions ask
// for, and a method that no match there looks for. It does not meet those of the rivals that are
// on a subject of which it has a choice.
func (c *comparer) plainest(p *point, found *cell, rivals []*condition) Request {
	r := p.at
	r.Headers, r.Query = maps.Clone(p.at.Headers), nil
	for _, id := range found.conditions {
		condition := c.conditions[id]
		text := condition.Text
		switch condition.Type {
		case mesh.RegularExpression:
			text, _ = example(c.regularOn(found, condition.Subject), on(rivals, condition.Subject), &c.searches)
		case mesh.Subdomain:
			text = "any" + text
		}
		switch {
		case condition.Dimension == mesh.MethodDimension:
			r.Method = text
		case condition.Dimension == mesh.QueryParamDimension:
			if r.Query == nil {
				r.Query = map[string]string{}
			}
			r.Query[condition.Name] = text
		case condition.Name == "host", condition.Dimension == mesh.HostDimension:
			r.Host = text
		default:
			if r.Headers == nil {
				r.Headers = map[string]string{}
			}
			r.Headers[condition.Name] = text
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
				if condition := c.conditions[id]; condition.Dimension == mesh.MethodDimension {
					taken[condition.Text] = true
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
		if c.sides[i].answer(r) != found.sides[i].outcome {
			return false
		}
	}
	return true
}

// answer returns the number of the outcome of a request.
func (s *side) answer(r *Request) int {
	if s.routes != nil {
		if e := s.routes.decide(r); e != nil {
			for j := range s.routes.entries {
				if &s.routes.entries[j] == e {
					return s.lines[j].numbered.id
				}
			}
		}
	}
	return s.rest.id
}
