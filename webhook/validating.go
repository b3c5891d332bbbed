package webhook

import (
	"context"
	"net/http"

	"github.com/gammaguard/gammaguard/validate"
)

// validating answers by the engine's verdict.
type validating struct {
	Options
	engine  *validate.Engine
	trail   *trail
	preview *preview // nil: off
}

// Validating returns the handler that admits or refuses routes.
func Validating(options Options, engine *validate.Engine) http.Handler {
	v := &validating{Options: options, engine: engine, trail: newTrail(options.Log)}
	if options.Preview != nil {
		v.preview = &preview{Options: options, engine: engine}
	}
	return options.handler("validate", v.answer)
}

func (v *validating) answer(ctx context.Context, r *review, fault *objectError) answer {
	if fault != nil {
		return answer{status: noRoute(fault), outcome: malformed}
	}
	verdict, err := v.judge(ctx, r)
	if err != nil {
		v.Log.Error(err, "Failed to validate the route", "route", shortened(r.Object.String()), "user", shortened(r.UserInfo.Username))
		return answer{status: unconfirmed(err), outcome: failed}
	}
	var changes []string
	if v.preview != nil && r.DryRun && reveals(r, &verdict) {
		changes = v.preview.warnings(ctx, r)
	}
	if len(verdict.Findings) == 0 && len(verdict.UnknownIgnores) == 0 && len(changes) == 0 {
		return admit
	}
	for i := range verdict.Findings {
		v.Metrics.finding(r.Object.Metadata.Namespace, &verdict.Findings[i])
	}
	v.trail.note(r, &verdict)
	answered := answer{warnings: warnings(&verdict, changes), audit: findingsAnnotations(&verdict), outcome: admitted}
	if verdict.Denied() {
		answered.status, answered.outcome = denial(r, &verdict), denied
	}
	return answered
}

// judge judges by the cache; what would be denied is confirmed by live reads. While the
// cache is stale, it judges by live reads.
func (v *validating) judge(ctx context.Context, r *review) (validate.Verdict, error) {
	if err := v.ready(ctx, r); err != nil {
		return validate.Verdict{}, err
	}
	if v.Live == nil {
		return v.engine.Judge(r.toJudge(), v.Reader)
	}
	confirmed, stale := v.confirmed(ctx, r)
	if stale {
		return v.engine.JudgeConfirmed(r.toJudge(), confirmed, confirmed)
	}
	return v.engine.JudgeConfirmed(r.toJudge(), v.Reader, confirmed)
}
