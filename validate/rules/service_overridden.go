package rules

import (
	"fmt"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

func serviceOverridden() *validate.Rule {
	return &validate.Rule{
		ID:    validate.RuleServiceOverridden,
		Title: "Another resource of the mesh overrides the routes on the Service",
		Rationale: "Linkerd's proxies use either a ServiceProfile or HTTPRoutes for a Service. If there is a ServiceProfile of its name, they " +
			"ignore the routes, and status reports the routes as accepted all the same. The rule looks for one in the namespace of the Service, " +
			"and for a consumer route also in the namespace of the route, whose clients use it. It reports nothing without mesh in the " +
			"configuration, and the standing audit, which reads caches, does not have it.",
		Remedy:   "Delete the ServiceProfile once the routes do what it does, or delete the routes.",
		Citation: "GEP-1294, which knows routes alone; Linkerd, Service Profiles: a ServiceProfile takes precedence over HTTPRoutes",
		Default:  validate.Warn,
		OfMesh:   true,
		Kinds:    []mesh.RouteKind{mesh.HTTPRoute, mesh.GRPCRoute},
		Parent:   checkServiceOverridden,
	}
}

func checkServiceOverridden(p *validate.Pass, parent *validate.Parent) {
	if p.Policy.Mesh == nil || len(parent.Ports) == 0 || p.Policy.Ignores(p.Attached(), parent.Key) {
		return
	}
	for _, key := range p.Policy.Mesh.OverridesOf(parent.Key, p.Route.Metadata.Namespace) {
		if p.Object(key) != nil { // it does not exist, or nothing is known of it
			continue
		}
		p.Report(validate.Finding{
			Field: mesh.ParentPath(parent.Index, "name"), Value: parent.Ref.Name, Reference: validate.Reference{Service: parent.Key, Detail: key.Kind + " " + key.Namespace},
			Problem: fmt.Sprintf("because of %s %s/%s, %s ignores the routes on %s", key.Kind, key.Namespace, key.Name, p.Policy.Mesh.Title, parent.Key),
			Remedy:  fmt.Sprintf("delete the %s, or the route", key.Kind),
		})
	}
}
