package report

import (
	"slices"

	"github.com/gammaguard/gammaguard/validate"
)

// Summary counts what the report holds.
type Summary struct {
	Files   int `json:"files"`
	Routes  int `json:"routes"`
	Denials int `json:"denials"`
	// Warnings counts the warnings of rules, and duplicates; Changes the warnings of
	// mutations.
	Warnings int `json:"warnings"`
	Audits   int `json:"audits"`
	Unknown  int `json:"unknown"`
	Changes  int `json:"changes"`
	Broken   int `json:"broken"`
	Fixed    int `json:"fixed"`
	// NotChecked counts what was left aside and may hold routes.
	NotChecked int `json:"notChecked"`
}

// Count fills in the summary.
func (r *CheckReport) Count() {
	effects := map[validate.Action]int{}
	changes, skipped := 0, 0
	for i := range r.Skipped {
		if r.Skipped[i].Reason != NotManifest {
			skipped++
		}
	}
	for i := range r.Routes {
		changes += len(r.Routes[i].Changes)
		for j := range r.Routes[i].Findings {
			effects[r.Routes[i].Findings[j].Effect]++
		}
	}
	r.Summary = Summary{
		Files: len(r.files), Routes: len(r.Routes), Broken: len(r.Broken), Fixed: len(r.Fixed), Changes: changes,
		Denials: effects[validate.Deny], Warnings: effects[validate.Warn] + len(r.Duplicates), Audits: effects[validate.Audit], Unknown: effects[EffectUnknown],
		NotChecked: skipped,
	}
}

// FailOn are the names of what makes a check fail, each including those before it.
var FailOn = []string{"never", string(validate.Deny), string(validate.Warn), string(validate.Audit)}

// Fails reports whether the report holds what is to fail the check, one of FailOn. A
// broken document counts as a denial, and a change as a warning. What --fix has
// written does not count.
func (r *CheckReport) Fails(on string) bool {
	s := &r.Summary
	found := []int{0, s.Denials + s.Broken, s.Warnings + s.Changes, s.Audits}
	return slices.Max(found[:slices.Index(FailOn, on)+1]) > 0
}
