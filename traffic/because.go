package traffic

import (
	"iter"
	"slices"

	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/mesh"
)

// because names the route that decides now and was not on the Service before, or did not apply, or that
// decided and was removed or applies no longer, or says that other routes apply. Where none decides,
// it names one of those that hold the port, or held it.
func (c *comparer) because(before, after *entry) string {
	if after != nil && c.find(0, after.route) == nil {
		return c.isNew(after.route)
	}
	if c.sides[1].missing != "" {
		return c.sides[1].because
	}
	was, is := c.sides[0].consumers(), c.sides[1].consumers()
	if is && !was {
		if after != nil {
			return c.begun(after.route)
		}
		return "consumer routes replace producer routes"
	}
	if before != nil {
		if why := c.gone(before.route); why != "" || after == nil {
			return why
		}
	}
	if was && !is {
		return c.ended()
	}
	if after != nil {
		return c.begun(after.route)
	}
	// No match decides in either version, but other routes hold the port.
	for r := range c.sides[1].holders() {
		if why := c.begun(r); why != "" {
			return why
		}
	}
	return c.ended()
}

// ended says of one of the routes that held the port why it no longer does; it is empty if all do.
func (c *comparer) ended() string {
	for r := range c.sides[0].holders() {
		if why := c.gone(r); why != "" {
			return why
		}
	}
	return ""
}

// leftOut names the backends that the mesh leaves out of a match and did not leave out before; it is empty if there are none.
func (c *comparer) leftOut(before, after *line) string {
	if after == nil {
		return ""
	}
	names := slices.DeleteFunc(slices.Clone(after.caveats.leftOut), func(name string) bool {
		return before != nil && slices.Contains(before.caveats.leftOut, name)
	})
	if len(names) == 0 {
		return ""
	}
	return printable.Text(c.sides[1].table.engine.Policy().Mesh.Title + " leaves out " + someOf(compact(names)))
}

// isNew says that a route was not on the Service before.
func (c *comparer) isNew(r *route) string {
	name := roleOf(r, c.request.Service) + r.String()
	if c.sides[0].table.names[r.String()] {
		return name + " now attaches to this Service"
	}
	return "new " + name
}

// begun says of a route that holds the port that it is new on the Service, or did not hold the port before; it is empty if it did.
func (c *comparer) begun(r *route) string {
	was := c.find(0, r)
	if was == nil {
		return c.isNew(r)
	}
	if pr := c.sides[0].routes; pr == nil || pr.holds(was) {
		return ""
	}
	return roleOf(r, c.request.Service) + r.String() + " applies now"
}

// gone says why a route that held the port no longer does; it is empty if it does.
func (c *comparer) gone(r *route) string {
	name := roleOf(r, c.request.Service) + r.String()
	switch now := c.find(1, r); {
	case now != nil:
		if pr := c.sides[1].routes; pr != nil && !pr.holds(now) {
			return name + " does not apply: " + printable.Text(pr.offPort(now, c.request.From))
		}
		return ""
	case c.sides[1].table.names[r.String()]:
		return name + " no longer attaches to this Service"
	}
	return name + " was removed"
}

// stay notes the routes that held the port and now lack the grant or are refused: what is stored is not removed by that.
func (c *comparer) stay() (notes []string) {
	for r := range c.sides[0].holders() {
		now, pr := c.find(1, r), c.sides[1].routes
		if now == nil || pr == nil {
			continue
		}
		for _, b := range pr.bindings[&now.AttachedRoute] {
			if note := b.Stays(); note != "" {
				notes = append(notes, note)
			}
		}
	}
	return notes
}

// holders yields the routes that hold the port.
func (s *side) holders() iter.Seq[*route] {
	return func(yield func(*route) bool) {
		if s.routes == nil {
			return
		}
		for _, r := range s.table.bound[s.routes.service.Key] {
			if s.routes.holds(r) && !yield(r) {
				return
			}
		}
	}
}

// consumers reports whether consumer routes apply.
func (s *side) consumers() bool { return s.routes != nil && s.routes.scope.Role() == mesh.Consumer }

func roleOf(r *route, service mesh.ServiceKey) string {
	if mesh.ScopeOf(r.Namespace, service).Role() == mesh.Consumer {
		return "consumer "
	}
	return ""
}

// find returns the route as a side has it on the Service, or nil.
func (c *comparer) find(at int, r *route) *route {
	bound := c.sides[at].table.bound[c.request.Service]
	if i := slices.IndexFunc(bound, func(other *route) bool {
		return other.Kind == r.Kind && other.Namespace == r.Namespace && other.Name == r.Name
	}); i >= 0 {
		return bound[i]
	}
	return nil
}
