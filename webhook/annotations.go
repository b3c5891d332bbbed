package webhook

import (
	"fmt"
	"strings"

	"github.com/gammaguard/gammaguard/mutate"
	"github.com/gammaguard/gammaguard/validate"
)

// maxAnnotation is the size, in bytes, from which on an audit annotation takes no
// further entry.
const maxAnnotation = 4 << 10

// findingsAnnotation returns the audit annotation that lists all findings, including
// those without any other effect: "rule field effect", and why the effect is milder
// than the rule's action. The API server puts the webhook's name before the key.
func findingsAnnotation(verdict *validate.Verdict) map[string]string {
	if len(verdict.Findings) == 0 {
		return nil
	}
	var list auditList
	for i := range verdict.Findings {
		f := &verdict.Findings[i]
		list.add(len(verdict.Findings)-i, f.Rule, " ", f.Field, " ", string(f.Effect))
		if f.Downgraded != validate.NotDowngraded {
			list.more(" (", string(f.Downgraded), ")")
		}
	}
	return map[string]string{"findings": list.text.String()}
}

// changesAnnotation returns the audit annotation that lists all changes.
func changesAnnotation(changes []mutate.Change) map[string]string {
	var list auditList
	for i := range changes {
		list.add(len(changes)-i, changes[i].ID, " ", changes[i].Path)
	}
	return map[string]string{"changes": list.text.String()}
}

// auditList writes a list, with a count of the entries that do not fit.
type auditList struct {
	text strings.Builder
	full bool
}

// add adds an entry; left is how many there are from it on.
func (l *auditList) add(left int, parts ...string) {
	switch {
	case l.full:
		return
	case l.text.Len() > maxAnnotation:
		l.full = true
		fmt.Fprintf(&l.text, ", and %d more", left)
		return
	case l.text.Len() > 0:
		l.text.WriteString(", ")
	default:
		l.text.Grow(min(64*left, maxAnnotation))
	}
	l.more(parts...)
}

// more goes on with the last entry.
func (l *auditList) more(parts ...string) {
	if l.full {
		return
	}
	for _, part := range parts {
		l.text.WriteString(part)
	}
}
