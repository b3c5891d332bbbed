package report

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/validate"
)

// The elements of a JUnit report: a suite for each file, with a test case for each route.
type (
	junitSuites struct {
		XMLName  xml.Name      `xml:"testsuites"`
		Name     string        `xml:"name,attr"`
		Tests    int           `xml:"tests,attr"`
		Failures int           `xml:"failures,attr"`
		Suites   []*junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Skipped  int          `xml:"skipped,attr"`
		Cases    []*junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name      string        `xml:"name,attr"`
		ClassName string        `xml:"classname,attr"`
		File      string        `xml:"file,attr"`
		Failure   *junitFailure `xml:"failure"`
		Skipped   *junitSkipped `xml:"skipped"`
		Output    string        `xml:"system-out,omitempty"`
	}
	junitSkipped struct {
		Message string `xml:"message,attr"`
	}
	junitFailure struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",chardata"`
	}
)

// JUnit writes the report as JUnit's XML. A test case is a route, in the suite of its file wherever what was found of it is, or a document that
// cannot be read, and fails if Fails would; what is milder is its output. One of which
// something is unknown, and that does not fail, is skipped, as is what
// was not checked.
func (r *CheckReport) JUnit(w io.Writer, failOn string) error {
	cases := map[[2]string]*junitCase{} // by file and name
	var files []string
	add := func(file, name string) *junitCase {
		key := [2]string{file, name}
		if cases[key] == nil {
			shown := printable.Text(file) // XML has no place for most control characters
			cases[key] = &junitCase{Name: printable.Text(name), ClassName: shown, File: shown}
			files = append(files, file)
		}
		return cases[key]
	}
	for _, i := range r.Items() {
		if i.Effect != validate.Off {
			add(cmp.Or(i.of, i.File), cmp.Or(i.Object, "document")).add(&i, failOn)
		}
	}
	for i := range r.Routes {
		route := &r.Routes[i]
		c := add(route.File, route.String())
		said := func(effect validate.Action) bool {
			return slices.ContainsFunc(route.Findings, func(f Finding) bool { return f.Effect == effect })
		}
		if route.Verdict == Admit || said(EffectUnknown) || said(validate.Deny) {
			continue
		}
		effect := EffectUnknown
		if route.Verdict == Deny { // a strict check
			effect = validate.Deny
		}
		const text = "not all that bears on it is known; the report says once what is missing"
		c.add(&Item{Place: route.Place, ID: validate.RuleGrantMissing, Effect: effect, Word: string(effect), Text: text}, failOn)
	}
	for _, i := range r.unchecked() {
		c := add(i.File, cmp.Or(i.Object, "not checked"))
		if c.Skipped == nil {
			c.Skipped = &junitSkipped{i.Text}
		} else {
			c.Skipped.Message += "; " + i.Text
		}
	}
	suites := &junitSuites{}
	slices.Sort(files)
	for _, file := range slices.Compact(files) {
		suite := &junitSuite{Name: printable.Text(file)}
		for key, c := range cases {
			if key[0] != file {
				continue
			}
			suite.Cases = append(suite.Cases, c)
			if c.Failure != nil {
				suite.Failures++
			}
			if c.Skipped != nil {
				suite.Skipped++
			}
		}
		slices.SortFunc(suite.Cases, func(a, b *junitCase) int { return strings.Compare(a.Name, b.Name) })
		suite.Tests = len(suite.Cases)
		suites.Suites = append(suites.Suites, suite)
	}
	return suites.write(w)
}

// write counts the tests of the suites, and writes them.
func (s *junitSuites) write(w io.Writer) error {
	s.Name = "gammaguard"
	for _, suite := range s.Suites {
		s.Tests, s.Failures = s.Tests+suite.Tests, s.Failures+suite.Failures
	}
	out := printable.XML(w)
	if _, err := io.WriteString(out, xml.Header); err != nil {
		return err
	}
	encoder := xml.NewEncoder(out)
	encoder.Indent("", "  ")
	if err := encoder.Encode(s); err != nil {
		return err
	}
	_, err := io.WriteString(out, "\n")
	return err
}

// add adds what was found of the route.
func (c *junitCase) add(i *Item, failOn string) {
	if i.Effect == EffectUnknown && c.Failure == nil {
		c.Skipped = &junitSkipped{i.text()}
	}
	line := fmt.Sprintf("line %d: %s: %s\n", i.Line, i.Word, i.text())
	if i.of != "" && i.of != i.File { // a patch sets it
		line = printable.Text(i.File) + ", " + line
	}
	if severity := slices.Index(FailOn, string(i.Effect)); severity < 0 || severity > slices.Index(FailOn, failOn) {
		c.Output += line
		return
	}
	c.Skipped = nil
	if c.Failure == nil {
		c.Failure = &junitFailure{Message: i.text(), Type: i.ID}
	}
	c.Failure.Text += line
}
