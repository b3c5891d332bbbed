package webhook

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"

	"github.com/gammaguard/gammaguard/validate"
)

// The bounds of the trail: lines of each sort a second that callers of one address cause,
// how many at once, and how long those that are left out are counted before a line says so.
const (
	trailRate    = 10
	trailBurst   = 100
	trailOmitted = 10 * time.Second
)

// trail logs each request that is denied, or would be but for an exemption, a mode, a dry
// run or the old object. It never logs content of the object.
type trail struct {
	log logr.Logger
	// usual is the budget of lines on denials and what lowers them. Exemptions and failures
	// have their own: none of them keeps the others out.
	usual, exemptions, failures *budget
	omitted                     atomic.Int64
}

func newTrail(log logr.Logger) *trail {
	sort := func() *budget { return newBudget(trailRate, trailBurst) }
	return &trail{log: log, usual: sort(), exemptions: sort(), failures: sort()}
}

// may reports whether a line on the request is within the budget, and counts it if not.
func (t *trail) may(r *review, of *budget) bool {
	if of.allow(r.address) {
		return true
	}
	if t.omitted.Add(1) == 1 {
		time.AfterFunc(trailOmitted, t.count)
	}
	return false
}

// failed logs that a request could not be answered.
func (t *trail) failed(r *review, err error, message string, fields ...any) {
	if t.may(r, t.failures) {
		t.log.Error(err, message, append(fields, "caller", r.address, "authenticated", r.authenticated)...)
	}
}

// wouldDeny reports whether the finding denies, or would where nothing downgraded it. A field
// that a mutation would set denies nothing.
func wouldDeny(f validate.Finding) bool {
	return f.Action == validate.Deny && f.Downgraded != validate.DowngradedByMutation
}

// note logs the request, if a finding denies or would have.
func (t *trail) note(r *review, verdict *validate.Verdict) {
	if !slices.ContainsFunc(verdict.Findings, wouldDeny) {
		return
	}
	var (
		rules   []string
		message = "Downgraded a denial"
		of      = t.usual
		why     validate.DowngradeReason
		denied  = verdict.Denied()
	)
	for i := range verdict.Findings {
		f := &verdict.Findings[i]
		if !wouldDeny(*f) || denied && f.Effect != validate.Deny {
			continue
		}
		if !slices.Contains(rules, f.Rule) {
			rules = append(rules, f.Rule)
		}
		if why == "" || f.Downgraded == validate.DowngradedByExemption {
			why = f.Downgraded
		}
	}
	switch {
	case denied:
		message = "Denied a route"
	case why == validate.DowngradedByExemption:
		message, of = "Exempted a route", t.exemptions
	}
	if !t.may(r, of) {
		return
	}
	t.log.Info(message, "user", shortened(r.UserInfo.Username), "operation", r.Operation, "kind", r.kind(),
		"namespace", shortened(r.Object.Metadata.Namespace), "name", shortened(r.name()), "rules", rules, "downgraded", string(why), "dryRun", r.DryRun,
		"caller", r.address, "authenticated", r.authenticated)
}

// count logs how many lines were left out.
func (t *trail) count() {
	t.log.Info("Suppressed log lines about requests that were denied, exempted, or downgraded, or that failed", "count", t.omitted.Swap(0))
}
