package rules

import (
	"strings"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

func hostnamesIgnored() *validate.Rule {
	return &validate.Rule{
		ID:    "hostnames-ignored",
		Title: "A route with mesh parents sets hostnames",
		Rationale: "A mesh matches traffic by the parent Service, and should not use hostnames. A route that relies on hostnames to restrict what it " +
			"matches applies to more requests than its author expects.",
		Remedy: "Match the Host header in the rules instead (headers: name: Host), or move the hostnames to a separate route with Gateways as " +
			"parents. The schema of TLSRoute requires hostnames, so the default for TLSRoute is audit; do not rely on them.",
		Citation: "GEP-1294, hostnames field: implementations SHOULD NOT infer any functionality from hostnames; guide users to HTTPHeaderMatch on Host",
		Default:  validate.Warn,
		// A warning at each apply that nobody can follow teaches nothing.
		KindDefaults: map[mesh.RouteKind]validate.Action{mesh.TLSRoute: validate.Audit},
		Kinds:        []mesh.RouteKind{mesh.HTTPRoute, mesh.GRPCRoute, mesh.TLSRoute},
		Route:        checkHostnamesIgnored,
	}
}

func checkHostnamesIgnored(p *validate.Pass) {
	if len(p.Route.Spec.Hostnames) == 0 || len(p.Parents()) == 0 {
		return
	}
	remedy := "match the Host header in the rules instead"
	if p.Route.Kind == mesh.TLSRoute {
		remedy = "do not rely on hostnames to restrict what this route matches"
	}
	p.Report(validate.Finding{
		Field:     "spec.hostnames",
		Value:     shortList(p.Route.Spec.Hostnames),
		Problem:   "a mesh matches traffic by the parent Service, not by hostnames",
		Remedy:    remedy,
		Reference: validate.Reference{Detail: strings.Join(p.Route.Spec.Hostnames, ",")},
	})
}
