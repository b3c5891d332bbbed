package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/internal/cli/explain"
	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/traffic"
	"github.com/gammaguard/gammaguard/validate"
)

// TestKind is the kind of the JSON form of what gammaguard test found.
const TestKind = "TrafficTestReport"

// TestReport is what became of the tests of traffic. Its JSON form is documented in docs/cli.
type TestReport struct {
	TypeMeta
	Summary TestSummary `json:"summary"`
	// Results are those of each test under each mesh, in the order of the files and the tests.
	Results []TestResult `json:"results"`
	// Notes say what the results depend on.
	Notes []string `json:"notes,omitempty"`
}

// TestSummary counts the results.
type TestSummary struct {
	Files   int `json:"files"`
	Tests   int `json:"tests"`
	Passed  int `json:"passed"`
	Failed  int `json:"failed"`
	Skipped int `json:"skipped"`
}

// Result is what became of a test.
type Result string

// The results of tests. A test is skipped if it is not meant for the mesh.
const (
	Pass Result = "pass"
	Fail Result = "fail"
	Skip Result = "skip"
)

// TestResult is what became of one test under one mesh.
type TestResult struct {
	Place
	Name string `json:"name"`
	// Mesh is the mesh; empty for the specification.
	Mesh   string `json:"mesh,omitempty"`
	Result Result `json:"result"`
	// Flags are those of a command over the same input under the same mesh, such as "-f manifests --mesh istio".
	Flags string `json:"-"`
	// Revision is the one that the request is compared with; empty for none.
	Revision string `json:"-"`
	// Failures say what was not met.
	Failures []string `json:"failures,omitempty"`
	// Request is the request, and Outcome what becomes of it; nil where that is not known.
	Request *traffic.Request `json:"request,omitempty"`
	Outcome *traffic.Outcome `json:"outcome,omitempty"`
	// Chosen is the match that decides; nil where none does.
	Chosen *traffic.Place `json:"chosen,omitempty"`
	// Notes say what the outcome depends on.
	Notes []string `json:"notes,omitempty"`
}

// NewTestReport returns a report of the results, with texts that only show.
func NewTestReport(results []TestResult, notes []string) *TestReport {
	r := &TestReport{TypeMeta: Typed(TestKind), Results: results}
	tests, files := map[Place]bool{}, map[string]bool{}
	for i := range results {
		result := &results[i]
		for j := range result.Failures {
			result.Failures[j] = shown(result.Failures[j])
		}
		tests[result.Place], files[result.File] = true, true
		switch result.Result {
		case Pass:
			r.Summary.Passed++
		case Fail:
			r.Summary.Failed++
		case Skip:
			r.Summary.Skipped++
		}
	}
	r.Summary.Tests, r.Summary.Files = len(tests), len(files)
	for _, note := range notes {
		if note = shown(note); !slices.Contains(r.Notes, note) {
			r.Notes = append(r.Notes, note)
		}
	}
	return r
}

// title names the test, and the mesh if it is not the specification: "gold customers (istio)".
func (t *TestResult) title() string {
	if t.Mesh == "" {
		return t.Name
	}
	return t.Name + " (" + t.Mesh + ")"
}

// detail says what was not met, what decided, and how to look closer.
func (t *TestResult) detail() []string {
	lines := slices.Clone(t.Failures)
	if t.Chosen != nil {
		lines = append(lines, "decided by "+t.Chosen.String())
	}
	for _, note := range t.Notes {
		lines = append(lines, "note: "+note)
	}
	switch {
	case t.Revision != "": // what the revision has counts for it
		lines = append(lines, "to see what changes, run gammaguard diff "+strings.TrimSpace("--base-ref "+printable.Shell(t.Revision)+" "+t.Flags))
	case t.Request != nil:
		lines = append(lines, "to see why, run gammaguard trace "+strings.TrimSpace(t.Request.String()+" "+t.Flags))
	}
	return lines
}

// items returns the failed tests in the form of findings.
func (r *TestReport) items() []Item {
	var items []Item
	for i := range r.Results {
		if t := &r.Results[i]; t.Result == Fail {
			items = append(items, Item{
				Place: t.Place, ID: explain.TrafficTest, Effect: validate.Deny, Word: string(Fail), Object: t.title(), Text: shown(strings.Join(t.detail(), "; ")),
			})
		}
	}
	return items
}

// String reads "12 tests in 2 files: 11 passed, 1 failed", or, under several meshes,
// "12 tests in 2 files, 24 results: 24 passed".
func (s *TestSummary) String() string {
	text := Count(s.Tests, "test", "tests") + " in " + Count(s.Files, "file", "files")
	if results := s.Passed + s.Failed + s.Skipped; results > s.Tests {
		text += fmt.Sprintf(", %d results", results)
	}
	text += fmt.Sprintf(": %d passed", s.Passed)
	if s.Failed > 0 {
		text += fmt.Sprintf(", %d failed", s.Failed)
	}
	if s.Skipped > 0 {
		text += fmt.Sprintf(", %d skipped", s.Skipped)
	}
	return text
}
