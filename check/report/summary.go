package report

import (
	"slices"

	"github.com/gammaguard/gammaguard/printable"
	"github.com/gammaguard/gammaguard/validate"
)

// Summary counts what the report holds.
type Summary struct {
	Files   int `json:"files"`
	Routes  int `json:"routes"`
	Denials int `json:"denials"`
	// Warnings counts the warnings of rules and of mutations that are not made, and
	// duplicates; Changes those of mutations that are made.
	Warnings int `json:"warnings"`
	Audits   int `json:"audits"`
	Unknown  int `json:"unknown"`
	Changes  int `json:"changes"`
	Broken   int `json:"broken"`
	Fixed    int `json:"fixed"`
	// NotChecked counts what was left aside and may hold routes.
	NotChecked int `json:"notChecked"`
}

// Count fills in the summary. It also quotes the messages: those about files hold what
// stands in them.
func (r *CheckReport) Count() {
	r.quote()
	effects := map[validate.Action]int{}
	changes, skipped := 0, 0
	for i := range r.Skipped {
		if r.Skipped[i].Reason != NotManifest {
			skipped++
		}
	}
	for i := range r.Routes {
		changes += len(r.Routes[i].Changes)
		for j := range r.Routes[i].Withheld {
			effects[r.Routes[i].Withheld[j].Effect]++
		}
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

// quote makes texts of all messages that only show.
func (r *CheckReport) quote() {
	for i := range r.Routes {
		route := &r.Routes[i]
		for j := range route.Findings {
			f := &route.Findings[j]
			f.Problem, f.Remedy, f.Message = printable.Text(f.Problem), printable.Text(f.Remedy), printable.Text(f.Message)
		}
		for j := range route.Changes {
			route.Changes[j].Message = printable.Text(route.Changes[j].Message)
		}
	}
	for i := range r.Broken {
		r.Broken[i].Message = printable.Text(r.Broken[i].Message)
	}
	for i := range r.Skipped {
		r.Skipped[i].Reason = printable.Text(r.Skipped[i].Reason)
	}
	for i := range r.Fixed {
		r.Fixed[i].Message = printable.Text(r.Fixed[i].Message)
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
