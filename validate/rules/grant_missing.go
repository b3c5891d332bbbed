package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

func grantMissing() *validate.Rule {
	return &validate.Rule{
		ID:    validate.RuleGrantMissing,
		Title: "The route's namespace lacks the grant for this role or route kind",
		Rationale: "Without grants, anyone who can write routes can change mesh traffic: a producer route affects all clients of a Service, and a " +
			"consumer route affects all clients in its namespace. A mesh admin decides which namespaces can do this. The webhook refuses such a " +
			"route; where the policies of 'gammaguard policy' are installed, the API server itself refuses it first, and its message names the " +
			"ValidatingAdmissionPolicy gammaguard-route-grants.",
		Remedy: "Ask a mesh admin to label the namespace gammaguard.dev/grant=producer (routes to Services in the same namespace), consumer (routes to " +
			"Services in other namespaces), or all. If the annotation gammaguard.dev/grant-route-kinds narrows the grant to some kinds, ask to add the " +
			"kind of the route. If the Service is in another namespace, set namespace in the parentRef: without it, the parentRef is to a Service in the " +
			"namespace of the route. If the Service is in the namespace of the route, and the consumer grant is missing, correct namespace in the " +
			"parentRef. Alternatively, attach the route to a Gateway.",
		Citation: "GEP-1294, Goals: cluster operators SHOULD be able to grant permission for whether xRoutes in a namespace may configure mesh traffic",
		Default:  validate.Deny,
		Fault:    validate.GrantMissing,
		Describe: describeGrantMissing,
	}
}

func describeGrantMissing(policy *validate.Policy, parent *validate.Parent) validate.Finding {
	name, role := parent.Route.Namespace, parent.Scope.Role()
	unknown, hint := unknownGrant(parent.Namespace), ""
	switch elsewhere := parent.Key.Namespace; {
	case unknown != "" || parent.Namespace.NarrowsGrant(parent.Route.Kind): // the grant is meant
	case role == mesh.Producer && parent.Ref.ServiceKind() != "":
		hint = ForgottenNamespace
	case role == mesh.Consumer && mesh.Nearest(elsewhere, []string{name}) != "":
		hint = fmt.Sprintf("; or is namespace %s in the parentRef misspelled?", elsewhere)
	}
	return validate.Finding{
		Field:     parent.Path(""),
		Type:      validate.Forbidden,
		Problem:   fmt.Sprintf("namespace %s lacks the %s grant for %s", name, role, parent.Route.Kind) + unknown,
		Remedy:    fmt.Sprintf("ask %s to %s", cmp.Or(policy.Grants.Contact, "a mesh admin"), grantRemedy(policy, parent)) + hint,
		Labels:    mesh.ObjectKey{Kind: mesh.NamespaceKind, Name: name},
		Reference: validate.Reference{Namespace: name, Detail: string(role)},
	}
}

// ForgottenNamespace ends the denial of a producer route on a Service without the grant: the route may be meant as a
// consumer route. It is the same whatever exists.
const ForgottenNamespace = "; for a Service elsewhere, set namespace in the parentRef"

// unknownGrant returns the value of the namespace's grant label in parentheses, if
// it is unknown.
func unknownGrant(namespace *mesh.Namespace) string {
	_, errs := namespace.Policy()
	for _, err := range errs {
		if wrong, ok := err.(*mesh.LabelError); ok && wrong.Key == mesh.GrantLabel { //nolint:errorlint // Policy wraps nothing
			return fmt.Sprintf(" (unknown label value %q)", wrong.Value)
		}
	}
	return ""
}

// grantRemedy says what grants the route what it lacks for all its parents: a command where it
// is the label alone.
func grantRemedy(policy *validate.Policy, parent *validate.Parent) string {
	route, namespace := parent.Route, parent.Namespace
	missing := policy.Grants.Missing(namespace, route.Kind, policy.Grants.Needed(route.Namespace, route.Parents))
	if !namespace.NarrowsGrant(route.Kind) {
		return "run: " + GrantCommand(policy, route.Namespace, namespace, nil, missing...)
	}
	remedy := fmt.Sprintf("add %s to the annotation %s", route.Kind.Name(), mesh.GrantRouteKindsAnnotation)
	if namespace.GrantKinds.Invalid {
		remedy = "correct the annotation " + mesh.GrantRouteKindsAnnotation + ", which cannot be read"
	}
	if now := policy.Grants.Label(namespace); now.Plus(missing...) != now {
		remedy = fmt.Sprintf("set %s=%s, and to %s", mesh.GrantLabel, now.Plus(missing...), remedy)
	}
	return remedy
}

// named returns the arguments by which kubectl finds an object, whatever its name: a name
// that looks like an option is none, and no shell runs a part of it.
func named(resource, options, name string) string {
	if strings.HasPrefix(name, "-") {
		return resource + "/" + printable.Shell(name) + options
	}
	return resource + options + " " + printable.Shell(name)
}

// GrantCommand returns the command that grants the missing roles for routes of the kinds to the
// namespace of that name, nil if it cannot be known, and keeps what it is granted now.
func GrantCommand(policy *validate.Policy, name string, namespace *mesh.Namespace, kinds []mesh.RouteKind, missing ...mesh.Role) string {
	var commands []string
	labels, _ := namespace.Policy()
	if now := policy.Grants.Label(namespace); now.Plus(missing...) != now {
		command := fmt.Sprintf("kubectl label %s %s=%s", named("namespace", "", name), mesh.GrantLabel, now.Plus(missing...))
		if labels.Grant != "" {
			command += " --overwrite"
		}
		commands = append(commands, command)
	}
	if slices.ContainsFunc(kinds, namespace.NarrowsGrant) {
		listed := ""
		for i, kind := range namespace.GrantKinds.With(kinds...) {
			if i > 0 {
				listed += ","
			}
			listed += string(kind)
		}
		commands = append(commands, fmt.Sprintf("kubectl annotate %s %s=%s --overwrite", named("namespace", "", name), mesh.GrantRouteKindsAnnotation, listed))
	}
	return strings.Join(commands, " && ")
}
