package webhook

import (
	"strconv"
	"strings"

	"github.com/gammaguard/gammaguard/mutate"
	"github.com/gammaguard/gammaguard/validate"
)

// maxAnnotation is the size, in bytes, from which on an audit annotation takes no
// further entry.
const maxAnnotation = 4 << 10

// findingsAnnotations returns the audit annotations: "findings" lists all findings,
// including those without any other effect: "rule field effect", and why the effect is
// milder than the rule's action. "messages" are those of rules that deny, a line each. The
// API server puts the webhook's name before the keys.
func findingsAnnotations(verdict *validate.Verdict) map[string]string {
	if len(verdict.Findings) == 0 {
		return nil
	}
	list, denials := auditList{separator: ", "}, 0
	for i := range verdict.Findings {
		f := &verdict.Findings[i]
		list.add(len(verdict.Findings)-i, f.Rule, " ", f.Field, " ", string(f.Effect))
		if f.Downgraded != validate.NotDowngraded {
			list.more(" (", string(f.Downgraded), ")")
		}
		if wouldDeny(*f) {
			denials++
		}
	}
	annotations := map[string]string{"findings": list.text.String()}
	if denials > 0 {
		annotations["messages"] = messages(verdict, denials)
	}
	return annotations
}

// messages returns the messages of so many findings of rules that deny.
func messages(verdict *validate.Verdict, left int) string {
	list := auditList{separator: "\n"}
	for i := range verdict.Findings {
		if f := &verdict.Findings[i]; wouldDeny(*f) {
			list.add(left, shortened(f.Warning()))
			left--
		}
	}
	return list.text.String()
}

// planAnnotation returns the audit annotation that lists all changes: "changes" those that
// were made, "withheld" those that were not, and why.
func planAnnotation(plan *mutate.Plan) map[string]string {
	key, why := "changes", ""
	if withheld := plan.Withheld(); withheld != mutate.NotWithheld {
		key, why = "withheld", " ("+string(withheld)+")"
	}
	list := auditList{separator: ", "}
	for i := range plan.Changes {
		list.add(len(plan.Changes)-i, plan.Changes[i].ID, " ", plan.Changes[i].Path, why)
	}
	return map[string]string{key: list.text.String()}
}

// auditList writes a list, with a count of the entries that do not fit.
type auditList struct {
	separator string
	text      strings.Builder
	full      bool
}

// add adds an entry; left is how many there are from it on.
func (l *auditList) add(left int, parts ...string) {
	switch {
	case l.full:
		return
	case l.text.Len() > maxAnnotation:
		l.full = true
		l.text.WriteString(l.separator + "and " + strconv.Itoa(left) + " more")
		return
	case l.text.Len() > 0:
		l.text.WriteString(l.separator)
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
