// Package answers reads what the controllers of meshes have answered about stored routes, in
// status.parents.
package answers

import (
	"slices"

	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/mesh"
)

// Answer is what is answered about a parentRef.
type Answer struct {
	// State is unanswered, stale, refused, or applied.
	State string `json:"state"`
	// By is the controller that says so, and Reason and Message its words; empty for unanswered.
	By      string `json:"by,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// Applied reports whether a mesh accepts the parentRef.
func (a *Answer) Applied() bool { return a.State == mesh.Applied.String() }

// Book is what is answered about routes. A nil one knows nothing.
type Book struct{ routes map[string][]Answer }

// Read returns the book of the stored routes. Entries of these controllers are gammaguard's own.
func Read(routes []*manifest.Object, own []string) *Book {
	b := &Book{map[string][]Answer{}}
	for _, route := range routes {
		b.routes[route.Route.String()] = of(route, own)
	}
	return b
}

// Of returns what is answered about the parentRef of the route, such as "HTTPRoute shop/cart",
// with that index; nothing if that is not known.
func (b *Book) Of(route string, ref int) (answer Answer) {
	if b == nil || ref >= len(b.routes[route]) {
		return answer
	}
	return b.routes[route][ref]
}

// of returns the answers about the parentRefs of the route. An entry that cannot be read answers
// nothing.
func of(object *manifest.Object, own []string) []Answer {
	var stored struct {
		Status struct {
			Parents []entry `json:"parents"`
		} `json:"status"`
	}
	route := object.Route
	best := make([]mesh.Acknowledgement, len(route.Spec.ParentRefs))
	answers := make([]Answer, len(best))
	for i := range answers {
		answers[i].State = mesh.Unanswered.String()
	}
	if mesh.Decode(object.JSON, &stored) != nil {
		return answers
	}
	for _, e := range stored.Status.Parents {
		answer, condition := mesh.Acknowledge(e.Conditions, route.Metadata.Generation)
		if condition == nil || slices.Contains(own, e.ControllerName) {
			continue
		}
		for i := range best {
			if best[i] < answer && route.Spec.ParentRefs[i].Same(&e.ParentRef) {
				best[i], answers[i] = answer, Answer{answer.String(), e.ControllerName, condition.Reason, condition.Message}
			}
		}
	}
	return answers
}

// entry is one of status.parents.
type entry struct {
	ParentRef      mesh.ParentRef         `json:"parentRef"`
	ControllerName string                 `json:"controllerName"`
	Conditions     []mesh.ParentCondition `json:"conditions"`
}
