package validate

import (
	"fmt"
	"slices"

	"github.com/gammaguard/gammaguard/mesh"
)

func backendWeightsZero() *Rule {
	return &Rule{
		ID:        "backend-weights-zero",
		Title:     "Every backendRef of a rule has weight 0",
		Rationale: "Requests that such a rule matches go nowhere and fail with a server error.",
		Remedy:    "Give at least one backendRef a weight above 0. A left-out weight is 1.",
		Citation:  "Gateway API, BackendRef: if weight is 0, no traffic should be forwarded to the backend",
		Default:   Warn,
		Route:     checkBackendWeightsZero,
	}
}

func checkBackendWeightsZero(p *Pass) {
	if len(p.Parents()) == 0 {
		return
	}
	for i := range p.Route.Spec.Rules {
		backends := p.Route.Spec.Rules[i].BackendRefs
		if len(backends) == 0 || slices.ContainsFunc(backends, func(b mesh.BackendRef) bool { return b.Weight == nil || *b.Weight != 0 }) {
			continue
		}
		path := fmt.Sprintf("spec.rules[%d].backendRefs", i)
		p.Report(Finding{
			Field:     path,
			Problem:   "every backendRef has weight 0, so requests that this rule matches fail",
			Remedy:    "give one of them a weight above 0",
			Reference: Reference{Detail: path},
		})
	}
}
