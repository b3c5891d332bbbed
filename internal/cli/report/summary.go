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
	// Ignored counts what patterns of the repository leave aside and may hold routes.
	Ignored int `json:"ignored,omitempty"`
	// NotListed counts the routes, documents and duplicates that the report does not list, since it
	// would be too large. The other counts include them.
	NotListed int `json:"notListed,omitempty"`
}

// Count fills in the summary. It also quotes the messages that were not quoted when they
// were added, and drops notices that explain nothing.
func (r *CheckReport) Count() {
	s := Summary{Files: len(r.files), Broken: len(r.Broken), Fixed: len(r.Fixed), Warnings: len(r.Duplicates)}
	for i := range r.Notices {
		s.Ignored += r.Notices[i].Ignored
	}
	for i := range r.Skipped {
		if r.Skipped[i].Reason != NotManifest {
			s.NotChecked++
		}
		r.Skipped[i].Reason = shown(r.Skipped[i].Reason)
	}
	for i := range r.Notices {
		r.Notices[i].Message = shown(r.Notices[i].Message)
	}
	for i := range r.Routes {
		s.addRoute(&r.Routes[i])
	}
	for i := range r.Broken {
		r.Broken[i].Message = shown(r.Broken[i].Message)
	}
	for i := range r.NotFixed {
		r.NotFixed[i].Message, r.NotFixed[i].Reason = shown(r.NotFixed[i].Message), shown(r.NotFixed[i].Reason)
	}
	for i := range r.Fixed {
		r.Fixed[i].Message = shown(r.Fixed[i].Message)
	}
	s.add(&r.left)
	r.Summary = s
	if s.Unknown+s.Broken+s.Denials == 0 { // a strict check denies what is unknown
		r.Notices = slices.DeleteFunc(r.Notices, func(n Notice) bool { return n.Explains })
	}
}

// addRoute counts a route.
func (s *Summary) addRoute(route *Route) {
	effects := map[validate.Action]int{}
	for i := range route.Withheld {
		effects[route.Withheld[i].Effect]++
	}
	for i := range route.Findings {
		effects[route.Findings[i].Effect]++
	}
	s.add(&Summary{
		Routes: 1, Changes: len(route.Changes), Denials: effects[validate.Deny], Warnings: effects[validate.Warn], Audits: effects[validate.Audit],
		Unknown: effects[EffectUnknown],
	})
}

// add adds the counts of what is added to reports one by one.
func (s *Summary) add(of *Summary) {
	s.Routes += of.Routes
	s.Denials += of.Denials
	s.Warnings += of.Warnings
	s.Audits += of.Audits
	s.Unknown += of.Unknown
	s.Changes += of.Changes
	s.Broken += of.Broken
	s.NotListed += of.NotListed
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
