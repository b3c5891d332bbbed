package validate

import (
	"fmt"
	"slices"
)

func parentDuplicate() *Rule {
	return &Rule{
		ID:    "parent-duplicate",
		Title: "Two parentRefs come to the same Service and the same ports",
		Rationale: "Parents must be distinct. The API's own check compares what is written, so it misses one namespace left out and the same spelt " +
			"out, or a port and a sectionName that name one port. Implementations then report two states for one binding.",
		Remedy:   "Remove one of the two parentRefs.",
		Citation: "Gateway API, CommonRouteSpec: parentRefs must be distinct",
		Default:  Deny,
		Parent:   checkParentDuplicate,
	}
}

func checkParentDuplicate(p *Pass, parent *Parent) {
	for i := range p.Parents() {
		earlier := &p.Parents()[i]
		if earlier == parent {
			return
		}
		if !sameBinding(earlier, parent) {
			continue
		}
		p.Report(Finding{
			Field:     parent.Path(""),
			Value:     parent.Ref.Name,
			Type:      Duplicate,
			Problem:   fmt.Sprintf("selects the same ports of %s as %s", parent.Key, earlier.Path("")),
			Remedy:    "remove one of the two",
			Reference: boundTo(parent),
		})
		return
	}
}

// boundTo identifies the finding by what the parent is bound to, so that it stays
// the same when the two change places.
func boundTo(parent *Parent) Reference {
	if len(parent.Ports) == 0 {
		return parent.Reference()
	}
	return Reference{Service: parent.Key, Detail: portList(parent.Ports)}
}

// sameBinding says whether two parents are one Service with the same ports; where
// one of them attaches to none, whether they say the same.
func sameBinding(a, b *Parent) bool {
	if a.Key != b.Key {
		return false
	}
	if len(a.Ports) == 0 || len(b.Ports) == 0 {
		return a.Ref.Port == b.Ref.Port && a.Ref.SectionName == b.Ref.SectionName
	}
	return slices.Equal(a.Ports, b.Ports)
}
