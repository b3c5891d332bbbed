package validate

import (
	"cmp"
	"fmt"

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
		Fault:    GrantMissing,
		Describe: describeGrantMissing,
	}
}

func describeGrantMissing(policy *Policy, parent *Parent) Finding {
	name, role := parent.Route.Namespace, parent.Scope.Role()
	return Finding{
		Field:     parent.Path(""),
		Type:      Forbidden,
		Problem:   fmt.Sprintf("namespace %s is not granted %s %ss", name, role, parent.Route.Kind) + unknownGrant(parent.Namespace),
		Remedy:    "a mesh admin can: " + grantCommand(policy, parent),
		Reference: Reference{Namespace: name, Detail: string(role)},
	}
}

// unknownGrant says in parentheses that the namespace's grant is misspelt, if it
// is.
func unknownGrant(namespace *mesh.Namespace) string {
	_, errs := namespace.Policy()
	for _, err := range errs {
		if wrong, ok := err.(*mesh.LabelError); ok && wrong.Key == mesh.GrantLabel { //nolint:errorlint // Policy wraps nothing
			return fmt.Sprintf(" (its label says %q)", wrong.Value)
		}
	}
	return ""
}

// grantCommand returns the command that grants what the route lacks for all its
// parents, and takes nothing away that the namespace's label, or the default, grants
// now.
func grantCommand(policy *Policy, parent *Parent) string {
	route, namespace := parent.Route, parent.Namespace
	labels, _ := namespace.Policy()
	grant := cmp.Or(labels.Grant, policy.Grants.Default)
	for i := range route.Parents {
		ref := &route.Parents[i]
		if ref.Class() != mesh.MeshParent {
			continue
		}
		role := mesh.ScopeOf(route.Namespace, ref.Service(route.Namespace)).Role()
		if policy.Grants.Allows(namespace, role, route.Kind) {
			continue
		}
		switch grant {
		case mesh.GrantNone, "", mesh.Grant(role):
			grant = mesh.Grant(role)
		default:
			grant = mesh.GrantAll
		}
	}
	command := fmt.Sprintf("kubectl label namespace %s %s=%s", route.Namespace, mesh.GrantLabel, grant)
	if labels.Grant != "" {
		command += " --overwrite"
	}
	return command
}
