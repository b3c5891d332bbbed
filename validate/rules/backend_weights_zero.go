package rules

import (
	"fmt"
	"slices"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

func backendWeightsZero() *validate.Rule {
	return &validate.Rule{
		ID:        "backend-weights-zero",
		Title:     "Every backendRef of a rule has weight 0",
		Rationale: "Requests that match such a rule have no backend, and fail with a server error.",
		Remedy:    "Give at least one backendRef a weight above 0. The default weight is 1.",
		Citation:  "Gateway API, BackendRef: if weight is 0, no traffic should be forwarded to the backend",
		Default:   validate.Warn,
		Route:     checkBackendWeightsZero,
	}
}

func checkBackendWeightsZero(p *validate.Pass) {
	if len(p.Parents()) == 0 {
		return
	}
	for i := range p.Route.Spec.Rules {
		backends := p.Route.Spec.Rules[i].BackendRefs
		if len(backends) == 0 || slices.ContainsFunc(backends, func(b mesh.BackendRef) bool { return b.Weight == nil || *b.Weight != 0 }) {
			continue
		}
		path := fmt.Sprintf("spec.rules[%d].backendRefs", i)
		p.Report(validate.Finding{
			Field:     path,
			Problem:   "every backendRef has weight 0, so requests that match this rule fail",
			Remedy:    "set a weight above 0 on at least one of them",
			Reference: validate.Reference{Detail: path},
		})
	}
}
