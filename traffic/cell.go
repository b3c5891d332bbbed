package traffic

import (
	"iter"
	"slices"

	"github.com/gammaguard/gammaguard/mesh"
)

// cell is a class of requests at a point that go somewhere else: those that meet
// the conditions and that these two matches decide.
type cell struct {
	conditions []int
	sides      [2]reduced
	// position of each in its list
	position [2]int
}

// same reports whether both are the same change.
func (a *cell) same(b *cell) bool {
	return a.sides[0].outcome == b.sides[0].outcome && a.sides[1].outcome == b.sides[1].outcome
}

// covers reports whether all requests of the other cell that change as these do
// meet the conditions of this one.
func (a *cell) covers(b *cell) bool { return a.same(b) && subset(a.conditions, b.conditions) }

// subset reports whether every number of a, ascending, is in b, ascending.
func subset(a, b []int) bool {
	if len(a) > len(b) {
		return false
	}
	for _, v := range a {
		if _, found := slices.BinarySearch(b, v); !found {
			return false
		}
	}
	return true
}

// compare returns the cells of a point, by the matches of both sides there.
//
// A pair of matches decides requests if its conditions contradict each other
// nowhere and no match before either of them follows from them: a request that has
// nothing but what they ask for meets them and no other.
//
// It gives up where that is too much work.
func (c *comparer) compare(lists [2][]reduced) (cells []cell, ok bool) {
	a, b := lists[0], lists[1]
	partner := make([]int, len(a)) // the same match on the other side, or -1
	for i := range a {
		partner[i] = c.place(1, a[i].list)
	}
	keepOrder(partner)
	inOrder := make([]bool, len(b))
	try := func(i, j int) {
		if c.work--; c.work >= 0 && a[i].outcome != b[j].outcome {
			if found, ok := c.pair(lists, i, j); ok {
				cells = append(cells, found)
			}
		}
	}
	for i, j := range partner {
		if j >= 0 {
			inOrder[j] = true
			try(i, j)
		}
	}
	for i := range a {
		for j := range b {
			// Of two matches that both sides have in one order, the first decides on
			// both.
			if partner[i] < 0 || !inOrder[j] {
				try(i, j)
			}
		}
		if c.work < 0 {
			return nil, false
		}
	}
	return cells, true
}

// keepOrder drops partners until those that are left ascend: the longest ascending
// subsequence stays.
func keepOrder(partner []int) {
	var tails []int // index of the last element of the best sequence of each length
	previous := make([]int, len(partner))
	for i, j := range partner {
		if j < 0 {
			continue
		}
		at, _ := slices.BinarySearchFunc(tails, j, func(tail, j int) int { return partner[tail] - j })
		previous[i] = -1
		if at > 0 {
			previous[i] = tails[at-1]
		}
		if at == len(tails) {
			tails = append(tails, i)
		} else {
			tails[at] = i
		}
	}
	keep := make([]bool, len(partner))
	if len(tails) > 0 {
		for i := tails[len(tails)-1]; i >= 0; i = previous[i] {
			keep[i] = true
		}
	}
	for i := range partner {
		if !keep[i] {
			partner[i] = -1
		}
	}
}

// pair returns the requests that the i-th match decides on one side and the j-th
// on the other, if there are any.
func (c *comparer) pair(lists [2][]reduced, i, j int) (cell, bool) {
	a, b := &lists[0][i], &lists[1][j]
	conditions := a.conditions
	if len(conditions) == 0 {
		conditions = b.conditions
	} else if len(b.conditions) > 0 && !slices.Equal(a.conditions, b.conditions) {
		c.both = append(append(c.both[:0], a.conditions...), b.conditions...)
		slices.Sort(c.both)
		conditions = slices.Compact(c.both)
		if c.contradict(conditions) {
			return cell{}, false
		}
	}
	if c.first(0, lists[0], conditions) != i || c.first(1, lists[1], conditions) != j {
		return cell{}, false
	}
	return cell{slices.Clone(conditions), [2]reduced{*a, *b}, [2]int{i, j}}, true
}

// first returns the first match of a side that follows from the conditions.
func (c *comparer) first(side int, lines []reduced, conditions []int) int {
	if len(conditions) > manyConditions || c.regular {
		at := slices.IndexFunc(lines, func(r reduced) bool { return c.follows(r.conditions, conditions) })
		c.work -= at
		return at
	}
	first := len(lines)
	for list := range c.subsets(conditions) {
		c.work--
		if at := c.place(side, list); at >= 0 {
			first = min(first, at)
		}
	}
	return first
}

// manyConditions are more than it pays to look up all subsets of.
const manyConditions = 8

// subsets yields the numbers of all subsets of a list, of those that have one.
func (c *comparer) subsets(conditions []int) iter.Seq[int] {
	return func(yield func(int) bool) {
		var space [manyConditions]int
		var keySpace [64]byte
		for mask := range 1 << len(conditions) {
			chosen := space[:0]
			for i, n := range conditions {
				if mask&(1<<i) != 0 {
					chosen = append(chosen, n)
				}
			}
			if list, ok := c.lists[string(appendKey(keySpace[:0], chosen))]; ok && !yield(list) {
				return
			}
		}
	}
}

// contradict reports whether no request meets all conditions.
func (c *comparer) contradict(conditions []int) bool {
	for n, i := range conditions {
		for _, j := range conditions[n+1:] {
			if c.excludes(c.conditions[i], c.conditions[j]) {
				return true
			}
		}
	}
	return false
}

// excludes reports whether no value meets both conditions. Of two regular
// expressions nothing is known.
func (c *comparer) excludes(a, b *condition) bool {
	switch {
	case a.Subject != b.Subject:
		return false
	case a.Type == mesh.Exact:
		return !b.holds(a.Text)
	case b.Type == mesh.Exact:
		return !a.holds(b.Text)
	}
	return false
}

// follows reports whether all requests that meet the conditions meet these too.
func (c *comparer) follows(these, conditions []int) bool {
	if subset(these, conditions) {
		return true
	}
	return c.regular && !slices.ContainsFunc(these, func(i int) bool {
		return !slices.ContainsFunc(conditions, func(j int) bool {
			given := c.conditions[j]
			return i == j || c.conditions[i].Subject == given.Subject && given.Type == mesh.Exact && c.conditions[i].holds(given.Text)
		})
	})
}

// witnesses returns a cell for each match of the point's own whose plainest request
// changes. There may be others.
func (c *comparer) witnesses(p *point, lists [2][]reduced) []cell {
	c.witnessesOnly = true
	var cells []cell
	for i := range lists {
		for _, own := range lists[i] {
			if len(p.parents) > 0 && (own.line == nil || len(own.place) == 0) {
				continue // it is one of a class around
			}
			found := cell{conditions: own.conditions}
			for side := range lists {
				found.position[side] = c.first(side, lists[side], own.conditions)
				found.sides[side] = lists[side][found.position[side]]
			}
			if found.sides[0].outcome != found.sides[1].outcome {
				cells = append(cells, found)
			}
		}
	}
	return cells
}
