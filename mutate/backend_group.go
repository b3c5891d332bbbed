package mutate

func backendGroup() *Mutation {
	return &Mutation{
		ID:    "backend-group",
		Title: `A backendRef in group core, also in a RequestMirror filter, gets the empty group`,
		Rationale: "No API group is called core: it is what people call the group whose name is empty, and what the documentation of GAMMA writes " +
			"for a Service. A backendRef with it is stored and refers to nothing.",
		Citation: "GAMMA initiative, How the Gateway API works for Service Mesh: the example writes group: core",
		find:     findBackendGroups,
	}
}

func findBackendGroups(p *pass) []Change {
	if !p.route.HasMeshParent() {
		return nil
	}
	var changes []Change
	for backend := range p.route.Backends() {
		if backend.Ref.Group != "core" {
			continue
		}
		changes = append(changes, set(backend.Path()+".group", "core", "", `the core group is written ""`))
	}
	return changes
}
