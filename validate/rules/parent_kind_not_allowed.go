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
		Title: "The configuration does not list the kind of the parent in parents.allowedKinds",
		Rationale: "Kinds other than Gateway, ListenerSet, Service, and ServiceImport are specific to an implementation. By default, gammaguard " +
			"ignores them. If the configuration lists the kinds that the installed mesh supports, any other kind is a mistake, and the route " +
			"has no effect.",
		Remedy: "Refer to a parent of a listed kind, or ask a mesh admin to add the kind to parents.allowedKinds in the configuration of " +
			"gammaguard.",
		Citation: "GEP-1294, Implementation-specific parentRefs",
		Default:  validate.Deny,
		Route:    checkParentKindNotAllowed,
	}
}

func checkParentKindNotAllowed(p *validate.Pass) {
	allowed := p.Policy.AllowedParentKinds
	if len(allowed) == 0 {
		return
	}
	for i := range p.Route.Spec.ParentRefs {
		ref := &p.Route.Spec.ParentRefs[i]
		kind := ref.EffectiveKind() + "." + ref.EffectiveGroup()
		if ref.Class(nil) != mesh.ImplementationSpecificParent || slices.Contains(allowed, kind) {
			continue
		}
		p.Report(validate.Finding{
			Field:     mesh.ParentPath(i, "kind"),
			Value:     ref.EffectiveKind(),
			Problem:   fmt.Sprintf("%s is not an allowed parent kind", kind),
			Remedy:    "use Gateway, ListenerSet, Service, ServiceImport, or one of: " + strings.Join(allowed, ", "),
			Reference: validate.Reference{Detail: kind + " " + ref.Service(p.Route.Metadata.Namespace).String()},
		})
	}
}
