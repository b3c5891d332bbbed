package runner

import (
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/mutate"
	"github.com/gammaguard/gammaguard/validate"
)

// Lacks says which rules and mutations lack a scenario in which they show, or one
// about them in which they rightly do not.
func Lacks(scenarios []*Scenario) []string {
	shown, spared := map[string]bool{}, map[string]bool{}
	for _, scenario := range scenarios {
		about := idsIn(scenario.Name)
		for _, document := range scenario.documents() {
			if document.Want == nil {
				continue
			}
			for _, id := range slices.Concat(document.Want.Rules, document.Want.Warnings) {
				shown[id] = true
			}
			for _, id := range about {
				if document.spares(id) {
					spared[id] = true
				}
			}
		}
	}
	var lacks []string
	for _, id := range append(rules(), mutate.Names()...) {
		if !shown[id] {
			lacks = append(lacks, id+": no scenario has it in its rules or warnings")
		}
		if !spared[id] {
			lacks = append(lacks, id+": no scenario whose path names it has a route that it has nothing to say to")
		}
	}
	return lacks
}

// spares says whether the document is a route to which the rule or the mutation is
// seen to have nothing to say. A rule must see it admitted; what a mutation does
// not guess others may deny.
func (d *Document) spares(id string) bool {
	rule := validate.Find(id)
	switch {
	case !d.IsRoute(), rule != nil && d.Want.Deny:
		return false
	case d.Want.Warnings == nil:
		return rule != nil && rule.Default == validate.Deny
	}
	return !slices.Contains(d.Want.Warnings, id)
}

// idsIn returns the IDs that a scenario's name names.
func idsIn(name string) []string {
	all := append(rules(), mutate.Names()...)
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	var ids []string
	for _, id := range all { // longer ones first: they may contain others
		if strings.Contains(name, id) {
			ids = append(ids, id)
			name = strings.ReplaceAll(name, id, "")
		}
	}
	return ids
}
