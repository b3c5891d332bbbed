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
		Stage:    GrantStage,
		Reads:    ReadsNamespaces,
		Check:    checkGrantMissing,
	}
}

func checkGrantMissing(p *Pass) {
	refs := p.MeshRefs()
	if len(refs) == 0 {
		return
	}
	name := p.Route.Metadata.Namespace
	namespace, known := p.Namespace(name)
	var missing []*Parent
	for i := range refs {
		if !known || !p.Policy.Grants.Allows(namespace, refs[i].Scope.Role(), p.Route.Kind) {
			missing = append(missing, &refs[i])
		}
	}
	for _, parent := range missing {
		role := parent.Scope.Role()
		f := Finding{
			Field:     parent.Path(""),
			Type:      Forbidden,
			Problem:   fmt.Sprintf("namespace %s is not granted %s %ss", name, role, p.Route.Kind) + unknownGrant(namespace),
			Remedy:    "a mesh admin can: " + p.grantCommand(name, namespace, missing),
			Reference: Reference{Namespace: name, Detail: string(role)},
		}
		if known {
			p.Report(f)
		} else {
			p.Unknown(f)
		}
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

// grantCommand returns the command that grants the roles of all the parents, and
// takes nothing away that the namespace's label, or the default, grants now.
func (p *Pass) grantCommand(name string, namespace *mesh.Namespace, parents []*Parent) string {
	labels, _ := namespace.Policy()
	grant := cmp.Or(labels.Grant, p.Policy.Grants.Default)
	for _, parent := range parents {
		switch role := mesh.Grant(parent.Scope.Role()); grant {
		case mesh.GrantNone, "", role:
			grant = role
		default:
			grant = mesh.GrantAll
		}
	}
	command := fmt.Sprintf("kubectl label namespace %s %s=%s", name, mesh.GrantLabel, grant)
	if labels.Grant != "" {
		command += " --overwrite"
	}
	return command
}
