package mutate

import "github.com/gammaguard/gammaguard/mesh"

func parentKind() *Mutation {
	return &Mutation{
		ID:    "parent-kind",
		Title: "A parentRef to a Service or ServiceImport gets the proper case of its kind",
		Rationale: "Kinds are case-sensitive in the API, and the API server stores any word. Some meshes compare them without regard to case, so " +
			"that one mesh acts on kind service and another one does not. There is only one kind that it can mean. The kind of a Service is not " +
			"changed where the mesh in the configuration takes it in any case, as Linkerd does.",
		Citation: "Gateway API, ParentReference: kind is the kind of the referent",
		find:     findParentKinds,
	}
}

func findParentKinds(p *pass) []Change {
	var changes []Change
	for i := range p.route.Spec.ParentRefs {
		ref := &p.route.Spec.ParentRefs[i]
		if kind := ref.ServiceKind(); ref.Class(p.mesh) == mesh.LookAlikeParent && ref.Kind != kind {
			changes = append(changes, set(mesh.ParentPath(i, "kind"), ref.Kind, kind, "kinds are case-sensitive"))
		}
	}
	return changes
}
