package webhook

import (
	"context"
	"net/http"

	"github.com/gammaguard/gammaguard/mesh/live"
	"github.com/gammaguard/gammaguard/validate"
)

// validating answers by the engine's verdict.
type validating struct {
	Options
	engine *validate.Engine
}

// Validating returns the handler that admits or refuses routes.
func Validating(options Options, engine *validate.Engine) http.Handler {
	v := &validating{options, engine}
	return &handler{name: "validate", metrics: options.Metrics, log: options.Log, answer: v.answer}
}

func (v *validating) answer(ctx context.Context, r *review, fault *objectError) answer {
	if fault != nil {
		return answer{status: noRoute(fault), outcome: malformed}
	}
	verdict, err := v.judge(ctx, r)
	if err != nil {
		v.Log.Error(err, "A route could not be judged", "route", r.Object.String(), "user", r.UserInfo.Username)
		return answer{status: unconfirmed(err), outcome: failed}
	}
	if len(verdict.Findings) == 0 && len(verdict.UnknownIgnores) == 0 {
		return admit
	}
	for i := range verdict.Findings {
		v.Metrics.finding(&verdict.Findings[i])
	}
	answered := answer{warnings: warnings(&verdict), audit: findingsAnnotation(&verdict), outcome: admitted}
	if verdict.Denied() {
		answered.status, answered.outcome = denial(r, &verdict), denied
	}
	return answered
}

// judge judges by the cache, and, as long as the verdict rests on what was not
// read live, once more after that was.
func (v *validating) judge(ctx context.Context, r *review) (validate.Verdict, error) {
	judged := r.toJudge()
	if err := v.ready(ctx, r); err != nil {
		return validate.Verdict{}, err
	}
	verdict, err := v.engine.Judge(judged, v.World)
	if err != nil || v.Live == nil {
		return verdict, err
	}
	grounds := verdict.Grounds()
	if len(grounds) == 0 {
		return verdict, nil
	}
	ctx, cancel := r.deadline(ctx)
	defer cancel()
	confirmed := live.Confirm(ctx, v.Live, v.World)
	for {
		fresh, err := confirmed.Read(toRead(grounds))
		if err != nil {
			return validate.Verdict{}, err
		}
		if fresh == 0 {
			return verdict, nil
		}
		if verdict, err = v.engine.Judge(judged, confirmed); err != nil {
			return validate.Verdict{}, err
		}
		grounds = verdict.Grounds()
	}
}

func toRead(grounds []validate.Reference) []live.Ground {
	reads := make([]live.Ground, len(grounds))
	for i, ground := range grounds {
		reads[i] = live.Ground{Service: ground.Service, Namespace: ground.Namespace}
	}
	return reads
}
