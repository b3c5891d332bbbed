package rules

import (
	"fmt"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

func parentGroupInvalid() *validate.Rule {
	return &validate.Rule{
		ID:    validate.RuleParentGroupInvalid,
		Title: "A parentRef to a Service or ServiceImport has the wrong group",
		Rationale: "The API accepts any group, and defaults an omitted group to gateway.networking.k8s.io. A mesh looks for Services in the core " +
			"group, whose name is the empty string, so it ignores such a reference without an error. " +
			"In any other group, such as apps, and of any other kind, such as Services, the parent is one of another implementation. Rule parent-not-found " +
			"then warns if the API server does not serve the kind.",
		Remedy:   `Set group: "" for a Service, and group: multicluster.x-k8s.io for a ServiceImport. Do not add a version to the group.`,
		Citation: `Gateway API, ParentReference: to set the core API group, group must be explicitly set to ""`,
		Default:  validate.Deny,
		Route:    checkParentGroupInvalid,
		Describe: func(_ *validate.Policy, parent *validate.Parent) validate.Finding {
			return describeLookAlike(parent.Index, parent.Ref, parent.Route.Namespace)
		},
	}
}

func checkParentGroupInvalid(p *validate.Pass) {
	for i := range p.Route.Spec.ParentRefs {
		ref := &p.Route.Spec.ParentRefs[i]
		if ref.Class(p.Policy.Mesh) != mesh.LookAlikeParent {
			continue
		}
		f := describeLookAlike(i, ref, p.Route.Metadata.Namespace)
		f.Remedy += p.Route.InController()
		p.Report(f)
	}
}

// describeLookAlike names what of the parentRef is not written as a Service or a
// ServiceImport is: the kind, if its case is wrong, else the group.
func describeLookAlike(index int, ref *mesh.ParentRef, namespace string) validate.Finding {
	key := ref.Service(namespace)
	f := validate.Finding{Reference: validate.Reference{Service: key, Detail: ref.EffectiveGroup()}}
	if ref.Kind != key.Kind {
		f.Field, f.Value = mesh.ParentPath(index, "kind"), ref.Kind
		f.Problem, f.Remedy = fmt.Sprintf("a kind is case-sensitive, and this one is %s", key.Kind), "set kind: "+key.Kind
		return f
	}
	right, where := `""`, `the core group ("")`
	if key.Kind == mesh.ServiceImportKind {
		right, where = mesh.MulticlusterGroup, mesh.MulticlusterGroup
	}
	f.Field, f.Value = mesh.ParentPath(index, "group"), ref.EffectiveGroup()
	f.Problem, f.Remedy = fmt.Sprintf("kind %s is in %s", ref.Kind, where), "set group: "+right
	return f
}
