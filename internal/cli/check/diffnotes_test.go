package check

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/validate"
)

// TestDeniedIsNew: what the stored route has too denies no update of it, though a rule denies now that warned before.
func TestDeniedIsNew(t *testing.T) {
	findings := report.New()
	for name, f := range map[string]report.Finding{"new": {Effect: validate.Deny}, "raised": {Effect: validate.Deny, Raised: true}, "warn": {Effect: validate.Warn}} {
		findings.AddRoute(&report.Route{RouteName: report.RouteName{Kind: "HTTPRoute", Namespace: "a", Name: name}, Findings: []report.Finding{f}})
	}
	got := denied(findings, map[string]bool{"HTTPRoute a/new": true, "HTTPRoute a/raised": true, "HTTPRoute a/warn": true})
	if len(got) != 1 || !strings.HasPrefix(got[0], "HTTPRoute a/new is denied: ") {
		t.Error(got)
	}
}

// TestGrouped: what is said of several objects is one note.
func TestGrouped(t *testing.T) {
	got := grouped([]string{
		"a note", "HTTPRoute b/r rule[0] match[0] matches too: why", "HTTPRoute a/r rule[0] match[0] matches too: why", "HTTPRoute a/r rule[0] match[0] matches too: why",
		"regular expressions of HTTPRoute a/r are compared as text, x", "regular expressions of HTTPRoute b/r are compared as text, x",
		"Service a/s is not in the input: it is assumed to exist", "Service b/s is not in the input: it is assumed to exist", "Service c/s is not in the input: it is assumed to be",
	})
	want := []string{
		"a note", "Service c/s is not in the input: it is assumed to be", "Service a/s, Service b/s are not in the input: they are assumed to exist",
		"HTTPRoute a/r rule[0] match[0], HTTPRoute b/r rule[0] match[0] match too: why", "regular expressions of HTTPRoute a/r, HTTPRoute b/r are compared as text, x",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
