package webhook

import (
	"context"
	"net/http"
	"slices"

	"github.com/gammaguard/gammaguard/internal/creation"
	"github.com/gammaguard/gammaguard/validate"
)

// validating answers by the engine's verdict.
type validating struct {
	Options
	engine  *validate.Engine
	preview *preview // nil: off
}

// Validating returns the handler that admits or refuses routes.
func Validating(options Options, engine *validate.Engine) http.Handler {
	options.share()
	v := &validating{Options: options, engine: engine}
	if options.Preview != nil {
		v.preview = &preview{Options: options, engine: engine}
	}
	return options.handler("validate", v.answer)
}

func (v *validating) answer(ctx context.Context, r *review, fault *objectError) answer {
	if fault != nil {
		return answer{status: undecodable(fault), outcome: malformed}
	}
	verdict, err := v.judge(ctx, r)
	if err != nil {
		v.trail.failed(r, err, "Failed to validate the route", "route", shortened(r.Object.String()), "user", shortened(r.UserInfo.Username))
		return answer{status: unconfirmed(err), outcome: failed}
	}
	var changes []string
	if v.engine.Concerns(r.Object) {
		changes = ineffectiveKeys(string(r.Object.Kind), r)
	}
	if v.preview != nil && r.DryRun && reveals(r, &verdict) {
		changes = append(changes, v.preview.warnings(ctx, r)...)
	}
	if len(verdict.Findings) == 0 && len(verdict.UnknownIgnores) == 0 && len(changes) == 0 {
		return admit
	}
	if err := v.relate(r, &verdict); err != nil {
		v.trail.failed(r, err, "Failed to compare the route with mode enforce", "route", shortened(r.Object.String()))
	}
	v.count(r, &verdict)
	v.trail.note(r, &verdict)
	answered := answer{warnings: warnings(&verdict, changes), audit: findingsAnnotations(&verdict), outcome: admitted}
	if verdict.Denied() {
		answered.status, answered.outcome = denial(r, &verdict), denied
	}
	return answered
}

// relate has findings say what is true in mode enforce, where mutations leave fields as they are. The caches will do: a
// verdict does not depend on it.
func (v *validating) relate(r *review, verdict *validate.Verdict) error {
	withheld := func(f validate.Finding) bool {
		return f.Downgraded == validate.DowngradedByMode || f.Downgraded == validate.DowngradedByExemption
	}
	if !slices.ContainsFunc(verdict.Findings, withheld) {
		return nil
	}
	judge := creation.Judge{Engine: v.engine, Off: v.Off}
	plan, err := judge.Plan(r.Object, r.user(), judge.Changes(r.Object, v.Reader), v.Reader)
	if err != nil {
		return err
	}
	return judge.Relate(verdict, r.toJudge(), &plan, v.Reader)
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
	return v.engine.JudgeConfirmed(r.toJudge(), v.confirmed(ctx, r))
}

// count counts the findings by the namespace.
func (v *validating) count(r *review, verdict *validate.Verdict) {
	namespace := v.namespace(r)
	for i := range verdict.Findings {
		v.Metrics.finding(r, namespace, &verdict.Findings[i])
	}
}
