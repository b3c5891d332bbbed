package main

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/test/scenarios/runner"
)

// TestSpecification: each statement has a scenario that exists, or a reason, and
// docs/specification.md and the pages in docs/specification are what make docs writes.
func TestSpecification(t *testing.T) {
	scenarios, err := runner.Load("../../test/scenarios")
	if err != nil {
		t.Fatal(err)
	}
	want, err := specificationPages(scenarios)
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range want {
		got, err := os.ReadFile("../" + path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(text, string(got)); diff != "" {
			t.Errorf("%s: make docs writes it anew (-want +got):\n%s", path, diff)
		}
	}
}

// TestStatements: what is wrong with a statement is found.
func TestStatements(t *testing.T) {
	scenarios := []*runner.Scenario{{Name: "grants/a"}, {Name: "grants/b"}, {Name: "status/a"}}
	for _, test := range []struct {
		statement
		want  string
		shown int
	}{
		{statement{Says: "x", Does: "y", Shown: []string{"grants/a", "status/*"}}, "", 2},
		{statement{Says: "x", Does: "y", Why: "z"}, "", 0},
		{statement{Says: "x", Does: "y"}, "needs a scenario, or a reason", 0},
		{statement{Says: "x", Does: "In part. y", Shown: []string{"grants/*"}}, "needs a scenario, or a reason", 2},
		{statement{Says: "x", Does: "y", Shown: []string{"grants/c"}}, "there is no scenario grants/c", 0},
		{statement{Says: "x", Shown: []string{"grants/a"}}, "must say", 1},
	} {
		shown, err := test.scenariosOf(scenarios)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if !strings.Contains(text, test.want) || (test.want == "") != (err == nil) || len(shown) != test.shown {
			t.Errorf("%+v: %d scenarios, %q, want %q", test.statement, len(shown), text, test.want)
		}
	}
}
