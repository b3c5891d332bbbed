package validate

import (
	"fmt"

	"github.com/gammaguard/gammaguard/mesh"
)

func parentGroupInvalid() *Rule {
	return &Rule{
		ID:    "parent-group-invalid",
		Title: "The parent is of kind Service or ServiceImport, in a group that has none",
		Rationale: "The API fills in gateway.networking.k8s.io where a parentRef leaves its group out, and takes any word for a group. A " +
			"mesh looks for Services in the core group, whose name is the empty string, so it passes such a reference over in silence.",
		Remedy:   `Write group: "" for a Service and group: multicluster.x-k8s.io for a ServiceImport. A group is written without a version.`,
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
		right, where := `""`, "the core group, which is written \"\""
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
