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
			"CustomResourceDefinitions compare parentRefs to the same parent by sectionName only, and reject parentRefs that set only a port. The " +
			"sectionName of a Service port is its name. If the port of one of these parentRefs has no name, does not exist, is not set, or is that of " +
			"another one, no parentRef is changed. The API server rejects the route anyway.",
		Citation:      "GEP-1294, Ports; HTTPRoute (standard channel), spec.parentRefs: sectionName must be unique when parentRefs includes 2 or more references to the same parent",
		ReadsServices: true,
		find:          findParentSections,
	}
}

func findParentSections(p *pass) []Change {
	refs := p.route.Spec.ParentRefs
	if len(refs) < 2 {
		return nil
	}
	// A parent is open while all parentRefs to it have a sectionName or may get one.
	count, closed := map[parentKey]int{}, map[parentKey]bool{}
	for i := range refs {
		key := keyOf(&refs[i])
		count[key]++
		if refs[i].SectionName == "" && refs[i].Port == 0 {
			closed[key] = true
		}
	}
	names, taken := make([]string, len(refs)), map[section]bool{}
	for i := range refs {
		if refs[i].SectionName != "" {
			taken[section{keyOf(&refs[i]), refs[i].SectionName}] = true
		}
	}
	for i := range refs {
		key := keyOf(&refs[i])
		if count[key] > 1 && !closed[key] && p.lacksSection(&refs[i]) {
			names[i] = p.portName(&refs[i])
			at := section{key, names[i]}
			closed[key] = names[i] == "" || taken[at] // parent-duplicate says what to do
			taken[at] = true
		}
	}
	var changes []Change
	for i := range refs {
		if names[i] != "" && !closed[keyOf(&refs[i])] {
			why := fmt.Sprintf("port %d has this name, and parentRefs to one %s must differ in sectionName", refs[i].Port, refs[i].Kind)
			changes = append(changes, set(mesh.ParentPath(i, "sectionName"), "", names[i], why))
		}
	}
	return changes
}

// lacksSection reports whether the parentRef is to a mesh parent by port alone.
func (p *pass) lacksSection(ref *mesh.ParentRef) bool {
	return ref.SectionName == "" && ref.Port != 0 && ref.Name != "" && ref.Class(p.mesh) == mesh.MeshParent
}

// parentKey is a parent as CEL compares it, by what is written: a namespace that is left
// out is another one than the route's own spelled out.
type parentKey struct{ group, kind, namespace, name string }

// section is a section of a parent.
type section struct {
	parent parentKey
	name   string
}

func keyOf(ref *mesh.ParentRef) parentKey {
	return parentKey{ref.EffectiveGroup(), ref.Kind, ref.Namespace, ref.Name}
}

// portName returns the name of the port that the parentRef's port number selects:
// of several with that number the one that speaks the route's transport. It is
// empty where there is no such port or it has no name.
func (p *pass) portName(ref *mesh.ParentRef) string {
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
