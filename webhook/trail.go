package webhook

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"

	"github.com/gammaguard/gammaguard/validate"
)

// The bounds of the trail: lines a second, how many at once, and how long those that are
// left out are counted before a line says so.
const (
	trailRate    = 10
	trailBurst   = 100
	trailOmitted = 10 * time.Second
)

// trail logs each request that is denied, or would be but for an exemption, a mode, a dry
// run or the old object. It never logs content of the object.
type trail struct {
	log     logr.Logger
	limit   *rate.Limiter
	omitted atomic.Int64
}

func newTrail(log logr.Logger) *trail {
	return &trail{log: log, limit: rate.NewLimiter(trailRate, trailBurst)}
}

// note logs the request, if a finding denies or would have.
func (t *trail) note(r *review, verdict *validate.Verdict) {
	if !slices.ContainsFunc(verdict.Findings, func(f validate.Finding) bool { return f.Action == validate.Deny }) {
		return
	}
	if !t.limit.Allow() {
		if t.omitted.Add(1) == 1 {
			time.AfterFunc(trailOmitted, t.count)
		}
		return
	}
	var (
		rules   []string
		message = "Lowered a denial"
		why     validate.DowngradeReason
		denied  = verdict.Denied()
	)
	for i := range verdict.Findings {
		f := &verdict.Findings[i]
		if f.Action != validate.Deny || denied && f.Effect != validate.Deny {
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
		message = "Exempted a route"
	}
	t.log.Info(message, "user", shortened(r.UserInfo.Username), "operation", r.Operation, "kind", r.kind(),
		"namespace", shortened(r.Object.Metadata.Namespace), "name", shortened(r.name()), "rules", rules, "lowered", string(why), "dryRun", r.DryRun)
}

// count logs how many lines were left out.
func (t *trail) count() {
	t.log.Info("Left out lines on requests that were denied, exempted, or lowered", "count", t.omitted.Swap(0))
}
