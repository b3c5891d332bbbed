package validate

import (
	"fmt"
	"slices"

	"github.com/gammaguard/gammaguard/mesh"
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
		Stage:    RouteStage,
		Reads:    ReadsServices,
		Check:    checkParentDuplicate,
	}
}

func checkParentDuplicate(p *Pass) {
	parents := p.Parents()
	for i := range parents {
		first := slices.IndexFunc(parents[:i], func(earlier Parent) bool { return sameBinding(&earlier, &parents[i]) })
		if first < 0 {
			continue
		}
		p.Report(Finding{
			Field: parents[i].Path(""),
			Value: parents[i].Ref.Name,
			Type:  Duplicate,
			Problem: fmt.Sprintf("selects the same ports of %s as %s", parents[i].Key,
				parents[first].Path("")),
			Remedy:    "remove one of the two",
			Reference: boundTo(&parents[i]),
		})
	}
}

// boundTo identifies the finding by what the parent is bound to, so that it stays
// the same when the two change places.
func boundTo(parent *Parent) Reference {
	if parent.Service == nil || parent.Attachment != mesh.Attached {
		return parent.Reference()
	}
	return Reference{Service: parent.Key, Detail: portList(parent.Ports)}
}

// sameBinding says whether two parents are one Service with the same ports; of a
// Service that cannot be read, whether they say the same.
func sameBinding(a, b *Parent) bool {
	if a.Key != b.Key {
		return false
	}
	if a.Service == nil || a.Attachment != mesh.Attached || b.Attachment != mesh.Attached {
		return a.Ref.Port == b.Ref.Port && a.Ref.SectionName == b.Ref.SectionName
	}
	return slices.Equal(a.Ports, b.Ports)
}
