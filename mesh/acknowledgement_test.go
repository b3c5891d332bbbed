package mesh_test

import (
	"testing"

	"github.com/gammaguard/gammaguard/mesh"
)

func TestAcknowledge(t *testing.T) {
	accepted := func(status string, generation int64) mesh.ParentCondition {
		return mesh.ParentCondition{Type: "Accepted", Status: status, ObservedGeneration: generation}
	}
	for _, test := range []struct {
		name       string
		conditions []mesh.ParentCondition
		want       mesh.Acknowledgement
	}{
		{"none", nil, mesh.Unanswered},
		{"another condition", []mesh.ParentCondition{{Type: "ResolvedRefs", Status: "True", ObservedGeneration: 3}}, mesh.Unanswered},
		{"undecided", []mesh.ParentCondition{accepted("Unknown", 3)}, mesh.Unanswered},
		{"accepted", []mesh.ParentCondition{{Type: "ResolvedRefs", Status: "False"}, accepted("True", 3)}, mesh.Applied},
		{"accepted, of no generation", []mesh.ParentCondition{accepted("True", 0)}, mesh.Applied},
		{"accepted, of an older generation", []mesh.ParentCondition{accepted("True", 2)}, mesh.Stale},
		{"refused", []mesh.ParentCondition{accepted("False", 3)}, mesh.Refused},
		{"refused, of an older generation", []mesh.ParentCondition{accepted("False", 1)}, mesh.Stale},
	} {
		got, by := mesh.Acknowledge(test.conditions, 3)
		if got != test.want || (by == nil) != (got == mesh.Unanswered) {
			t.Errorf("%s: %s by %v, want %s", test.name, got, by, test.want)
		}
	}
}

// TestAcknowledgements: of several answers about a parentRef the best counts, and none is about
// another.
func TestAcknowledgements(t *testing.T) {
	var all mesh.Acknowledgements
	all = all.With(1<<0|1<<31, mesh.Refused).With(1<<31, mesh.Applied).With(1<<31, mesh.Stale).With(1<<1, mesh.Unanswered).With(1<<2, mesh.Stale)
	for ref, want := range map[int]mesh.Acknowledgement{0: mesh.Refused, 1: mesh.Unanswered, 2: mesh.Stale, 3: mesh.Unanswered, 30: mesh.Unanswered, 31: mesh.Applied} {
		if got := all.Of(ref); got != want {
			t.Errorf("parentRef %d: %s, want %s", ref, got, want)
		}
	}
}
