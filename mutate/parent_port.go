package mutate

import (
	"fmt"

	"github.com/gammaguard/gammaguard/mesh"
)

func parentPort() *Mutation {
	return &Mutation{
		ID:    "parent-port",
		Title: "A parentRef that selects a Service port by sectionName only gets the number of that port",
		Rationale: "The sectionName of a parentRef to a Service is the name of a port. Most meshes ignore it and look at port only, so that the " +
			"route applies to all ports of the Service. With both fields set, every mesh selects the same port. If no port has that name, or " +
			"the port does not use the transport protocol of the route, the parentRef is not changed.",
		Citation:      "GEP-1294, Ports; Gateway API, ParentReference: sectionName is the port name on a Service, and port is the port number",
		ReadsServices: true,
		find:          findParentPorts,
	}
}

func findParentPorts(p *pass) []Change {
	var changes []Change
	for i := range p.route.Spec.ParentRefs {
		ref := &p.route.Spec.ParentRefs[i]
		if ref.SectionName == "" || ref.Port != 0 || ref.Name == "" || ref.Class(p.mesh) != mesh.MeshParent {
			continue
		}
		if number := p.sectionPort(ref.Service(p.namespace()), ref.SectionName); number != 0 {
			why := fmt.Sprintf("port %s has this number, and most meshes ignore the name", ref.SectionName)
			changes = append(changes, set(mesh.ParentPath(i, "port"), 0, number, why))
		}
	}
	return changes
}
