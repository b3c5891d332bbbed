package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

func parentKindNotAllowed() *validate.Rule {
	return &validate.Rule{
		ID:    validate.RuleParentKindNotAllowed,
		Title: "The configuration does not allow parents of this kind, or not for this kind of route",
		Rationale: "Kinds other than Gateway, ListenerSet, Service, and ServiceImport are specific to an implementation. By default, gammaguard " +
			"ignores them. If the configuration lists the kinds that the installed mesh supports, any other kind is a mistake, and the route " +
			"has no effect. A kind can also be for some route kinds only: a parent of host names alone can do nothing for a TCPRoute.",
		Remedy: "Refer to a parent of a listed kind. Or ask a mesh admin to change the configuration of gammaguard: to add the kind to " +
			"parents.allowedKinds, or the route kind to its entry in parents.routeKinds.",
		Citation: "GEP-1294, Implementation-specific parentRefs: such a parent MUST contain layer-appropriate information",
		Default:  validate.Deny,
		Route:    checkParentKindNotAllowed,
	}
}

func checkParentKindNotAllowed(p *validate.Pass) {
	allowed, routeKinds := p.Policy.AllowedParentKinds, p.Policy.ParentRouteKinds
	if len(allowed)+len(routeKinds) == 0 {
		return
	}
	for i := range p.Route.Spec.ParentRefs {
		ref := &p.Route.Spec.ParentRefs[i]
		kind := ref.EffectiveKind() + "." + ref.EffectiveGroup()
		if ref.Class(nil) != mesh.ImplementationSpecificParent {
			continue
		}
		f := validate.Finding{
			Field:     mesh.ParentPath(i, "kind"),
			Value:     ref.EffectiveKind(),
			Reference: validate.Reference{Detail: kind + " " + ref.Service(p.Route.Metadata.Namespace).String()},
		}
		switch only, limited := routeKinds[kind]; {
		case len(allowed) > 0 && !slices.Contains(allowed, kind):
			f.Problem = kind + " is not an allowed parent kind"
			f.Remedy = "use Gateway, ListenerSet, Service, ServiceImport, or one of: " + strings.Join(allowed, ", ")
		case limited && !slices.Contains(only, p.Route.Kind):
			f.Problem = fmt.Sprintf("%s is not an allowed parent kind for %s", kind, p.Route.Kind)
			f.Remedy = "use another parent, or a route of kind " + joined(only)
		default:
			continue
		}
		p.Report(f)
	}
}

// joined lists route kinds as a sentence has them.
func joined(kinds []mesh.RouteKind) string {
	names := make([]string, len(kinds))
	for i, kind := range kinds {
		names[i] = string(kind)
	}
	return strings.Join(names, ", ")
}
