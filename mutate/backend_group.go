package mutate

import (
	"cmp"

	"github.com/gammaguard/gammaguard/mesh"
)

func backendGroup() *Mutation {
	return &Mutation{
		ID:    "backend-group",
		Title: "A backendRef to a Service or ServiceImport, including RequestMirror filters, gets the group of its kind",
		Rationale: "No API group is named core or v1. These are common terms for the group whose name is empty, and the GAMMA documentation uses core " +
			"for a Service. A backendRef with such a group is stored, but refers to nothing. It is not changed where the mesh in the configuration takes " +
			"core for the empty group, as Linkerd does. A ServiceImport without a group gets its own, since there is none in the core group; any group " +
			"loses a version that follows it.",
		Citation: "GAMMA initiative, How the Gateway API works for Service Mesh: the example writes group: core",
		find:     findBackendGroups,
	}
}

func findBackendGroups(p *pass) []Change {
	if !p.route.HasMeshParent(p.mesh) {
		return nil
	}
	var changes []Change
	for backend := range p.route.Backends() {
		ref := backend.Ref
		kind := cmp.Or(ref.Kind, mesh.ServiceKind)
		group := correctGroup(kind, ref.Group)
		why := whyGroup(kind, group)
		switch {
		case kind == mesh.ServiceImportKind && group == "":
			group, why = mesh.MulticlusterGroup, whyGroup(kind, mesh.MulticlusterGroup)
		case kind != mesh.ServiceImportKind && ref.Group == "core":
			group, why = "", `the core group is ""`
		}
		if group != ref.Group && !ref.IsService(p.mesh) {
			changes = append(changes, set(backend.Path()+".group", ref.Group, group, why))
		}
	}
	return changes
}
