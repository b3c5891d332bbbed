package mutate

import (
	"strings"

	"github.com/gammaguard/gammaguard/mesh"
)

func parentGroup() *Mutation {
	return &Mutation{
		ID:    "parent-group",
		Title: "A parentRef to a Service or ServiceImport gets the group of its kind; a version is removed from a group",
		Rationale: "The API server defaults an omitted group in a parentRef to gateway.networking.k8s.io. So a Service without a group is stored as a " +
			"kind that does not exist, and no mesh acts on it. The group of a Service is the empty string. The groups core, v1, and core/v1 are replaced " +
			"too. Only core stays where the mesh in the configuration takes it for the empty group, as Linkerd does. The group of a ServiceImport is " +
			"multicluster.x-k8s.io. Any other kind keeps its group, without a version that follows it. A ServiceImport in the core group is not changed, " +
			"because the kind may be the mistake.",
		Citation: "GEP-1294, API: the example's parentRef names kind Service and no group; Implementation-specific parentRefs: the example's " +
			"group has a version",
		find: findParentGroups,
	}
}

func findParentGroups(p *pass) []Change {
	var changes []Change
	for i := range p.route.Spec.ParentRefs {
		ref := &p.route.Spec.ParentRefs[i]
		group := correctGroup(ref.Kind, ref.EffectiveGroup())
		if group == ref.EffectiveGroup() || ref.Class(p.mesh) == mesh.MeshParent {
			continue
		}
		change := Change{Path: mesh.ParentPath(i, "group"), Op: Add, After: group, Why: whyGroup(ref.Kind, group)}
		if ref.Group != nil {
			change.Op = Replace
		}
		changes = append(changes, change)
	}
	return changes
}

// correctGroup returns the group that a reference to the kind should have: its own if that is
// right, or if the intended one is not clear.
func correctGroup(kind, group string) string {
	group = withoutVersion(group)
	switch kind {
	case mesh.ServiceKind:
		switch group {
		case mesh.GatewayGroup, "core", "v1":
			return ""
		}
	case mesh.ServiceImportKind:
		if group == mesh.GatewayGroup {
			return mesh.MulticlusterGroup
		}
	}
	return group
}

// withoutVersion returns the group of a "group/version".
func withoutVersion(group string) string {
	name, version, found := strings.Cut(group, "/")
	if !found || version == "" || strings.Contains(version, "/") {
		return group
	}
	return name
}

func whyGroup(kind, group string) string {
	switch {
	case kind == mesh.ServiceKind && group == "":
		return "Service is in the core group"
	case kind == mesh.ServiceImportKind && group == mesh.MulticlusterGroup:
		return "ServiceImport is in group " + mesh.MulticlusterGroup
	}
	return "a group has no version"
}
