package rules

import (
	"fmt"
	"slices"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

func backendMissing() *validate.Rule {
	return &validate.Rule{
		ID:    "backend-missing",
		Title: "A rule of a mesh route has no backendRefs, or a GRPCRoute has no rules",
		Rationale: "A route on a Service has no implicit backend: the parent Service does not receive the requests that a rule without backendRefs " +
			"matches. They fail with a server error, unless a filter answers them. A GRPCRoute without rules has no backend either.",
		Remedy: "Add a backendRef to each rule, usually to the parent Service itself, or a RequestRedirect filter. An ExtensionRef filter may " +
			"answer too, so rules with one are accepted. With mesh: linkerd the rule reports nothing, since Linkerd sends such requests to the parent Service.",
		Citation: "GEP-1294: the backendRefs of a route define where traffic goes; Gateway API, HTTPRouteRule: a rule without a valid backendRef answers with a 500 status code",
		Default:  validate.Warn,
		Route:    checkBackendMissing,
	}
}

func checkBackendMissing(p *validate.Pass) {
	if len(p.Parents()) == 0 {
		return
	}
	// The API server gives an HTTPRoute without rules one, and demands rules of the other
	// kinds.
	if p.Route.Kind == mesh.GRPCRoute && len(p.Route.Spec.Rules) == 0 {
		p.Report(validate.Finding{
			Field:     "spec.rules",
			Problem:   "the route has no rules, so it sends no request to a backend",
			Remedy:    "add a rule with a backendRef, for example to the parent Service",
			Reference: validate.Reference{Detail: "spec.rules"},
		})
	}
	if p.Policy.Mesh.Does(p.Route.Kind, mesh.NoBackendRefs).Value == mesh.ToParent {
		return
	}
	for i := range p.Route.Spec.Rules {
		rule := &p.Route.Spec.Rules[i]
		if len(rule.BackendRefs) > 0 || slices.ContainsFunc(rule.Filters, answers) {
			continue
		}
		path := fmt.Sprintf("spec.rules[%d].backendRefs", i)
		p.Report(validate.Finding{
			Field:     path,
			Problem:   "the rule has no backend, so requests that match it fail",
			Remedy:    "add a backendRef, for example to the parent Service, or a RequestRedirect filter",
			Reference: validate.Reference{Detail: path},
		})
	}
}

// answers reports whether the filter may answer requests itself.
func answers(f mesh.Filter) bool {
	return f.Type == mesh.RequestRedirectFilter || f.Type == mesh.ExtensionRefFilter
}
