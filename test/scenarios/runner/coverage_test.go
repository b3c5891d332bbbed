package runner_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/mutate"
	"github.com/gammaguard/gammaguard/test/scenarios/runner"
	"github.com/gammaguard/gammaguard/validate"
	"github.com/gammaguard/gammaguard/validate/rules"
)

// lacks says which rules and mutations lack a scenario in which they show, or one
// about them in which they rightly do not.
func lacks(scenarios []*runner.Scenario) []string {
	shown, spared := map[string]bool{}, map[string]bool{}
	for _, scenario := range scenarios {
		about := idsIn(scenario.Name)
		for _, document := range scenario.Documents() {
			if document.Want == nil {
				continue
			}
			for _, id := range slices.Concat(document.Want.Rules, document.Want.Warnings) {
				shown[id] = true
			}
			for _, id := range about {
				if spares(document, id) {
					spared[id] = true
				}
			}
		}
	}
	var lacks []string
	for _, id := range ids() {
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
func spares(d *runner.Document, id string) bool {
	rule := rules.Find(id)
	switch {
	case !d.IsRoute() && (rule == nil || !rule.OfServices), rule != nil && d.Want.Deny:
		return false
	case d.Want.Warnings == nil:
		return rule != nil && rule.Default == validate.Deny
	}
	return !slices.Contains(d.Want.Warnings, id)
}

// ids returns the IDs of all rules and mutations.
func ids() []string {
	ids := slices.Clone(mutate.Names())
	for _, rule := range rules.Catalog() {
		ids = append(ids, rule.ID)
	}
	return ids
}

// idsIn returns the IDs that a scenario's name names.
func idsIn(name string) []string {
	all := ids()
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	var found []string
	for _, id := range all { // longer ones first: they may contain others
		if strings.Contains(name, id) {
			found = append(found, id)
			name = strings.ReplaceAll(name, id, "")
		}
	}
	return found
}

func TestLacks(t *testing.T) {
	const archive = `title
-- apply.yaml --
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: a}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: b}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: c}}
-- want.yaml --
apply:
- {verdict: deny, rules: [parent-headless], warnings: [no-catch-all]}
- {verdict: admit}
- {verdict: admit, warnings: [parent-group]}
`
	all := map[string]bool{}
	for _, lack := range lacks(nil) {
		all[lack] = true
	}
	for _, name := range []string{"parent-headless/x", "rules/no-catch-all", "parent-group"} {
		scenario := runner.Parse(name, name+".txtar", []byte(archive))
		if scenario.Mistakes != nil {
			t.Fatal(scenario.Mistakes)
		}
		left := map[string]bool{}
		for _, lack := range lacks([]*runner.Scenario{scenario}) {
			left[lack] = true
		}
		var filled []string
		for lack := range all {
			if !left[lack] {
				filled = append(filled, lack)
			}
		}
		const shown, spared = ": no scenario has it in its rules or warnings", ": no scenario whose path names it has a route that it has nothing to say to"
		want := []string{"parent-headless" + shown, "no-catch-all" + shown, "parent-group" + shown, idsIn(name)[0] + spared}
		slices.Sort(want)
		slices.Sort(filled)
		if diff := cmp.Diff(want, filled); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
