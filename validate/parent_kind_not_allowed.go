package validate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/mesh"
)

func parentKindNotAllowed() *Rule {
	return &Rule{
		ID:    "parent-kind-not-allowed",
		Title: "The parent is of a kind that the configuration does not list in parents.allowedKinds",
		Rationale: "Kinds other than Gateway, ListenerSet, Service and ServiceImport belong to one implementation. By default they are left " +
			"alone; where the configuration lists those that the installed mesh knows, any other is a mistake that nobody acts on.",
		Remedy:   "Refer to a parent of a listed kind, or have the kind added to parents.allowedKinds of gammaguard's configuration.",
		Citation: "GEP-1294, Implementation-specific parentRefs",
		Default:  Deny,
		Route:    checkParentKindNotAllowed,
	}
}

func checkParentKindNotAllowed(p *Pass) {
	allowed := p.Policy.AllowedParentKinds
	if len(allowed) == 0 {
		return
	}
	for i := range p.Route.Spec.ParentRefs {
		ref := &p.Route.Spec.ParentRefs[i]
		kind := ref.EffectiveKind() + "." + ref.EffectiveGroup()
		if ref.Class() != mesh.ImplementationSpecificParent || slices.Contains(allowed, kind) {
			continue
		}
		p.Report(Finding{
			Field:     parentPath(i, "kind"),
			Value:     ref.EffectiveKind(),
			Problem:   fmt.Sprintf("parents of kind %s are not allowed here", kind),
			Remedy:    "beside Gateway, ListenerSet, Service and ServiceImport, use one of: " + strings.Join(allowed, ", "),
			Reference: Reference{Detail: kind + " " + ref.Service(p.Route.Metadata.Namespace).String()},
		})
	}
}
