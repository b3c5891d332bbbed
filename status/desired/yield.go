package desired

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gammaguard/gammaguard/mesh"
)

// ClaimedByOther reports whether an entry of ours has conditions that gammaguard never writes:
// then another controller, which finds its entries by parentRef alone, takes the entry
// for its own. It will do so again wherever ours is the first for the parentRef.
func ClaimedByOther(conditions []metav1.Condition) bool {
	return len(conditions) > 1 || slices.ContainsFunc(conditions, func(c metav1.Condition) bool {
		accepted := c.Type == Accepted && c.Status == metav1.ConditionFalse
		resolved := c.Type == ResolvedRefs && c.Status == metav1.ConditionFalse && c.Reason == BackendExternalName
		return !accepted && !resolved && (c.Type != PartiallyConflicted || c.Status != metav1.ConditionTrue)
	})
}

// AnsweredOnly returns the entries about parentRefs that another controller has an entry for.
// Where a controller takes entries for its own, these alone can stay: added behind its
// entry, ours is not the one that it finds.
func AnsweredOnly(entries []Entry, answered mesh.ParentSet) []Entry {
	var behind []Entry
	for _, entry := range entries {
		if answered.Has(entry.Ref) {
			behind = append(behind, entry)
		}
	}
	return behind
}
