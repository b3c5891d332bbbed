package webhook

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gammaguard/gammaguard/validate"
)

// TestBoundedAnnotation: an audit annotation that has no room for all findings says
// how many it leaves out.
func TestBoundedAnnotation(t *testing.T) {
	var verdict validate.Verdict
	for i := range 300 {
		verdict.Findings = append(verdict.Findings, validate.Finding{
			Rule: "backend-not-found", Field: fmt.Sprintf("spec.rules[%d].backendRefs[0].name", i), Effect: validate.Off, Downgraded: validate.DowngradedByAnnotation,
		})
	}
	text := findingsAnnotations(&verdict)["findings"]
	if len(text) > maxAnnotation+200 {
		t.Errorf("%d bytes", len(text))
	}
	if !strings.HasPrefix(text, "backend-not-found spec.rules[0].backendRefs[0].name off (annotation), backend-not-found spec.rules[1]") {
		t.Errorf("starts with %s", text[:100])
	}
	entries := strings.Split(text, ", ")
	var left int
	if _, err := fmt.Sscanf(entries[len(entries)-1], "and %d more", &left); err != nil || len(entries)-1+left != 300 {
		t.Errorf("%d entries, and then %q", len(entries)-1, entries[len(entries)-1])
	}
}
