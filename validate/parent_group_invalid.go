package validate

import (
	"fmt"

	"github.com/gammaguard/gammaguard/mesh"
)

func parentGroupInvalid() *Rule {
	return &Rule{
		ID:    "parent-group-invalid",
		Title: "A parentRef to a Service or ServiceImport has the wrong group",
		Rationale: "The API accepts any group, and defaults an omitted group to gateway.networking.k8s.io. A mesh looks for Services in the core " +
			"group, whose name is the empty string, so it ignores such a reference without an error.",
		Remedy:   `Set group: "" for a Service, and group: multicluster.x-k8s.io for a ServiceImport. Do not add a version to the group.`,
		Citation: `Gateway API, ParentReference: to set the core API group, group must be explicitly set to ""`,
		Default:  Deny,
		Route:    checkParentGroupInvalid,
	}
}

func checkParentGroupInvalid(p *Pass) {
	for i := range p.Route.Spec.ParentRefs {
		ref := &p.Route.Spec.ParentRefs[i]
		if ref.Class() != mesh.WrongGroupParent {
			continue
		}
		right, where := `""`, `the core group ("")`
		if ref.Kind == mesh.ServiceImportKind {
			right, where = mesh.MulticlusterGroup, mesh.MulticlusterGroup
		}
		p.Report(Finding{
			Field:     parentPath(i, "group"),
			Value:     ref.EffectiveGroup(),
			Problem:   fmt.Sprintf("kind %s is in %s", ref.Kind, where),
			Remedy:    "set group: " + right,
			Reference: Reference{Service: ref.Service(p.Route.Metadata.Namespace), Detail: ref.EffectiveGroup()},
		})
	}
}
