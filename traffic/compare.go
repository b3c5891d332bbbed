package traffic

import (
	"fmt"
	"slices"
	"strings"
)

// comparer compares what the clients of one namespace meet at one port.
type comparer struct {
	// request has the Service, the port and the client.
	request Request
	sides   [2]side
	// ids number outcomes and conditions by their keys.
	ids        map[string]int
	outcomes   map[int]Outcome
	conditions map[int]*condition
	// work counts down; at 0 only witnesses are looked for.
	work int
	// grpc: some points fix the method and the content type.
	grpc          bool
	witnessesOnly bool
	regular       bool
	unchanged     int
	notes         []string
}

// mostWork is the number of combinations of matches that are looked at for the
// clients of one port, before witnesses must do.
const mostWork = 20_000_000

// side is one version of a port.
type side struct {
	table  *Table
	routes *portRoutes
	// missing says what there is instead of the port; empty if it exists.
	missing string
	lines   []line
	// at are the lines by where they can hold, in ascending order.
	at map[string][]int
	// rest is the outcome of requests that no match decides.
	rest int
}

// line is a match as the comparison sees it.
type line struct {
	*entry
	outcome int
	// place are its conditions on the path, the gRPC method and the server name, and
	// those that a point may fix; free are the numbers of all others, ascending.
	place []condition
	free  []int
	// maybe are the numbers of the place conditions that only some points fix.
	maybe []int
}

func (c *comparer) id(key string) int {
	if id, ok := c.ids[key]; ok {
		return id
	}
	c.ids[key] = len(c.ids)
	return len(c.ids) - 1
}

// outcomeID numbers an outcome.
func (c *comparer) outcomeID(o Outcome) int {
	id := c.id("outcome " + o.key())
	if _, ok := c.outcomes[id]; !ok {
		c.outcomes[id] = o
	}
	return id
}

// conditionID numbers a condition.
func (c *comparer) conditionID(condition *condition) int {
	id := c.id(fmt.Sprintf("%d %s %d %s", condition.dimension, condition.name, condition.operator, condition.text))
	c.conditions[id] = condition
	return id
}

// prepare reads a side's matches.
func (c *comparer) prepare(s *side) error {
	s.at = map[string][]int{}
	if s.missing != "" {
		s.rest = c.outcomeID(Outcome{Shares: []Share{{Answer: s.missing, Parts: 1, Of: 1}}})
		return nil
	}
	rest, _, err := s.table.outcomeOf(s.routes, nil)
	if err != nil {
		return err
	}
	s.rest = c.outcomeID(rest)
	for i := range s.routes.entries {
		e := &s.routes.entries[i]
		outcome, doubts, err := s.table.outcomeOf(s.routes, e)
		if err != nil {
			return err
		}
		c.notes = append(c.notes, doubts...)
		l := line{entry: e, outcome: c.outcomeID(outcome)}
		for j := range e.conditions {
			condition := &e.conditions[j]
			switch {
			case condition.dimension != headerDimension && condition.dimension != paramDimension && condition.dimension != methodDimension:
				l.place = append(l.place, *condition)
			case c.grpc && (condition.dimension == methodDimension || condition.name == contentType):
				l.maybe = append(l.maybe, c.conditionID(condition))
			default:
				l.free = append(l.free, c.conditionID(condition))
			}
		}
		slices.Sort(l.free)
		s.at[whereabouts(l.place)] = append(s.at[whereabouts(l.place)], i)
		s.lines = append(s.lines, l)
	}
	return nil
}

// whereabouts is the place of a match in the index: the path or prefix or gRPC
// service that it looks for; empty for anywhere.
func whereabouts(place []condition) string {
	if len(place) == 0 {
		return ""
	}
	switch c := &place[0]; {
	case c.dimension == pathDimension && c.operator == exact:
		return "=" + c.text
	case c.dimension == pathDimension && c.operator == prefix:
		return "^" + c.text
	case c.dimension == serviceDimension && c.operator == exact:
		return "service " + c.text
	}
	return ""
}

// reduced is a match at a point: what is left to decide there. The last of a list
// has no conditions.
type reduced struct {
	*line      // nil for what no match decides
	conditions []int
	outcome    int
}

// reduce returns the matches of a side that can decide at the point.
func (c *comparer) reduce(s *side, p *point) []reduced {
	var at []int
	if s.routes != nil && s.routes.reads(&p.at) {
		at = append(at, s.at[""]...)
		at = append(at, s.at["="+p.at.Path]...)
		for prefix := range ancestors(p.at.Path) {
			at = append(at, s.at["^"+prefix]...)
		}
		if service, _, ok := p.at.call(); ok {
			at = append(at, s.at["service "+service]...)
		}
		slices.Sort(at)
	}
	out := make([]reduced, 0, len(at)+1)
	seen := map[string]bool{}
	for _, i := range at {
		conditions, holds := c.reduceLine(&s.lines[i], p)
		if !holds {
			continue
		}
		if key := listKey(conditions); !seen[key] { // otherwise another one comes before it
			seen[key] = true
			out = append(out, reduced{&s.lines[i], conditions, s.lines[i].outcome})
		}
		if len(conditions) == 0 {
			return out
		}
	}
	return append(out, reduced{nil, nil, s.rest})
}

// reduceLine returns the conditions that are left of a match at the point, and
// whether it can hold there.
func (c *comparer) reduceLine(l *line, p *point) ([]int, bool) {
	for i := range l.place {
		if v, ok := p.at.value(l.place[i].variable); !ok || !l.place[i].holds(v) {
			return nil, false
		}
	}
	if len(l.maybe) == 0 {
		return l.free, true
	}
	conditions := slices.Clone(l.free)
	for _, id := range l.maybe {
		condition := c.conditions[id]
		if p.fixed {
			if v, _ := p.at.value(condition.variable); !condition.holds(v) {
				return nil, false
			}
			continue
		}
		if p.plain && condition.name == contentType && strings.HasPrefix(condition.text, grpcContent) {
			return nil, false
		}
		conditions = append(conditions, id)
	}
	slices.Sort(conditions)
	return conditions, true
}
