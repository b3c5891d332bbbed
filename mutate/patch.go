package mutate

import (
	"encoding/json"
	"fmt"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
)

// Operation is one operation of a JSON patch (RFC 6902, section 4), as it is
// written in JSON.
type Operation struct {
	Op    Op     `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// Patch returns the JSON patch that makes the changes: one operation each, on the
// members that they set and nothing else.
func Patch(changes []Change) []Operation {
	operations := make([]Operation, len(changes))
	for i := range changes {
		operations[i] = Operation{Op: changes[i].Op, Path: changes[i].Pointer(), Value: changes[i].After}
	}
	return operations
}

// Apply makes the changes to a raw JSON object, by the same library as the API
// server. All other values stay as they are written, numbers included; only spaces,
// the order of members and needless escapes in strings may change. The changes
// must be those of the route that the object holds.
func Apply(object []byte, changes []Change) ([]byte, error) {
	if len(changes) == 0 {
		return object, nil
	}
	text, err := json.Marshal(Patch(changes))
	if err != nil {
		return nil, fmt.Errorf("write the patch: %w", err)
	}
	patch, err := jsonpatch.DecodePatch(text)
	if err != nil {
		return nil, fmt.Errorf("read the patch: %w", err)
	}
	patched, err := patch.Apply(object)
	if err != nil {
		return nil, fmt.Errorf("apply the patch: %w", err)
	}
	return patched, nil
}
