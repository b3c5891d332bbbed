package check

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

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
