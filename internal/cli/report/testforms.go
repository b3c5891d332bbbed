package report

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/gammaguard/gammaguard/internal/cli/explain"
	"github.com/gammaguard/gammaguard/internal/printable"
)

// Text writes a table with a row for each test and a column for each mesh, by file, and then what failed;
// with colors if told so.
func (r *TestReport) Text(w io.Writer, color bool) error {
	out := bufio.NewWriter(w)
	paint := newPainter(color)
	for rest := r.Results; len(rest) > 0; {
		end := slices.IndexFunc(rest, func(t TestResult) bool { return t.File != rest[0].File })
		if end < 0 {
			end = len(rest)
		}
		printable.Fprintf(out, "%s\n", paint(printable.Bold, rest[0].File))
		if err := testTable(out, rest[:end]); err != nil {
			return err
		}
		printable.Fprintf(out, "\n")
		rest = rest[end:]
	}
	for i := range r.Results {
		t := &r.Results[i]
		if t.Result != Fail {
			continue
		}
		printable.Fprintf(out, "%s  %s  %s:%d\n", paint(printable.BoldRed, "FAIL"), paint(printable.Bold, t.title()), t.File, t.Line)
		for _, line := range t.detail() {
			printable.Fprintf(out, "      %s\n", line)
		}
		printable.Fprintf(out, "\n")
	}
	for _, note := range r.Notes {
		printable.Fprintf(out, "note: %s\n", note)
	}
	printable.Fprintf(out, "%s\n", &r.Summary)
	return out.Flush()
}

// testTable writes the results of one file.
func testTable(w io.Writer, results []TestResult) error {
	var meshes []string
	for i := range results {
		if mesh := meshTitle(results[i].Mesh); !slices.Contains(meshes, mesh) {
			meshes = append(meshes, mesh)
		}
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if len(meshes) > 1 {
		printable.Row(table, append(slices.Clone(meshes), "test")...)
	}
	for len(results) > 0 {
		cells := make([]string, len(meshes))
		place, name := results[0].Place, results[0].Name
		for len(results) > 0 && results[0].Place == place && results[0].Name == name {
			word := string(results[0].Result)
			if results[0].Result == Fail {
				word = strings.ToUpper(word)
			}
			cells[slices.Index(meshes, meshTitle(results[0].Mesh))] = word
			results = results[1:]
		}
		printable.Row(table, append(cells, name)...)
	}
	return table.Flush()
}

// meshTitle heads the column of a mesh.
func meshTitle(mesh string) string {
	if mesh == "" {
		return "specification"
	}
	return mesh
}

// JUnit writes the report as JUnit's XML: a suite for each file, and a test case for each test under each
// mesh.
func (r *TestReport) JUnit(w io.Writer, _ string) error {
	var suites junitSuites
	for i := range r.Results {
		t := &r.Results[i]
		file := printable.Text(t.File)
		if n := len(suites.Suites); n == 0 || suites.Suites[n-1].Name != file {
			suites.Suites = append(suites.Suites, &junitSuite{Name: file})
		}
		suite := suites.Suites[len(suites.Suites)-1]
		c := &junitCase{Name: printable.Text(t.title()), ClassName: file, File: file}
		switch t.Result {
		case Fail:
			suite.Failures++
			c.Failure = &junitFailure{Message: strings.Join(t.Failures, "; "), Type: explain.TrafficTest, Text: fmt.Sprintf("line %d: %s\n", t.Line, strings.Join(quotedLines(t.detail()), "\n"))}
		case Skip:
			suite.Skipped++
			c.Skipped = &junitSkipped{"the test is not for this mesh"}
		case Pass:
		}
		suite.Cases = append(suite.Cases, c)
		suite.Tests++
	}
	return suites.write(w)
}

// quotedLines returns the lines in a form that only shows.
func quotedLines(lines []string) []string {
	quoted := make([]string, len(lines))
	for i, line := range lines {
		quoted[i] = printable.Text(line)
	}
	return quoted
}

// SARIF writes the failed tests as a SARIF 2.1.0 log of this version of the program.
func (r *TestReport) SARIF(w io.Writer, version string) error {
	topic, _ := explain.Find(explain.TrafficTest)
	rule := describe(&topic)
	rule.DefaultConfiguration.Level = "error"
	return writeSARIF(w, version, []sarifRule{rule}, r.items(), nil)
}

// GitHub writes the failed tests as workflow commands, which GitHub Actions shows as annotations, and the
// summary as a plain line.
func (r *TestReport) GitHub(w io.Writer) error {
	out := bufio.NewWriter(printable.Commands(w))
	annotateItems(out, r.items())
	printable.Fprintf(out, "%s\n", &r.Summary)
	return out.Flush()
}

// GitLab writes the failed tests as a code quality report.
func (r *TestReport) GitLab(w io.Writer) error { return writeGitLab(w, r.items()) }
