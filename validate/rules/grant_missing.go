package rules

import (
	"cmp"
	"fmt"
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
		Remedy: "Ask a mesh admin to label the namespace gammaguard.dev/grant=producer (routes to Services in the same namespace), consumer " +
			"(routes to Services in other namespaces), or all. If the Service is in another namespace, set namespace in the parentRef: without it, " +
			"the parentRef is to a Service in the namespace of the route. Alternatively, attach the route to a Gateway.",
		Citation: "GEP-1294, Goals: cluster operators SHOULD be able to grant permission for whether xRoutes in a namespace may configure mesh traffic",
		Default:  validate.Deny,
		Fault:    validate.GrantMissing,
		Describe: describeGrantMissing,
	}
}

func describeGrantMissing(policy *validate.Policy, parent *validate.Parent) validate.Finding {
	name, role := parent.Route.Namespace, parent.Scope.Role()
	unknown, hint := unknownGrant(parent.Namespace), ""
	if role == mesh.Producer && unknown == "" {
		hint = ForgottenNamespace
	}
	return validate.Finding{
		Field:     parent.Path(""),
		Type:      validate.Forbidden,
		Problem:   fmt.Sprintf("namespace %s lacks the %s grant for %s", name, role, parent.Route.Kind) + unknown,
		Remedy:    fmt.Sprintf("ask %s to run: %s", cmp.Or(policy.Grants.Contact, "a mesh admin"), grantCommand(policy, parent)) + hint,
		Reference: validate.Reference{Namespace: name, Detail: string(role)},
	}
}

// ForgottenNamespace ends what a producer route without a grant is told: it may be meant as a
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

// grantCommand returns the command that grants what the route lacks for all its
// parents.
func grantCommand(policy *validate.Policy, parent *validate.Parent) string {
	route, namespace := parent.Route, parent.Namespace
	missing := policy.Grants.Missing(namespace, route.Kind, policy.Grants.Needed(route.Namespace, route.Parents))
	return GrantCommand(policy, route.Namespace, namespace, missing...)
}

// named returns the arguments by which kubectl finds an object, whatever its name: a name
// that looks like an option is none, and no shell runs a part of it.
func named(resource, options, name string) string {
	if strings.HasPrefix(name, "-") {
		return resource + "/" + printable.Shell(name) + options
	}
	return resource + options + " " + printable.Shell(name)
}

// GrantCommand returns the command that grants the roles to the namespace of that name,
// nil if it cannot be known, and keeps what its label, or the default, grants now.
func GrantCommand(policy *validate.Policy, name string, namespace *mesh.Namespace, missing ...mesh.Role) string {
	grant := policy.Grants.Label(namespace)
	for _, role := range missing {
		grant = grant.Plus(role)
	}
	command := fmt.Sprintf("kubectl label %s %s=%s", named("namespace", "", name), mesh.GrantLabel, grant)
	if labels, _ := namespace.Policy(); labels.Grant != "" {
		command += " --overwrite"
	}
	return command
}
