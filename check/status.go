package check

import (
	"encoding/json"
	"errors"

	"github.com/gammaguard/gammaguard/check/report"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/status/desired"
)

// status returns what the reconciler would write into the stored route.
func (c *checker) status(r *route) (report.Status, error) {
	status := report.Status{Parents: []report.ParentStatus{}}
	attached := r.mutated.Attached()
	var (
		refs []json.RawMessage
		seen = map[mesh.ServiceKey]bool{}
	)
	for i := range attached.Parents {
		parent := &attached.Parents[i]
		if parent.Class() != mesh.MeshParent || seen[parent.Service(attached.Namespace)] {
			continue
		}
		key := parent.Service(attached.Namespace)
		seen[key] = true
		entries, err := c.entries(attached, key)
		if errors.Is(err, mesh.ErrUnknown) {
			status.Unknown = append(status.Unknown, i)
			continue
		}
		if err != nil {
			return status, err
		}
		if len(entries) > 0 && refs == nil {
			if refs, err = parentRefs(r); err != nil {
				return status, err
			}
		}
		for _, entry := range entries {
			status.Parents = append(status.Parents, report.ParentStatus{
				ParentRef: refs[entry.Ref], ControllerName: c.config.Status.ControllerName,
				Conditions: []report.Condition{report.Condition(entry.Condition)},
			})
		}
	}
	return status, nil
}

// entries returns the route's entries on one Service. What is known of a Service is
// worked out once for all its routes.
func (c *checker) entries(route *mesh.AttachedRoute, key mesh.ServiceKey) ([]desired.Entry, error) {
	place := c.places[key]
	if place == nil {
		var err error
		place, err = desired.At(key, granting{c.world}, c.engine.Policy(), desired.Settings{
			ControllerName: c.config.Status.ControllerName, ConflictReason: c.config.Status.ConflictReason,
		})
		if err != nil {
			return nil, err
		}
		c.places[key] = place
	}
	return place.Entries(route)
}

// parentRefs returns the parentRefs of the route as they are stored.
func parentRefs(r *route) ([]json.RawMessage, error) {
	stored, err := r.stored()
	if err != nil {
		return nil, err
	}
	var object struct {
		Spec struct {
			ParentRefs []json.RawMessage `json:"parentRefs"`
		} `json:"spec"`
	}
	err = json.Unmarshal(stored, &object)
	return object.Spec.ParentRefs, err
}
