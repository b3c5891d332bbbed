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
			"matches applies to more requests than its author expects. If the route has a Gateway too, the Gateway uses the hostnames, and the mesh " +
			"does not.",
		Remedy: "Match the Host header in the rules instead (headers: name: Host). If the route has a Gateway too, move the Gateway and the " +
			"hostnames to a separate route, since such a match applies to both. The schema of TLSRoute requires hostnames, so the default for " +
			"TLSRoute is audit; do not rely on them, unless the mesh in the configuration matches them: docs/meshes.md lists which do.",
		Citation: "GEP-1294, hostnames field: implementations SHOULD NOT infer any functionality from hostnames; guide users to HTTPHeaderMatch on Host",
		Default:  validate.Warn,
		// A warning at each apply that nobody can follow teaches nothing.
		KindDefaults: map[mesh.RouteKind]validate.Action{mesh.TLSRoute: validate.Audit},
		Kinds:        []mesh.RouteKind{mesh.HTTPRoute, mesh.GRPCRoute, mesh.TLSRoute},
		Route:        checkHostnamesIgnored,
	}
}

func checkHostnamesIgnored(p *validate.Pass) {
	tls := p.Route.Kind == mesh.TLSRoute
	if len(p.Route.Spec.Hostnames) == 0 || len(p.Parents()) == 0 || p.Policy.Mesh.Does(p.Route.Kind, mesh.HostnamesField).Value == mesh.Honored {
		return
	}
	problem, remedy := "a mesh matches traffic by the parent Service, not by hostnames", "match the Host header in the rules instead"
	if tls {
		remedy = "do not rely on hostnames to restrict what this route matches"
	}
	if p.Route.Spec.HasGateway() {
		problem, remedy = "the Gateway uses hostnames, the mesh does not: it matches traffic by the parent Service", "use separate routes for Gateway and Service"
	}
	p.Report(validate.Finding{
		Field:     "spec.hostnames",
		Value:     shortList(p.Route.Spec.Hostnames),
		Problem:   problem,
		Remedy:    remedy,
		Reference: validate.Reference{Detail: strings.Join(p.Route.Spec.Hostnames, ",")},
	})
}
