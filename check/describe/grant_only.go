package describe

import (
	"slices"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/mesh/manifest"
	"github.com/gammaguard/gammaguard/validate"
)

// grantOnlyRoutes are the routes on a Service of which only the grant is checked.
type grantOnlyRoutes struct {
	attached []*mesh.AttachedRoute
	rows     []Route
}

// grantOnly finds, among the routes of the cluster, those on the Service of which only the
// grant is checked. What becomes of them, Linkerd alone knows.
func grantOnly(engine *validate.Engine, reader mesh.Reader, routes []*manifest.Object, key mesh.ServiceKey) (found grantOnlyRoutes, _ error) {
	view := engine.View(reader, key)
	for _, object := range routes {
		if !object.Route.Kind.GrantOnly() {
			continue
		}
		route := object.Route.Attached(engine.Policy().Mesh)
		for i := range route.Parents {
			ref := &route.Parents[i]
			if ref.ServiceKind() == "" || !engine.Policy().Grants.Covers(ref) || ref.Service(route.Namespace) != key {
				continue
			}
			parent := view.Parent(route, i)
			outcome, err := parent.Evaluate(validate.Only(validate.GrantMissing) | validate.Only(validate.ConsumerRefused))
			if err != nil {
				return found, err
			}
			row := Route{Route: route.String(), Scope: parent.Scope.String(), State: Unknown, Reason: "only its grant is checked: Linkerd decides what it does"}
			if outcome.Fault != validate.NoFault {
				fault := engine.Describe(outcome.Fault, &parent)
				row.State, row.Reason, row.Rule = Absent, fault.Problem, fault.Rule
			}
			found.rows = append(found.rows, row)
			if !slices.Contains(found.attached, route) {
				found.attached = append(found.attached, route)
			}
		}
	}
	return found, nil
}
