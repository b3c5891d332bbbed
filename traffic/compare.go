package traffic

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/mesh"
)

// comparer compares what the clients of one namespace meet at one port.
type comparer struct {
	// request has the Service, the port and the client.
	request Request
	sides   [2]side
	// ids number outcomes, by their keys, and conditions.
	ids        map[any]int
	conditions map[int]*condition
	// lists number lists of conditions by their keys.
	lists map[string]int
	// places are where each list stands at the point that is looked at, on each side:
	// the index there, plus one, by the number of the list.
	places [2][]int
	// both holds the conditions of two matches.
	both []int
	// buffers hold the matches at the point that is looked at.
	buffers [2][]reduced
	// work counts down; at 0 only witnesses are looked for.
	work int
	// searches counts down the steps of searches for examples.
	searches int
	// differs: at some point, the matches of the sides are not the same.
	differs bool
	// grpc: some points fix the method and the content type.
	grpc          bool
	witnessesOnly bool
	regular       bool
	// tied: what requests meet depends on the age of routes, which is not known.
	tied      bool
	unchanged int
	notes     []string
	// edited are the routes that differ, and readings what the mesh does with rules, with the routes of which that is so.
	edited   map[string]*edit
	readings map[string]set
}

// newComparer returns a comparer without sides.
func newComparer(request Request, work int) *comparer {
	return &comparer{request: request, ids: map[any]int{}, conditions: map[int]*condition{}, lists: map[string]int{}, readings: map[string]set{}, work: work, searches: maxSearches}
}

// maxComparisons bounds the comparisons for the clients of one port, before witnesses must
// do; a match at a point counts as workOfLine of them, for the memory it takes.
const (
	maxComparisons = 5_000_000
	workOfLine     = 10
)

// side is one version of a port.
type side struct {
	table  *Table
	routes *portRoutes
	// missing says what there is instead of the port; empty if it exists.
	missing string
	// because says why it is missing; empty where that is not known.
	because string
	lines   []line
	// at are the lines by where they can hold, in ascending order.
	at map[string][]int
	// rest is what becomes of requests that no match decides, and known what is worth knowing of it.
	rest  numbered
	known []string
}

// numbered is what becomes of requests, and the number of all outcomes between which no request can tell a difference.
type numbered struct {
	Outcome
	id int
}

// line is a match as the comparison sees it.
type line struct {
	*entry
	numbered numbered
	caveats  caveats
	// place are its conditions on the path, the gRPC method and the server name, and
	// those that a point may fix; free are the numbers of all others, ascending.
	place []condition
	free  []int
	list  int // the number of free
	// maybe are the numbers of the place conditions that only some points fix.
	maybe []int
}

// tied reports whether the match would decide instead, and with another outcome, if its route were the older one.
func (l *line) tied(other *line) bool {
	return l.numbered.id != other.numbered.id && l.ageUnknown(other.entry)
}

func (c *comparer) id(key any) int {
	if id, ok := c.ids[key]; ok {
		return id
	}
	c.ids[key] = len(c.ids)
	return len(c.ids) - 1
}

// number numbers an outcome.
func (c *comparer) number(o Outcome) numbered { return numbered{o, c.id(o.key())} }

// outcomeOf returns what becomes of the requests that the match decides on a side.
func (c *comparer) outcomeOf(side int, r *reduced) Outcome {
	if r.line == nil {
		return c.sides[side].rest.Outcome
	}
	return r.numbered.Outcome
}

// conditionID numbers a condition.
func (c *comparer) conditionID(condition *condition) int {
	id := c.id(condition.Condition)
	c.conditions[id] = condition
	return id
}

// prepare reads a side's matches.
func (c *comparer) prepare(s *side) error {
	s.at = map[string][]int{}
	if s.missing != "" {
		s.rest = c.number(Outcome{Shares: []Share{{Answer: s.missing, Parts: 1, Of: 1}}})
		return nil
	}
	rest, known, err := s.table.outcomeOf(s.routes, nil)
	if err != nil {
		return err
	}
	s.rest, s.known = c.number(rest), known.backends
	for i := range s.routes.entries {
		e := &s.routes.entries[i]
		outcome, known, err := s.table.outcomeOf(s.routes, e)
		if err != nil {
			return err
		}
		l := line{entry: e, numbered: c.number(outcome), caveats: known}
		if c.edited[e.route.String()] != nil {
			c.caution(s, &l)
		}
		for j := range e.conditions {
			condition := &e.conditions[j]
			switch {
			case !condition.free():
				l.place = append(l.place, *condition)
			case c.grpc && (condition.Dimension == mesh.MethodDimension || condition.Name == contentType):
				l.maybe = append(l.maybe, c.conditionID(condition))
			default:
				l.free = append(l.free, c.conditionID(condition))
			}
		}
		slices.Sort(l.free)
		l.list = c.listID(l.free)
		s.at[indexKey(l.place)] = append(s.at[indexKey(l.place)], i)
		s.lines = append(s.lines, l)
	}
	return nil
}

// free reports whether the condition is on a property whose values no point fixes.
func (c *condition) free() bool {
	switch c.Dimension {
	case mesh.HeaderDimension, mesh.QueryParamDimension, mesh.MethodDimension, mesh.HostDimension:
		return true
	}
	return false
}

// indexKey is the place of a match in the index: the path or prefix or gRPC
// service that it looks for; empty for anywhere.
func indexKey(place []condition) string {
	if len(place) == 0 {
		return ""
	}
	switch c := &place[0]; {
	case c.Dimension == mesh.PathDimension && c.Type == mesh.Exact:
		return "=" + c.Text
	case c.Dimension == mesh.PathDimension && c.Type == mesh.PathPrefix:
		return "^" + c.Text
	case c.Dimension == mesh.GRPCServiceDimension && c.Type == mesh.Exact:
		return "service " + c.Text
	}
	return ""
}

// reduced is a match at a point: what is left to decide there. The last of a list
// has no conditions.
type reduced struct {
	*line      // nil for what no match decides
	conditions []int
	// list is the number of the conditions.
	list    int
	outcome int
}

// reduce returns the matches of a side that can decide at the point, and notes their
// places. The result is good until the next point.
func (c *comparer) reduce(side int, p *point) []reduced {
	s := &c.sides[side]
	var at []int
	if s.routes != nil {
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
	clear(c.places[side])
	out := c.buffers[side][:0]
	defer func() { c.buffers[side] = out }()
	var last *line // it leaves nothing to those that follow
	for _, i := range at {
		l := &s.lines[i]
		if last != nil && (c.tied || !last.equals(l.entry)) {
			return out
		}
		r, holds := c.reduceLine(l, p)
		switch {
		case !holds:
		case last != nil:
			c.tied = last.tied(l)
		default:
			if out = c.put(side, out, r); len(r.conditions) == 0 {
				last = l
			}
		}
	}
	if last != nil {
		return out
	}
	out = c.put(side, out, reduced{list: c.listID(nil), outcome: s.rest.id})
	return out
}

// put adds a match, unless one with the same conditions comes before it.
func (c *comparer) put(side int, lines []reduced, r reduced) []reduced {
	if short := len(c.lists) - len(c.places[side]); short > 0 {
		c.places[side] = append(c.places[side], make([]int, short)...)
	}
	if at := c.places[side][r.list]; at > 0 {
		c.tied = c.tied || r.line != nil && lines[at-1].tied(r.line)
		return lines
	}
	c.places[side][r.list] = len(lines) + 1
	return append(lines, r)
}

// place returns the index of the match with these conditions on a side, or -1.
func (c *comparer) place(side, list int) int {
	if list >= len(c.places[side]) {
		return -1
	}
	return c.places[side][list] - 1
}

// listID numbers a list of conditions.
func (c *comparer) listID(conditions []int) int {
	var space [64]byte
	key := appendKey(space[:0], conditions)
	id, ok := c.lists[string(key)]
	if !ok {
		id = len(c.lists)
		c.lists[string(key)] = id
	}
	return id
}

// appendKey appends what is equal for equal lists.
func appendKey(key []byte, numbers []int) []byte {
	for _, n := range numbers {
		key = binary.AppendUvarint(key, uint64(n))
	}
	return key
}

// reduceLine returns what is left of a match at the point, and whether it can hold
// there.
func (c *comparer) reduceLine(l *line, p *point) (reduced, bool) {
	if !l.reads(&p.at) {
		return reduced{}, false
	}
	for i := range l.place {
		if v, ok := p.at.value(l.place[i].Subject); !ok || !l.place[i].holds(v) {
			return reduced{}, false
		}
	}
	out := reduced{l, l.free, l.list, l.numbered.id}
	if len(l.maybe) == 0 {
		return out, true
	}
	out.conditions = slices.Clone(l.free)
	for _, id := range l.maybe {
		condition := c.conditions[id]
		if p.fixed {
			if v, _ := p.at.value(condition.Subject); !condition.holds(v) {
				return reduced{}, false
			}
			continue
		}
		if p.plain && condition.Name == contentType && strings.HasPrefix(condition.Text, grpcContent) {
			return reduced{}, false
		}
		out.conditions = append(out.conditions, id)
	}
	slices.Sort(out.conditions)
	out.list = c.listID(out.conditions)
	return out, true
}
