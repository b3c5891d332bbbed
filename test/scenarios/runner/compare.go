package runner

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gammaguard/gammaguard/config"
)

// Entry is an entry in a route's status.parents.
type Entry = gatewayv1.RouteParentStatus

// partiallyConflicted is the type of gammaguard's own condition.
const partiallyConflicted = "gammaguard.dev/PartiallyConflicted"

// route is what is read of a route of any kind.
type route struct {
	Spec   gatewayv1.CommonRouteSpec `json:"spec"`
	Status gatewayv1.RouteStatus     `json:"status"`
}

// isOwn reports whether the entry is gammaguard's.
func isOwn(entry *Entry, c *config.GuardConfiguration) bool {
	name := string(entry.ControllerName)
	return name == c.Status.ControllerName || slices.Contains(c.Status.FormerControllerNames, name)
}

// compareEntries returns how the entries differ from those wanted, whatever their
// order, or nothing.
func compareEntries(want []WantEntry, got []Entry) string {
	if len(want) == len(got) && assign(want, got) {
		return ""
	}
	return "want:" + list(want) + "\n  got:" + list(got)
}

// list shows entries in JSON, one a line.
func list[T any](entries []T) string {
	if len(entries) == 0 {
		return " no entries"
	}
	var b strings.Builder
	for i := range entries {
		b.WriteString("\n    " + compact(entries[i]))
	}
	return b.String()
}

// assign reports whether each wanted entry can have one of the others to itself.
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
	wanted := map[string]string{string(gatewayv1.RouteConditionAccepted): w.Accepted, string(gatewayv1.RouteConditionResolvedRefs): w.Resolved, partiallyConflicted: w.Partial}
	maps.DeleteFunc(wanted, func(_, status string) bool { return status == "" })
	reason, message := w.Reason == "", w.Message == ""
	for _, condition := range got.Conditions {
		if wanted[condition.Type] != string(condition.Status) {
			return false
		}
		reason = reason || condition.Reason == w.Reason
		message = message || strings.Contains(condition.Message, w.Message)
	}
	return len(got.Conditions) == len(wanted) && reason && message &&
		(w.Parent == nil || len(compareJSON("parent", map[string]any(w.Parent), []byte(compact(got.ParentRef)))) == 0)
}

func compact(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// compareJSON returns where the JSON text lacks what is wanted: of maps some keys,
// of lists all items, and null for what must not be there.
func compareJSON(path string, want any, text []byte) []string {
	var got any
	if err := json.Unmarshal(text, &got); err != nil {
		return []string{fmt.Sprintf("%s: %v", path, err)}
	}
	return compareValues(path, want, got)
}

func compareValues(path string, want, got any) []string {
	var differences []string
	switch want := want.(type) {
	case map[string]any:
		if fields, ok := got.(map[string]any); ok {
			for _, key := range slices.Sorted(maps.Keys(want)) {
				differences = append(differences, compareValues(path+"."+key, want[key], fields[key])...)
			}
			return differences
		}
	case []any:
		if items, ok := got.([]any); ok && len(items) == len(want) {
			for i := range want {
				differences = append(differences, compareValues(fmt.Sprintf("%s[%d]", path, i), want[i], items[i])...)
			}
			return differences
		}
	default:
		if reflect.DeepEqual(want, got) {
			return nil
		}
	}
	return []string{fmt.Sprintf("%s: want %s, got %s", path, compact(want), compact(got))}
}
