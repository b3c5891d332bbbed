package traffic

import "slices"

// formerly begins a note on a rule of the version before, if the version after has another mesh, or the route was edited. It is left out
// where the same is so after.
const formerly = "before, "

// instead begins what a note proposes, which is not for what was before.
const instead = "; use "

// caution notes what is worth knowing of a match of a side that decides a change, or whose route was edited; nil is for what no match decides.
// Of another mesh or release than that of the version after, it says so.
func (c *comparer) caution(s *side, l *line) {
	was := ""
	if !s.table.engine.Policy().Mesh.Same(c.sides[1].table.engine.Policy().Mesh) {
		was = formerly
	}
	if l == nil {
		for _, note := range s.known {
			if was == "" || !slices.Contains(c.sides[1].known, note) {
				c.notes = append(c.notes, was+note)
			}
		}
		return
	}
	c.notes = append(c.notes, l.caveats.backends...)
	if s == &c.sides[0] && c.edited[l.route.String()] != nil { // whose version after has its own
		was = formerly
	}
	for _, note := range l.caveats.rule {
		note = was + note
		if c.readings[note] == nil {
			c.readings[note] = set{}
		}
		c.readings[note][l.route.String()] = true
	}
}

// uncertain notes what is not certain of the backends of the version after, and is not so before, whether requests meet another outcome or not.
func (c *comparer) uncertain() (notes []string) {
	was := set{}
	for i := range c.sides[0].lines {
		for _, note := range c.sides[0].lines[i].caveats.backends {
			was[note] = true
		}
	}
	for i := range c.sides[1].lines {
		for _, note := range c.sides[1].lines[i].caveats.backends {
			if !was[note] {
				notes = append(notes, note)
			}
		}
	}
	return notes
}

// unread notes the namespaces whose routes cannot be read, where requests meet another outcome, or the routes of others.
func (c *comparer) unread(changed bool) (notes []string) {
	if !changed && c.sides[0].consumers() == c.sides[1].consumers() {
		return nil
	}
	for i := range c.sides {
		if s := &c.sides[i]; s.routes != nil {
			notes = append(notes, s.table.unread(s.routes, c.request.From)...)
		}
	}
	return notes
}

// unfit notes that the protocol of the port does not fit the routes of the version after, where requests meet another outcome, or it did fit.
func (c *comparer) unfit(changed bool) []string {
	var notes [2][]string
	for i := range c.sides {
		if s := &c.sides[i]; s.routes != nil {
			notes[i] = s.table.unfit(s.routes)
		}
	}
	if !changed && slices.Equal(notes[0], notes[1]) {
		return nil
	}
	return notes[1]
}
