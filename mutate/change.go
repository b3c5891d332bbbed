package mutate

import (
	"encoding/json"
	"strings"
)

// Op is a JSON patch operation (RFC 6902, section 4).
type Op string

// The operations that changes are made of.
const (
	// Add sets a member that was left out.
	Add Op = "add"
	// Replace sets a member that has a value.
	Replace Op = "replace"
)

// Change sets one field of a route.
type Change struct {
	// ID is the mutation's: "parent-group".
	ID string
	// Path is the field's path: "spec.parentRefs[0].group".
	Path string
	Op   Op
	// After is the field's new value: a string or an int32.
	After any
	// Why explains in one clause why there is no other possible value.
	Why string
}

// Pointer returns the field's JSON pointer (RFC 6901): "/spec/parentRefs/0/group".
// None of the names on the way has a character that would need an escape.
func (c *Change) Pointer() string {
	return "/" + strings.NewReplacer(".", "/", "[", "/", "]", "").Replace(c.Path)
}

// quote writes a value as the route's JSON has it.
func quote(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic("mutate: a change sets strings and numbers only: " + err.Error())
	}
	return string(text)
}

// set returns the change of a field to after. An empty before was left out.
func set[T string | int32](path string, before, after T, why string) Change {
	var none T
	if before == none {
		return Change{Path: path, Op: Add, After: after, Why: why}
	}
	return Change{Path: path, Op: Replace, After: after, Why: why}
}
