package webhook

import (
	"fmt"
	"strings"

	"github.com/gammaguard/gammaguard/mutate"
	"github.com/gammaguard/gammaguard/validate"
)

// maxAnnotation bounds an audit annotation, in bytes.
const maxAnnotation = 4 << 10

// findingsAnnotation returns the audit annotation that lists all findings, those
// without any other effect too: "rule field effect", and why the effect is milder
// than the rule's action. The API server puts the webhook's name before the key.
func findingsAnnotation(verdict *validate.Verdict) map[string]string {
	if len(verdict.Findings) == 0 {
		return nil
	}
	entries := make([]string, len(verdict.Findings))
	for i := range verdict.Findings {
		f := &verdict.Findings[i]
		entries[i] = f.Rule + " " + f.Field + " " + string(f.Effect)
		if f.Lowered != validate.NotLowered {
			entries[i] += " (" + string(f.Lowered) + ")"
		}
	}
	return map[string]string{"findings": joined(entries)}
}

// changesAnnotation returns the audit annotation that lists all changes.
func changesAnnotation(changes []mutate.Change) map[string]string {
	entries := make([]string, len(changes))
	for i := range changes {
		entries[i] = changes[i].ID + " " + changes[i].Path
	}
	return map[string]string{"changes": joined(entries)}
}

// joined lists as many entries as fit, and counts the others.
func joined(entries []string) string {
	var text strings.Builder
	for i, entry := range entries {
		if text.Len()+len(entry) > maxAnnotation {
			fmt.Fprintf(&text, ", and %d more", len(entries)-i)
			break
		}
		if i > 0 {
			text.WriteString(", ")
		}
		text.WriteString(entry)
	}
	return text.String()
}
