package validate

import (
	"fmt"
	"strings"

	"github.com/gammaguard/gammaguard/mesh"
)

func grantMissing() *Rule {
	return &Rule{
		ID:    "grant-missing",
		Title: "The route's namespace is not granted this role, or this route kind",
		Rationale: "Whoever can write routes can otherwise reshape mesh traffic: a producer route changes what every client of a Service " +
			"gets, a consumer route what its whole namespace gets. Which namespaces may is for a mesh admin to say.",
		Remedy: "Ask a mesh admin to label the namespace with gammaguard.dev/grant=producer (routes to Services of the same namespace), " +
			"consumer (routes to Services of other namespaces) or all; or attach the route to a Gateway instead.",
		Citation: "GEP-1294, Goals: cluster operators SHOULD be able to grant permission for whether xRoutes in a namespace may configure mesh traffic",
		Default:  Deny,
		Stage:    GrantStage,
		Reads:    ReadsNamespaces,
		Check:    checkGrantMissing,
	}
}

func checkGrantMissing(p *Pass) {
	name := p.Route.Metadata.Namespace
	for _, parent := range p.MeshRefs() {
		role := parent.Scope.Role()
		namespace, known := p.Namespace(name)
		if known && p.Policy.Grants.Allows(namespace, role, p.Route.Kind) {
			continue
		}
		labels, errs := namespace.Policy()
		f := Finding{
			Field:     parent.Path(""),
			Type:      Forbidden,
			Problem:   fmt.Sprintf("namespace %s is not granted %s %ss", name, role, p.Route.Kind),
			Remedy:    "a mesh admin can grant it: kubectl label namespace " + name + " --overwrite " + mesh.GrantLabel + "=" + string(wider(labels.Grant, role)),
			Reference: Reference{Namespace: name, Detail: string(role)},
		}
		for _, err := range errs {
			if wrong, ok := err.(*mesh.LabelError); ok && wrong.Key == mesh.GrantLabel { //nolint:errorlint // Policy wraps nothing
				f.Problem += fmt.Sprintf(" (its label %s=%q is unknown: %s)", wrong.Key, wrong.Value, strings.Join(wrong.Known, ", "))
			}
		}
		if known {
			p.Report(f)
		} else {
			p.Unknown(f)
		}
	}
}

// wider returns the grant that holds for the role and for all that the present
// grant holds for.
func wider(present mesh.Grant, role mesh.Role) mesh.Grant {
	if present == mesh.GrantNone || present == "" || present == mesh.Grant(role) {
		return mesh.Grant(role)
	}
	return mesh.GrantAll
}
