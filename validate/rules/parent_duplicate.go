package rules

import (
	"fmt"
	"slices"

	"github.com/gammaguard/gammaguard/validate"
)

func parentDuplicate() *validate.Rule {
	return &validate.Rule{
		ID:    "parent-duplicate",
		Title: "Two parentRefs resolve to the same Service and the same ports",
		Rationale: "Parents must be distinct. The API compares parentRefs as they are written. It does not detect that an omitted namespace is the " +
			"namespace of the route, or that a port and a sectionName select the same port. Implementations then report two statuses for one " +
			"binding.",
		Remedy:   "Remove one of the two parentRefs.",
		Citation: "Gateway API, CommonRouteSpec: parentRefs must be distinct",
		Default:  validate.Deny,
		Parent:   checkParentDuplicate,
	}
}

func checkParentDuplicate(p *validate.Pass, parent *validate.Parent) {
	for i := range p.Parents() {
		earlier := &p.Parents()[i]
		if earlier == parent {
			return
		}
		if !sameBinding(earlier, parent) {
			continue
		}
		p.Report(validate.Finding{
			Field:     parent.Path(""),
			Value:     parent.Ref.Name,
			Type:      validate.Duplicate,
			Problem:   fmt.Sprintf("selects the same ports of %s as %s", parent.Key, earlier.Path("")),
			Remedy:    "remove one of the two",
			Reference: boundTo(parent),
		})
		return
	}
}

// boundTo identifies the finding by the ports that the parent is bound to, so that it
// does not change when the two parentRefs are swapped.
func boundTo(parent *validate.Parent) validate.Reference {
	if len(parent.Ports) == 0 {
		return parent.Reference()
	}
	return validate.Reference{Service: parent.Key, Detail: portList(parent.Ports)}
}

// sameBinding reports whether two parents are the same Service with the same ports.
// If one of them attaches to no port, it compares port and sectionName.
func sameBinding(a, b *validate.Parent) bool {
	if a.Key != b.Key {
		return false
	}
	if len(a.Ports) == 0 || len(b.Ports) == 0 {
		return a.Ref.Port == b.Ref.Port && a.Ref.SectionName == b.Ref.SectionName
	}
	return slices.Equal(a.Ports, b.Ports)
}
