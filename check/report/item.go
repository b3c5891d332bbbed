package report

import (
	"cmp"
	"slices"
)

// item is one line of the forms that list what was found.
type item struct {
	Place
	// id is a rule's or mutation's, or BrokenDocument.
	id     string
	effect Effect
	change bool
	// object names the route; empty for a broken document.
	object string
	field  string
	// text is what to say, with the field.
	text string
}

// items returns what was found, by file and line.
func (r *CheckReport) items() []item {
	var items []item
	add := func(i item) { items = append(items, i) }
	for i := range r.Routes {
		route := &r.Routes[i]
		for _, change := range route.Changes {
			add(item{
				Place: Place{route.File, change.Line}, id: change.Mutation, effect: EffectWarn, change: true,
				object: route.String(), field: change.Field, text: change.Message,
			})
		}
		for j := range route.Findings {
			f := &route.Findings[j]
			add(item{
				Place: Place{route.File, f.Line}, id: f.Rule, effect: f.Effect,
				object: route.String(), field: f.Field, text: f.Field + ": " + f.Message,
			})
		}
	}
	for _, broken := range r.Broken {
		add(item{Place: broken.Place, id: BrokenDocument, effect: EffectDeny, text: broken.Message + " (" + BrokenDocument + ")"})
	}
	slices.SortStableFunc(items, func(a, b item) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return items
}
