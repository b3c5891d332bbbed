package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/gammaguard/gammaguard/internal/creation"
	"github.com/gammaguard/gammaguard/internal/kube"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/mutate"
	"github.com/gammaguard/gammaguard/validate"
)

// mutating answers by the changes that package mutate makes. If a mutation
// fails, it admits the route unchanged; the validating webhook then checks it.
type mutating struct {
	Options
	judge creation.Judge
}

// Mutating returns the handler that mutates routes, under the engine's policy.
func Mutating(options Options, engine *validate.Engine) http.Handler {
	options.share()
	m := &mutating{options, creation.Judge{Engine: engine, Off: options.Off}}
	return options.handler("mutate", m.answer)
}

func (m *mutating) answer(ctx context.Context, r *review, fault *objectError) answer {
	if fault != nil {
		return answer{outcome: malformed}
	}
	if err := m.ready(ctx, r); err != nil {
		return answer{outcome: failed}
	}
	world := m.world(ctx, r)
	changes := m.judge.Changes(r.Object, world)
	if len(changes) == 0 || r.Operation == operationUpdate && r.specUnchanged() {
		return admit
	}
	plan, err := m.judge.Plan(r.Object, r.user(), changes, world)
	if err != nil {
		m.trail.failed(r, err, "Failed to mutate the route", "route", shortened(r.Object.String()))
		return answer{outcome: failed}
	}
	m.Metrics.mutations(m.namespace(r), &plan)
	answered := answer{audit: planAnnotation(&plan), outcome: admitted}
	if plan.Warns() {
		texts := make([]string, len(plan.Changes))
		for i := range plan.Changes {
			texts[i] = warning(plan.Message(&plan.Changes[i]), plan.Changes[i].ID)
		}
		answered.warnings = bounded(texts)
	}
	if made := plan.Made(); len(made) > 0 {
		if answered.patch, err = json.Marshal(mutate.Patch(made)); err != nil {
			m.Log.Error(err, "Failed to mutate the route", "route", shortened(r.Object.String()))
			return answer{outcome: failed}
		}
		answered.outcome = mutated
	}
	return answered
}

// world returns what mutations read: the caches, and live what these do not have yet.
func (m *mutating) world(ctx context.Context, r *review) mesh.Reader {
	if m.Live == nil {
		return m.Reader
	}
	return fallbackReader{m.confirmed(ctx, r)}
}

// fallbackReader reads live what the cache does not have.
type fallbackReader struct{ *kube.Confirmed }

// Do implements mesh.Reader.
func (f fallbackReader) Do(read mesh.Read) mesh.Answer {
	answer := f.Confirmed.Do(read)
	if errors.Is(answer.Err, mesh.ErrNotFound) {
		if _, err := f.Read([]mesh.Read{read}); err != nil {
			return mesh.Answer{Err: err}
		}
		answer = f.Confirmed.Do(read)
	}
	return answer
}
