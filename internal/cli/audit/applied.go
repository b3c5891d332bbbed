package audit

import (
	"cmp"
	"io"
	"slices"

	"k8s.io/cli-runtime/pkg/printers"

	"github.com/gammaguard/gammaguard/internal/cli/answers"
	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/mesh"
)

// NotApplied is a mesh parent of a route that no mesh accepts as it is now.
type NotApplied struct {
	report.RouteName
	Field string `json:"field"`
	// Service is the parent: "Service shop/cart".
	Service string `json:"service"`
	answers.Answer
}

// Waiting returns the mesh parents of the stored routes that no mesh accepts as they are now.
func Waiting(routes []*manifest.Object, profile *mesh.Profile, own []string) []NotApplied {
	var waiting []NotApplied
	book := answers.Read(routes, own)
	for _, object := range routes {
		lacks, _ := notApplied(object.Route, profile, book)
		waiting = append(waiting, lacks...)
	}
	slices.SortStableFunc(waiting, func(a, b NotApplied) int { return byName(&a.RouteName, &b.RouteName) })
	return waiting
}

// notApplied returns the mesh parents of a route that no mesh accepts as they are now, and
// whether it has mesh parents at all.
func notApplied(route *mesh.Route, profile *mesh.Profile, book *answers.Book) (lacks []NotApplied, parented bool) {
	name := report.RouteName{Kind: route.Kind, Namespace: route.Metadata.Namespace, Name: route.Metadata.Name}
	for i := range route.Spec.ParentRefs {
		ref := &route.Spec.ParentRefs[i]
		if ref.Class(profile) != mesh.MeshParent {
			continue
		}
		parented = true
		if answer := book.Of(route.String(), i); !answer.Applied() {
			lacks = append(lacks, NotApplied{name, mesh.ParentPath(i, ""), ref.Service(name.Namespace).String(), answer})
		}
	}
	return lacks, parented
}

// Unapplied writes a table of the parents that no mesh accepts.
func Unapplied(w io.Writer, parents []NotApplied) error {
	out := printers.GetNewTabWriter(w)
	printable.Row(out, "NAMESPACE", "KIND", "NAME", "FIELD", "PARENT", "ACKNOWLEDGED", "BY", "MESSAGE")
	for i := range parents {
		p := &parents[i]
		printable.Row(out, p.Namespace, string(p.Kind), p.Name, p.Field, p.Service, p.State, cmp.Or(p.By, "-"), cmp.Or(p.Message, p.Reason, "-"))
	}
	return out.Flush()
}
