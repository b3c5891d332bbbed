package rules

import (
	"fmt"
	"slices"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

func backendWeightsZero() *validate.Rule {
	return &validate.Rule{
		ID:    validate.RuleBackendWeightsZero,
		Title: "Every backendRef of a rule has weight 0",
		Rationale: "Requests that match such a rule have no backend, and fail with a server error. With mesh: cilium, the weight of the only backendRef " +
			"of a rule does not count; of several, the proxies keep the former routes of the Service.",
		Remedy:   "Give at least one backendRef a weight above 0. The default weight is 1. A Rollout of Argo sets 0 for its canary: add its stable Service.",
		Citation: "Gateway API, BackendRef: if weight is 0, no traffic should be forwarded to the backend",
		Default:  validate.Warn,
		Route:    checkBackendWeightsZero,
	}
}

func checkBackendWeightsZero(p *validate.Pass) {
	if len(p.Parents()) == 0 {
		return
	}
	reads := p.Policy.Mesh.ReadsBackends()
	problem := "every backendRef has weight 0, so "
	if reads.ZeroRefused {
		problem += p.Policy.Mesh.Title + "'s proxies refuse the routes of the whole Service, and keep the former ones"
	} else {
		problem += "requests that match this rule fail"
	}
	for i := range p.Route.Spec.Rules {
		backends := p.Route.Spec.Rules[i].BackendRefs
		if len(backends) == 0 || slices.ContainsFunc(backends, func(b mesh.BackendRef) bool { return b.Share() != 0 }) {
			continue
		}
		if reads.OnlyOne && len(backends) == 1 && !onSeveralPorts(p) {
			continue
		}
		path := fmt.Sprintf("spec.rules[%d].backendRefs", i)
		p.Report(validate.Finding{
			Field:     path,
			Problem:   problem,
			Remedy:    "set a weight above 0 on at least one of them",
			Reference: validate.Reference{Detail: path},
		})
	}
}

// onSeveralPorts reports whether several parentRefs of the route name one Service: a mesh that merges the backendRefs of equal matches counts one for
// each port. A parentRef without port counts as one: how many ports the Service has is not read.
func onSeveralPorts(p *validate.Pass) bool {
	seen := map[mesh.ServiceKey]bool{}
	parents := p.Parents()
	for i := range parents {
		if seen[parents[i].Key] {
			return true
		}
		seen[parents[i].Key] = true
	}
	return false
}
