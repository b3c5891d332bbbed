package traffic

import (
	"iter"
	"slices"
)

// distinct drops the cells that others tell.
func (c *comparer) distinct(p *point, cells []cell) []cell {
	slices.SortStableFunc(cells, func(a, b cell) int { return len(a.conditions) - len(b.conditions) })
	var kept []cell
	p.index = map[change]int{}
	for i := range cells {
		found, told := &cells[i], false
		if len(found.conditions) <= manyConditions {
			for list := range c.subsets(found.conditions) {
				if at, ok := p.index[found.change(list)]; ok && c.subsumes(p, &kept[at], p, found) {
					told = true
					break
				}
			}
		}
		if !told {
			key := found.change(c.listID(found.conditions))
			if _, ok := p.index[key]; !ok {
				p.index[key] = len(kept)
			}
			kept = append(kept, *found)
		}
	}
	return kept
}

// change is a change of outcomes for requests that meet a list of conditions.
type change struct{ before, after, list int }

func (a *cell) change(list int) change {
	return change{a.sides[0].outcome, a.sides[1].outcome, list}
}

// subsumedAbove reports whether a cell of each class around the point tells this one.
func (c *comparer) subsumedAbove(p *point, found *cell) bool {
	key := found.change(c.listID(found.conditions))
	for _, above := range p.parents {
		at, ok := above.index[key]
		if !ok || !c.subsumes(above, &above.cells[at], p, found) {
			return false
		}
	}
	return len(p.parents) > 0
}

// subsumes reports whether one class, with its exceptions, says all that another one
// does: it covers it, and none of its exceptions has requests of the other. Where
// that is too much work it is assumed to.
func (c *comparer) subsumes(p *point, a *cell, q *point, b *cell) bool {
	if !a.covers(b) || p.unexamined || q.unexamined {
		return false
	}
	if c.work < 0 {
		c.witnessesOnly = true
		return true
	}
	for exception := range c.before(p, a) {
		within := slices.Concat(exception.conditions, b.conditions)
		slices.Sort(within)
		if c.contradict(within) {
			continue
		}
		both := false
		for other := range c.before(q, b) {
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
			if p.unexamined {
				return
			}
			list := p.lists[side][:found.position[side]]
			c.work -= len(list)
			for i := range list {
				if list[i].outcome != found.sides[side].outcome && !c.contradict(slices.Concat(list[i].conditions, found.conditions)) && !yield(&list[i]) {
					return
				}
			}
		}
	}
}
