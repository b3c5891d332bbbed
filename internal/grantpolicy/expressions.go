package grantpolicy

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
	"github.com/gammaguard/gammaguard/validate/rules"
)

// maxParents is how many parentRefs the definitions allow.
const maxParents = 32

// serviceKinds are the kinds of mesh parents, in the case of variables.parents.
var serviceKinds = []string{strings.ToLower(mesh.ServiceKind), strings.ToLower(mesh.ServiceImportKind)}

// roles are what a grant can allow.
var roles = []mesh.Role{mesh.Producer, mesh.Consumer}

// matchConditions keep requests from the policy that need no grant: routes on Gateways, and
// updates that leave as it is what meshes read. An exempt namespace, user, or group is not
// left out here: its requests are recorded.
func matchConditions(policy *validate.Policy) []admissionv1.MatchCondition {
	conditions := []admissionv1.MatchCondition{
		{Name: "changes-what-meshes-read", Expression: either(SpecChanges, MeshKeysChange())},
		{Name: "has-mesh-parent", Expression: HasMeshParent()},
	}
	switch grantAction(policy) {
	case validate.Off:
		return append(conditions, admissionv1.MatchCondition{Name: "rule-is-off", Expression: "false"})
	case validate.Warn, validate.Audit:
		return append(conditions, admissionv1.MatchCondition{
			Name: "not-ignored",
			Expression: "!(" + metadata("annotations", "object") + ")[?" + quoted(mesh.IgnoreAnnotation) + "].orValue('').split(',')" +
				".exists(id, id.trim() == " + quoted(ruleID) + ")",
		})
	}
	return conditions
}

// variables are the steps of the decision, each evaluated once and only if it is needed.
func variables(policy *validate.Policy) []admissionv1.Variable {
	all := []admissionv1.Variable{
		{Name: "labels", Expression: metadata("labels", "namespaceObject")},
		{Name: "labeled", Expression: quoted(mesh.GrantLabel) + " in variables.labels"},
		{Name: "grant", Expression: "variables.labels[?" + quoted(mesh.GrantLabel) + "].orValue(" + quoted(string(cmp.Or(policy.Grants.Default, mesh.GrantNone))) + ")"},
	}
	all = append(all, narrowing()...)
	all = append(all, admissionv1.Variable{
		Name: "vetoed", Expression: "variables.unreadable || (variables.labeled && !(variables.grant in " + list(giving()) + "))",
	})
	for i := range policy.Grants.Selectors {
		selector := &policy.Grants.Selectors[i]
		expression := selects(selector.Namespaces)
		if len(selector.RouteKinds) > 0 {
			expression = "request.kind.kind in " + list(selector.RouteKinds) + " && (" + expression + ")"
		}
		all = append(all, admissionv1.Variable{Name: selectorName(i), Expression: expression})
	}
	return append(all,
		admissionv1.Variable{Name: "granted", Expression: granted(&policy.Grants)},
		admissionv1.Variable{Name: "parents", Expression: parents()},
		admissionv1.Variable{Name: "roles", Expression: needed(&policy.Grants)},
		admissionv1.Variable{Name: "missing", Expression: list(roles) + ".filter(role, role in variables.roles && !(role in variables.granted))"},
		admissionv1.Variable{Name: "unlabeled", Expression: "variables.missing.filter(role, !(variables.grant in [" + quoted(string(mesh.GrantAll)) + ", role]))"},
		admissionv1.Variable{Name: "first", Expression: first()},
		admissionv1.Variable{Name: "exempt", Expression: exempt(policy)},
		admissionv1.Variable{Name: "message", Expression: message(&policy.Grants)},
	)
}

// narrowing are the steps of mesh.Namespace.NarrowsGrant: whether the annotation cannot be
// read, and whether it keeps the grant from the route's kind.
func narrowing() []admissionv1.Variable {
	key := quoted(mesh.GrantRouteKindsAnnotation)
	return []admissionv1.Variable{
		{Name: "annotations", Expression: metadata("annotations", "namespaceObject")},
		{Name: "annotated", Expression: key + " in variables.annotations"},
		{
			Name: "kinds", Expression: "!variables.annotated || size(bytes(variables.annotations[" + key + "])) > " + strconv.Itoa(mesh.MaxAnnotation) + " ? [] :\n" +
				"variables.annotations[" + key + "].split(',').map(kind, kind.trim())",
		},
		{
			Name: "unreadable", Expression: "variables.annotated && (variables.kinds.size() == 0 ||\n" +
				"variables.kinds.exists(kind, !(kind in " + list(mesh.RouteKinds()) + ")))",
		},
		{Name: "narrowed", Expression: "variables.unreadable || (variables.annotated && !(request.kind.kind in variables.kinds))"},
	}
}

func selectorName(i int) string { return "selector" + strconv.Itoa(i) }

// giving returns the grants that allow something.
func giving() []mesh.Grant {
	return slices.DeleteFunc(mesh.Grants(), func(g mesh.Grant) bool { return g == mesh.GrantNone })
}

// granted is the list of the roles that the namespace's routes of the kind are granted, as
// mesh.GrantPolicy.Allows decides.
func granted(grants *mesh.GrantPolicy) string {
	parts := make([]string, len(roles))
	for i, role := range roles {
		allowing := slices.DeleteFunc(mesh.Grants(), func(g mesh.Grant) bool { return !g.Allows(role) })
		expression := "(!variables.narrowed && variables.grant in " + list(allowing) + ")"
		var selectors []string
		for n := range grants.Selectors {
			if slices.Contains(grants.Selectors[n].Roles, role) {
				selectors = append(selectors, "variables."+selectorName(n))
			}
		}
		if len(selectors) > 0 {
			expression += " ||\n(!variables.vetoed && (" + strings.Join(selectors, " || ") + "))"
		}
		parts[i] = "(" + expression + " ? " + list([]mesh.Role{role}) + " : [])"
	}
	return strings.Join(parts, " +\n")
}

// parents is the list of the parentRefs as they are read: kind in lower case, group, and the
// role of the route. In Linkerd's own HTTPRoute an omitted group stands for Linkerd's.
func parents() string {
	return fmt.Sprintf(`object.?spec.?parentRefs.orValue([]).map(ref, {
'kind': (ref.?kind.orValue('') == '' ? 'Gateway' : ref.kind).lowerAscii(),
'group': string(ref.?group.orValue(request.resource.group == %s ? %s : %s)),
'role': ref.?namespace.orValue('') in ['', request.namespace] ? %s : %s})`,
		quoted(mesh.LinkerdGroup), quoted(mesh.LinkerdGroup), quoted(mesh.GatewayGroup), quoted(string(mesh.Producer)), quoted(string(mesh.Consumer)))
}

// needed is the list of the roles of the parentRefs, by index, with an empty text for those
// that need no grant, as mesh.GrantPolicy.Covers decides. In Linkerd's own HTTPRoute, a
// Service of Linkerd's group is one whose group was left out.
func needed(grants *mesh.GrantPolicy) string {
	others := make([]string, len(grants.ParentKinds))
	for i, kind := range grants.ParentKinds {
		others[i] = strings.ToLower(kind)
	}
	expression := fmt.Sprintf(`variables.parents.map(parent,
(parent.kind in %s ?
parent.group.split('/')[0] in %s ||
(request.resource.group == %s && parent.group.lowerAscii() == %s) : false)`,
		list(serviceKinds), list(mesh.ServiceGroups()), quoted(mesh.LinkerdGroup), quoted(mesh.LinkerdGroup))
	if len(others) > 0 {
		expression += " ||\n(parent.kind + '.' + parent.group).lowerAscii() in " + list(others)
	}
	return expression + " ? parent.role : '')"
}

// first is the list of the index of the first parentRef that lacks its grant.
func first() string {
	indices := make([]string, maxParents)
	for i := range indices {
		indices[i] = strconv.Itoa(i)
	}
	return "[" + strings.Join(indices, ", ") + "].filter(i, i < variables.roles.size() && variables.roles[i] in variables.missing)"
}

// exempts reports whether any request can be exempt: exemptions are from denials.
func exempts(policy *validate.Policy) bool {
	e := &policy.Exemptions
	return grantAction(policy) == validate.Deny && len(e.Usernames)+len(e.Groups)+len(e.Namespaces) > 0
}

// exempt reports whether a request is exempt, as validate.Exemptions.Cover decides.
func exempt(policy *validate.Policy) string {
	if !exempts(policy) {
		return either()
	}
	e, covers := &policy.Exemptions, []string(nil)
	if len(e.Namespaces) > 0 {
		covers = append(covers, "request.namespace in "+list(e.Namespaces))
	}
	if len(e.Usernames) > 0 {
		covers = append(covers, "(has(request.userInfo.username) && request.userInfo.username in "+list(e.Usernames)+")")
	}
	if len(e.Groups) > 0 {
		covers = append(covers, "(has(request.userInfo.groups) && request.userInfo.groups.exists(group, group in "+list(e.Groups)+"))")
	}
	return either(covers...)
}

// message is the engine's finding on the first parentRef that lacks its grant. The API server
// evaluates it for requests that pass too.
func message(grants *mesh.GrantPolicy) string {
	kind := fmt.Sprintf("request.kind.kind + (request.resource.group == %s ? %s : '')", quoted(mesh.LinkerdGroup), quoted("."+mesh.LinkerdGroup))
	return fmt.Sprintf(`variables.missing.size() == 0 ? '' :
(variables.first.size() == 0 ? 'spec.parentRefs' : 'spec.parentRefs[' + string(variables.first[0]) + ']') +
': Forbidden: namespace ' + request.namespace + ' lacks the ' +
(variables.first.size() == 0 ? variables.missing[0] : variables.roles[variables.first[0]]) + ' grant for ' + %s +
(variables.labeled && !(variables.grant in %s) ? ' (unknown label value "' + variables.grant + '")' : '') +
%s + (%s) +
(variables.first.size() > 0 && variables.roles[variables.first[0]] == %s && variables.parents[variables.first[0]].kind in %s && !variables.narrowed &&
!(variables.labeled && !(variables.grant in %s)) ? %s : '') + %s`,
		kind, list(mesh.Grants()), quoted("; ask "+cmp.Or(grants.Contact, "a mesh admin")+" to "), remedy(),
		quoted(string(mesh.Producer)), list(serviceKinds), list(mesh.Grants()), quoted(rules.ForgottenNamespace), quoted(" ("+ruleID+")"))
}

// remedy is what grants the missing roles for the kind, as the rule says it: a command where it
// is the label alone. A label that is not to be changed is not set.
func remedy() string {
	const grant = "(variables.unlabeled.size() == 1 && !(variables.grant in %s) ? variables.unlabeled[0] : %s)"
	set := fmt.Sprintf(grant, list(roles), quoted(string(mesh.GrantAll)))
	key := mesh.GrantRouteKindsAnnotation
	return fmt.Sprintf(`!variables.narrowed ? %s + request.namespace + %s + %s + (variables.labeled ? ' --overwrite' : '') :
(variables.unlabeled.size() == 0 ? '' : %s + %s + ', and to ') +
(variables.unreadable ? %s : 'add ' + request.kind.kind + %s)`,
		quoted("run: kubectl label namespace "), quoted(" "+mesh.GrantLabel+"="), set, quoted("set "+mesh.GrantLabel+"="), set,
		quoted("correct the annotation "+key+", which cannot be read"), quoted(" to the annotation "+key))
}
