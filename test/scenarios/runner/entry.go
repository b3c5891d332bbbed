package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/status/desired"
)

// Entry is one entry of gammaguard's in a route's status.parents.
type Entry struct {
	Parent     json.RawMessage `json:"parentRef"`
	Controller string          `json:"controllerName"`
	Conditions []Condition     `json:"conditions"`
}

// Condition is a condition of an entry.
type Condition struct {
	Type               string `json:"type"`
	Status             string `json:"status"`
	Reason             string `json:"reason"`
	Message            string `json:"message"`
	ObservedGeneration int64  `json:"observedGeneration"`
}

// entriesOf returns the controller's entries in the status of a route in JSON.
func entriesOf(route []byte, controller string) ([]Entry, error) {
	var object struct {
		Status struct {
			Parents []Entry `json:"parents"`
		} `json:"status"`
	}
	if err := json.Unmarshal(route, &object); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(object.Status.Parents, func(e Entry) bool { return e.Controller != controller }), nil
}

// compareEntries returns how the entries differ from those wanted, whatever their
// order, or nothing.
func compareEntries(want []WantEntry, got []Entry) string {
	if len(want) == len(got) && assign(want, got) {
		return ""
	}
	var b strings.Builder
	b.WriteString("want:")
	if len(want) == 0 {
		b.WriteString(" no entries")
	}
	for i := range want {
		b.WriteString("\n    " + want[i].String())
	}
	b.WriteString("\n  got:")
	if len(got) == 0 {
		b.WriteString(" no entries")
	}
	for i := range got {
		b.WriteString("\n    " + got[i].String())
	}
	return b.String()
}

// assign says whether each wanted entry can have one of the others to itself.
func assign(want []WantEntry, got []Entry) bool {
	if len(want) == 0 {
		return true
	}
	for i := range got {
		if want[0].matches(&got[i]) && assign(want[1:], slices.Delete(slices.Clone(got), i, i+1)) {
			return true
		}
	}
	return false
}

func (w *WantEntry) matches(got *Entry) bool {
	if w.Parent != nil && len(compareJSON("parent", w.Parent, got.Parent)) > 0 {
		return false
	}
	var texts, reasons []string
	wanted := 0
	for _, condition := range []struct{ kind, status string }{
		{desired.Accepted, w.Accepted}, {desired.PartiallyConflicted, w.Partial},
	} {
		i := slices.IndexFunc(got.Conditions, func(c Condition) bool { return c.Type == condition.kind })
		switch {
		case condition.status == "" && i >= 0, condition.status != "" && i < 0:
			return false
		case i < 0:
			continue
		case got.Conditions[i].Status != condition.status:
			return false
		}
		wanted++
		texts = append(texts, got.Conditions[i].Message)
		reasons = append(reasons, got.Conditions[i].Reason)
	}
	return len(got.Conditions) == wanted &&
		(w.Reason == "" || slices.Contains(reasons, w.Reason)) &&
		slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, w.Message) })
}

// String shows what is wanted of an entry.
func (w *WantEntry) String() string {
	text := "any parent"
	if w.Parent != nil {
		text = "parent " + compact(w.Parent)
	}
	for _, part := range []struct{ name, value string }{
		{"accepted", w.Accepted}, {"partial", w.Partial}, {"reason", w.Reason}, {"message", w.Message},
	} {
		if part.value != "" {
			text += fmt.Sprintf(", %s %q", part.name, part.value)
		}
	}
	return text
}

// String shows an entry.
func (e *Entry) String() string {
	text := "parent " + string(e.Parent)
	for _, c := range e.Conditions {
		text += fmt.Sprintf(", %s %q, reason %q, message %q", c.Type, c.Status, c.Reason, c.Message)
	}
	return text
}

func compact(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// compareJSON says where the JSON text lacks what is wanted: of maps some keys, of
// lists all items, and null for what must not be there.
func compareJSON(path string, want any, text []byte) []string {
	var got any
	if err := json.Unmarshal(text, &got); err != nil {
		return []string{fmt.Sprintf("%s: %v", path, errors.Join(err))}
	}
	return compareValues(path, want, got)
}

func compareValues(path string, want, got any) []string {
	switch want := want.(type) {
	case map[string]any:
		fields, ok := got.(map[string]any)
		if !ok {
			break
		}
		var differences []string
		for _, key := range sortedKeys(want) {
			differences = append(differences, compareValues(path+"."+key, want[key], fields[key])...)
		}
		return differences
	case []any:
		items, ok := got.([]any)
		if !ok || len(items) != len(want) {
			break
		}
		var differences []string
		for i := range want {
			differences = append(differences, compareValues(fmt.Sprintf("%s[%d]", path, i), want[i], items[i])...)
		}
		return differences
	default:
		if reflect.DeepEqual(want, got) {
			return nil
		}
	}
	return []string{fmt.Sprintf("%s: want %s, got %s", path, compact(want), compact(got))}
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
