package status

import (
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gammaguard/gammaguard/internal/kube"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/status/desired"
)

// maxParents is how many entries status.parents may have (Gateway API,
// RouteStatus).
const maxParents = 32

// ourPart defines which entries the reconciliation of one Service writes.
type ourPart struct {
	service   mesh.ServiceKey
	namespace string // the route's
	mesh      *mesh.Profile
}

// covers reports whether the entry of ours is about the Service. An entry about
// a parent that is not a mesh parent belongs to every part, because no other part
// covers it.
func (o ourPart) covers(entry *kube.Entry) bool {
	return entry.ParentRef.Class(o.mesh) != mesh.MeshParent || entry.ParentRef.Service(o.namespace) == o.service
}

// taken reports whether another controller took the entry of ours, about the Service, for
// its own, and has none of its own for the parentRef.
func (o ourPart) taken(entry *kube.Entry, refs []mesh.ParentRef, answered mesh.ParentSet) bool {
	if !o.covers(entry) || !desired.ClaimedByOther(entry.Conditions) {
		return false
	}
	at := slices.IndexFunc(refs, func(ref mesh.ParentRef) bool { return ref.Same(&entry.ParentRef) })
	return at >= 0 && !answered.Has(at)
}

// fit returns the entries for which status.parents has room in addition to the given
// number of others, the first ones by parentRef.
func fit(entries []desired.Entry, others int) (fitting []desired.Entry, full bool) {
	if room := max(0, maxParents-others); len(entries) > room {
		return entries[:room], true
	}
	return entries, false
}

// converged reports whether the entries in the cached route's status are as desired,
// for those about the Service, and whether there is no room for some.
func converged(route *kube.Route, part ourPart, entries []desired.Entry) (same, full bool) {
	others := int(route.ForeignEntries)
	var stored []*kube.Entry
	for i := range route.Entries {
		if entry := &route.Entries[i]; part.covers(entry) {
			stored = append(stored, entry)
		} else {
			others++
		}
	}
	entries, full = fit(entries, others)
	if len(entries) != len(stored) {
		return false, full
	}
	for i := range entries {
		at := find(stored, &route.Parents[entries[i].Ref])
		if at < 0 || !says(stored[at], &entries[i].Condition) {
			return false, full
		}
		stored[at] = nil
	}
	return true, full
}

// find returns the index of the first entry about the parentRef, or -1.
func find(entries []*kube.Entry, ref *mesh.ParentRef) int {
	for i, entry := range entries {
		if entry != nil && entry.ParentRef.Same(ref) {
			return i
		}
	}
	return -1
}

// says reports whether the entry has the condition and no other, regardless of its time,
// under our name of today.
func says(entry *kube.Entry, want *desired.Condition) bool {
	if len(entry.Conditions) != 1 || entry.Former {
		return false
	}
	c := &entry.Conditions[0]
	return c.Type == want.Type && string(c.Status) == want.Status && c.Reason == want.Reason &&
		c.Message == want.Message && c.ObservedGeneration == want.ObservedGeneration
}

// transition is an entry that was added, removed, or got another reason. Before or
// after is empty where there was, or is, no entry.
type transition struct {
	before, after desired.Condition
	// problem is what is wrong after, without how to fix it.
	problem string
}

// merged is what status.parents must become.
type merged struct {
	parents     []json.RawMessage
	transitions []transition
	// changed reports whether anything is to be written at all.
	changed bool
}

// merge puts the entries in the place of ours that are about the Service; one that another
// controller has taken is removed, so that ours comes last. All others keep their place and
// their bytes.
func (d *document) merge(controller string, part ourPart, entries []desired.Entry, now metav1.Time) (*merged, error) {
	others := 0
	stored := make([]*kube.Entry, len(d.own))
	for i, entry := range d.own {
		if entry != nil && part.covers(entry) {
			stored[i] = entry
		} else {
			others++
		}
	}
	m := &merged{parents: make([]json.RawMessage, 0, len(d.own)+len(entries))}
	entries, _ = fit(entries, others)

	// replacement[i] is the index in entries, plus one, of what replaces entry i.
	replacement := make([]int, len(d.own))
	var added []int
	unclaimed := slices.Clone(stored)
	for i, entry := range stored {
		if entry != nil && desired.ClaimedByOther(entry.Conditions) {
			unclaimed[i] = nil
		}
	}
	for i := range entries {
		if at := find(unclaimed, &d.refs[entries[i].Ref]); at >= 0 {
			unclaimed[at], replacement[at] = nil, i+1
		} else {
			added = append(added, i)
		}
	}
	for i, raw := range d.Status.Parents {
		switch {
		case stored[i] == nil:
		case desired.ClaimedByOther(stored[i].Conditions):
			m.changed = true // what it says is not what gammaguard said: not a transition
			continue
		case replacement[i] == 0:
			m.change(firstCondition(stored[i]), &desired.Entry{})
			continue
		case !says(stored[i], &entries[replacement[i]-1].Condition):
			next := &entries[replacement[i]-1]
			m.change(firstCondition(stored[i]), next)
			var err error
			if raw, err = d.entry(controller, next, since(stored[i], &next.Condition, now)); err != nil {
				return nil, err
			}
		}
		m.parents = append(m.parents, raw)
	}
	for _, i := range added {
		m.change(desired.Condition{}, &entries[i])
		raw, err := d.entry(controller, &entries[i], now)
		if err != nil {
			return nil, err
		}
		m.parents = append(m.parents, raw)
	}
	return m, nil
}

// change records that an entry must be written, and its transition.
func (m *merged) change(before desired.Condition, after *desired.Entry) {
	m.changed = true
	if before.Type != after.Condition.Type || before.Reason != after.Condition.Reason {
		m.transitions = append(m.transitions, transition{before, after.Condition, after.Problem})
	}
}

// since returns when the status of the condition last moved.
func since(stored *kube.Entry, next *desired.Condition, now metav1.Time) metav1.Time {
	for _, c := range stored.Conditions {
		if c.Type == next.Type && string(c.Status) == next.Status {
			return c.LastTransitionTime
		}
	}
	return now
}

// firstCondition returns the condition of an entry of ours: it has one, unless another
// writer changed it.
func firstCondition(entry *kube.Entry) desired.Condition {
	if len(entry.Conditions) == 0 {
		return desired.Condition{Type: desired.Accepted}
	}
	c := &entry.Conditions[0]
	return desired.Condition{Type: c.Type, Status: string(c.Status), Reason: c.Reason, Message: c.Message, ObservedGeneration: c.ObservedGeneration}
}

// entry writes an entry, with the parentRef as the spec has it.
func (d *document) entry(controller string, entry *desired.Entry, since metav1.Time) (json.RawMessage, error) {
	c := &entry.Condition
	return encode(struct {
		ParentRef      json.RawMessage    `json:"parentRef"`
		ControllerName string             `json:"controllerName"`
		Conditions     []metav1.Condition `json:"conditions"`
	}{d.Spec.ParentRefs[entry.Ref], controller, []metav1.Condition{{
		Type: c.Type, Status: metav1.ConditionStatus(c.Status), Reason: c.Reason, Message: c.Message,
		ObservedGeneration: c.ObservedGeneration, LastTransitionTime: since,
	}}})
}
