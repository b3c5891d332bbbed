package check

import (
	"encoding/json"

	"github.com/gammaguard/gammaguard/internal/cli/report"
)

// status returns what the reconciler would write into the stored route.
func (j *judge) status(r *route) (report.Status, error) {
	status := report.Status{Parents: []report.ParentStatus{}}
	entries, unknown, err := j.view.Entries(r.mutated.Attached(j.engine.Policy().Mesh))
	status.Unknown = unknown
	if err != nil || len(entries) == 0 {
		return status, err
	}
	refs, err := parentRefs(r)
	if err != nil {
		return status, err
	}
	for _, entry := range entries {
		status.Parents = append(status.Parents, report.ParentStatus{
			ParentRef: refs[entry.Ref], ControllerName: j.options.Config.Status.ControllerName,
			Conditions: []report.Condition{report.Condition(entry.Condition)},
		})
	}
	return status, nil
}

// parentRefs returns the parentRefs of the route as they are stored.
func parentRefs(r *route) ([]json.RawMessage, error) {
	var object struct {
		Spec struct {
			ParentRefs []json.RawMessage `json:"parentRefs"`
		} `json:"spec"`
	}
	err := json.Unmarshal(r.stored, &object)
	return object.Spec.ParentRefs, err
}
