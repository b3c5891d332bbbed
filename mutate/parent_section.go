package mutate

import (
	"fmt"

	"github.com/gammaguard/gammaguard/mesh"
)

func parentSection() *Mutation {
	return &Mutation{
		ID:    "parent-section",
		Title: "If several parentRefs refer to one Service by port only, each gets the sectionName of its port",
		Rationale: "A route can attach to some ports of a Service with one parentRef for each port. The CEL rules of the standard " +
			"CustomResourceDefinitions compare parentRefs to the same parent by sectionName only, and reject parentRefs that set only a port. " +
			"The sectionName of a Service port is its name. If any of these parentRefs would still lack a sectionName, because its port has " +
			"no name, does not exist, or is not set, the API server rejects the route anyway, and no parentRef is changed.",
		Citation:      "GEP-1294, Ports; HTTPRoute (standard channel), spec.parentRefs: sectionName must be unique when parentRefs includes 2 or more references to the same parent",
		ReadsServices: true,
		find:          findParentSections,
	}
}

func findParentSections(p *pass) []Change {
	var changes []Change
	refs := p.route.Spec.ParentRefs
	for i := range refs {
		if !lacksSection(&refs[i]) || !p.siblingsHaveSection(i) {
			continue
		}
		if name := p.portName(&refs[i]); name != "" {
			why := fmt.Sprintf("port %d has this name, and parentRefs to one %s must differ in sectionName", refs[i].Port, refs[i].Kind)
			changes = append(changes, set(parentPath(i, "sectionName"), "", name, why))
		}
	}
	return changes
}

// lacksSection reports whether the parentRef is to a mesh parent by port alone.
func lacksSection(ref *mesh.ParentRef) bool {
	return ref.SectionName == "" && ref.Port != 0 && ref.Name != "" && ref.Class() == mesh.MeshParent
}

// siblingsHaveSection reports whether there are other parentRefs to the same parent
// as this one, and all of them have a sectionName or can have one.
func (p *pass) siblingsHaveSection(index int) bool {
	refs, found := p.route.Spec.ParentRefs, false
	for i := range refs {
		if i == index || !sameParent(&refs[i], &refs[index]) {
			continue
		}
		if refs[i].SectionName == "" && p.portName(&refs[i]) == "" {
			return false
		}
		found = true
	}
	return found
}

// sameParent compares as CEL does, by what is written: a namespace that is left
// out is another one than the route's own spelled out.
func sameParent(a, b *mesh.ParentRef) bool {
	return a.Name == b.Name && a.Namespace == b.Namespace && a.Kind == b.Kind && a.EffectiveGroup() == b.EffectiveGroup()
}

// portName returns the name of the port that the parentRef's port number selects:
// of several with that number the one that speaks the route's transport. It is
// empty where there is no such port or it has no name.
func (p *pass) portName(ref *mesh.ParentRef) string {
	if ref.Port == 0 {
		return ""
	}
	service := p.service(ref.Service(p.namespace()))
	if service == nil {
		return ""
	}
	var (
		first  *mesh.Port
		spoken *mesh.Port
		count  int
	)
	for i := range service.Ports {
		port := &service.Ports[i]
		if port.Number != ref.Port {
			continue
		}
		if count++; count == 1 {
			first = port
		}
		if port.Protocol == p.route.Kind.Transport() {
			spoken = port
		}
	}
	switch {
	case spoken != nil:
		return spoken.Name
	case count == 1:
		return first.Name
	}
	return ""
}
