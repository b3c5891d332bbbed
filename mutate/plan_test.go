package mutate_test

import (
	"testing"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/mutate"
)

// TestPlan: changes are made in mode enforce alone, for nobody who is exempt, and on no route
// that a controller writes; and the texts say so.
func TestPlan(t *testing.T) {
	change := mutate.Change{ID: "parent-group", Path: "spec.parentRefs[0].group", After: "", Why: "Service is in the core group"}
	const (
		field = `spec.parentRefs[0].group to ""`
		why   = ": Service is in the core group (parent-group)"
	)
	owned := "set " + field + " in Canary play/podinfo, which writes this route" + why
	for _, test := range []struct {
		mode       mesh.Mode
		exempt     bool
		controller string
		withheld   mutate.Withheld
		warns      bool
		message    string
	}{
		{mesh.Enforce, false, "", mutate.NotWithheld, true, "set " + field + why},
		{mesh.Warn, false, "", mutate.WithheldByMode, true, "would set " + field + " in mode enforce" + why},
		{mesh.Audit, false, "", mutate.WithheldByMode, false, "would set " + field + " in mode enforce" + why},
		{"", false, "", mutate.WithheldByMode, true, "would set " + field + " in mode enforce" + why},
		{mesh.Enforce, true, "", mutate.WithheldByExemption, false, "would set " + field + " without the exemption" + why},
		{mesh.Enforce, false, "Canary play/podinfo", mutate.WithheldByController, true, owned},
		{mesh.Warn, false, "Canary play/podinfo", mutate.WithheldByController, true, owned},
		{mesh.Audit, false, "Canary play/podinfo", mutate.WithheldByController, false, owned},
	} {
		plan := &mutate.Plan{Changes: []mutate.Change{change}, Mode: test.mode, Exempt: test.exempt, Controller: test.controller}
		if got := plan.Withheld(); got != test.withheld || (len(plan.Made()) == 1) != (test.withheld == mutate.NotWithheld) {
			t.Errorf("%+v: withheld by %q, %d changes made", test, got, len(plan.Made()))
		}
		if got := plan.Warns(); got != test.warns {
			t.Errorf("%+v: warns: %v", test, got)
		}
		if got := plan.Message(&plan.Changes[0]); got != test.message {
			t.Errorf("%+v: message\n got %s\nwant %s", test, got, test.message)
		}
	}
}
