package standing

import (
	"cmp"
	"slices"
	"strings"
	"unique"

	"github.com/gammaguard/gammaguard/internal/kube"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

// routes are the audited routes of a namespace.
type routes struct {
	// sorted are by kind and name, as lists of the API server are.
	sorted []audited
	// foreign are reads of other namespaces, by any of the routes or by what they once were.
	foreign reads
}

// audited is what is kept of a route: three words.
type audited struct {
	// route is what it was when it was judged.
	route *kube.Route
	// reads are what it was judged by.
	reads reads
	// found is the first finding, zero if there is none.
	found unique.Handle[finding]
}

// finding is a finding on a route, and the one after it. Routes with the same findings
// share them.
type finding struct {
	rule   string
	action validate.Action
	// The following are for reports, and empty without.
	effect         validate.Action
	field, message string

	next unique.Handle[finding]
}

// each calls f with each finding of the route.
func (a *audited) each(f func(*finding)) {
	for handle := a.found; handle != (unique.Handle[finding]{}); {
		value := handle.Value()
		f(&value)
		handle = value.next
	}
}

// same reports whether the route is as it was when it was judged.
func (a *audited) same(now *kube.Route) bool {
	return a.route.UID == now.UID && a.route.Generation == now.Generation && a.route.Ignores == now.Ignores
}

// find returns where the route is, or belongs.
func (r *routes) find(key kube.RouteKey) (int, bool) {
	return slices.BinarySearchFunc(r.sorted, key, func(a audited, key kube.RouteKey) int {
		return cmp.Or(cmp.Compare(a.route.Kind, key.Kind), strings.Compare(a.route.Name, key.Name))
	})
}

// of returns how many routes of the kind there are.
func (r *routes) of(kind mesh.RouteKind) int {
	n := 0
	for i := range r.sorted {
		if r.sorted[i].route.Kind == kind {
			n++
		}
	}
	return n
}

// put takes the route, and returns what was kept of it before.
func (r *routes) put(now audited) (before audited) {
	i, found := r.find(now.route.Key())
	if !found {
		r.sorted = slices.Insert(r.sorted, i, now)
		return audited{}
	}
	before, r.sorted[i] = r.sorted[i], now
	return before
}

// drop removes the route, and returns what was kept of it.
func (r *routes) drop(key kube.RouteKey) (before audited) {
	if i, found := r.find(key); found {
		before = r.sorted[i]
		r.sorted = slices.Delete(r.sorted, i, i+1)
	}
	return before
}

// trim gives back memory that the routes do not need.
func (r *routes) trim() {
	if cap(r.sorted)-len(r.sorted) > len(r.sorted)/8 {
		r.sorted = append(make([]audited, 0, len(r.sorted)), r.sorted...)
	}
}
