package mutate

func backendGroup() *Mutation {
	return &Mutation{
		ID:    "backend-group",
		Title: "The group core in a backendRef, including RequestMirror filters, is replaced by the empty group",
		Rationale: "No API group is named core. It is the common term for the group whose name is empty, and the GAMMA documentation uses it for a " +
			"Service. A backendRef with this group is stored, but refers to nothing, unless the mesh in the configuration takes core for the " +
			"empty group, as Linkerd does: then it is not changed.",
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
		if backend.Ref.Group != "core" || backend.Ref.IsService(p.mesh) {
			continue
		}
		changes = append(changes, set(backend.Path()+".group", "core", "", `the core group is ""`))
	}
	return changes
}
