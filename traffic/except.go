package traffic

import (
	"slices"
	"strings"
)

// mostExceptions is how many of the exceptions of a class are named, of at most maxExceptions that are found.
const (
	mostExceptions = 3
	maxExceptions  = 16
)

// exception is what in a class goes elsewhere: the requests at a point, and below it, that meet the conditions.
type exception struct {
	at         *point
	conditions []int
	text       string
}

// exceptions are those of one class, none of which another one covers.
type exceptions struct {
	*comparer
	// class are the conditions of the class.
	class []int
	found []exception
	// seen are the points that were looked at, by way of another one.
	seen map[*point]bool
	// room counts down for each that is found; more: there are others.
	room int
	more bool
}

// exceptions names what in a cell at the point goes elsewhere.
func (c *comparer) exceptions(p *point, found *cell) []string {
	e := &exceptions{comparer: c, class: found.conditions, seen: map[*point]bool{}, room: maxExceptions}
	e.collect(p, found, "")
	var texts []string
	for i := range e.found {
		texts = append(texts, e.found[i].text)
	}
	if e.more || len(texts) > mostExceptions {
		texts = append(texts[:min(len(texts), mostExceptions)], "...")
	}
	return texts
}

// collect adds what in a cell at the point goes elsewhere: by matches before, and by
// narrower paths. Where names the point, seen from the class.
func (e *exceptions) collect(p *point, found *cell, where string) {
	for before := range e.before(p, found) {
		if e.add(exception{p, before.conditions, strings.TrimSpace(where + " " + e.text(before.conditions, found.conditions))}); e.more {
			return
		}
	}
	for _, child := range p.children {
		if e.more {
			return
		}
		if e.seen[child] {
			continue
		}
		e.seen[child] = true
		text := child.text
		if p.region == nil { // "/a* (except ~ /a.+)"
			text = strings.TrimSuffix(text, " and "+p.text)
		}
		if within := child.covering(found); within != nil {
			e.collect(child, within, text)
		} else {
			e.add(exception{child, nil, text})
		}
	}
}

// add adds an exception, unless another one covers it, and drops those that it covers.
func (e *exceptions) add(added exception) {
	if slices.ContainsFunc(e.found, func(other exception) bool { return e.covers(&other, &added) }) {
		return
	}
	if e.room--; e.room < 0 {
		e.more = true
		return
	}
	e.found = append(slices.DeleteFunc(e.found, func(other exception) bool { return e.covers(&added, &other) }), added)
}

// covers reports whether all requests of the class and of the exception b are those of a.
func (e *exceptions) covers(a, b *exception) bool {
	return a.text == b.text || b.at.within(a.at) && !slices.ContainsFunc(a.conditions, func(id int) bool {
		return !slices.Contains(b.conditions, id) && !slices.Contains(e.class, id)
	})
}

// within reports whether the point is the other one, or below it.
func (p *point) within(around *point) bool {
	return p == around || slices.ContainsFunc(p.parents, func(parent *point) bool { return parent.within(around) })
}
