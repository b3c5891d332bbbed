package main

import (
	"embed"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/gammaguard/gammaguard/test/scenarios/runner"
)

//go:embed specification/*.yaml
var specifications embed.FS

// specification is what a text says about mesh routes, and what shows that gammaguard heeds it.
type specification struct {
	// name is the name of its page, without the ending.
	name  string
	Title string `json:"title"`
	// Former is a name that the text had before.
	Former   string `json:"former"`
	Sections []struct {
		Section    string      `json:"section"`
		Statements []statement `json:"statements"`
	} `json:"sections"`
}

// statement is one of a text.
type statement struct {
	// Says is a short quotation, or a paraphrase, and Does what gammaguard does.
	Says string `json:"says"`
	Does string `json:"does"`
	// Shown are the scenarios that show it, without the ending; * is all in a folder. Why says
	// why there is none, or why it is done in part.
	Shown []string `json:"shown"`
	Why   string   `json:"why"`
}

const specificationWritten = "<!-- Written by docs/gen from docs/gen/specification and the scenarios: run make docs to change it. -->\n"

const specificationHead = "# The specification, statement by statement\n\n" + specificationWritten + `
What GEP-1294 (formerly GEP-1426), GEP-724, and the overview of GAMMA say about mesh routes, for reviewers. Each page has short quotations
and paraphrases of one text, what gammaguard does about each, and the [scenarios](../test/scenarios/README.md) that show it. A test fails if
a statement has neither a scenario nor a reason, or names a scenario that does not exist.

| Text | Statements |
|---|---|
`

// readSpecifications reads the statements.
func readSpecifications() ([]specification, error) {
	var all []specification
	for _, name := range []string{"gep-1294", "gep-724", "overview"} {
		text, err := specifications.ReadFile("specification/" + name + ".yaml")
		if err != nil {
			return nil, err
		}
		var s specification
		if err := yaml.UnmarshalStrict(text, &s); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		s.name = name
		all = append(all, s)
	}
	return all, nil
}

// scenariosOf returns the scenarios by which the statement is shown. The error names what is
// missing.
func (s *statement) scenariosOf(scenarios []*runner.Scenario) ([]*runner.Scenario, error) {
	var found []*runner.Scenario
	errs := []error{}
	for _, pattern := range s.Shown {
		before := len(found)
		for _, scenario := range scenarios {
			if match, err := path.Match(pattern, filepath.ToSlash(scenario.Name)); err != nil {
				errs = append(errs, err)
			} else if match {
				found = append(found, scenario)
			}
		}
		if len(found) == before {
			errs = append(errs, fmt.Errorf("%q: there is no scenario %s", s.Says, pattern))
		}
	}
	switch part := strings.HasPrefix(s.Does, "In part."); {
	case s.Says == "" || s.Does == "":
		errs = append(errs, fmt.Errorf("%q: it must say what the text says, and what gammaguard does", s.Says))
	case s.Why == "" && (part || len(s.Shown) == 0):
		errs = append(errs, fmt.Errorf("%q: it needs a scenario, or a reason", s.Says))
	}
	return found, errors.Join(errs...)
}

// specificationPages returns the pages of all statements by their paths in docs: an index, and
// one of each text.
func specificationPages(scenarios []*runner.Scenario) (map[string]string, error) {
	all, err := readSpecifications()
	if err != nil {
		return nil, err
	}
	errs := []error{}
	pages := map[string]string{}
	head := specificationHead
	for i := range all {
		title, statements := all[i].Title, 0
		if all[i].Former != "" {
			title += " (formerly " + all[i].Former + ")"
		}
		var b strings.Builder
		fmt.Fprintf(&b, "# %s\n\n%s\nWhat the text says, and what gammaguard does. [The specification](../specification.md) lists the other texts.\n", title, specificationWritten)
		for _, section := range all[i].Sections {
			fmt.Fprintf(&b, "\n## %s\n\n| The text | gammaguard | Shown by |\n|---|---|---|\n", section.Section)
			for j := range section.Statements {
				row, err := section.Statements[j].row(scenarios)
				errs = append(errs, err)
				b.WriteString(row)
				statements++
			}
		}
		path := "specification/" + all[i].name + ".md"
		pages[path] = b.String()
		head += fmt.Sprintf("| [%s](%s) | %d |\n", title, path, statements)
	}
	pages["specification.md"] = head
	return pages, errors.Join(errs...)
}

// row returns the row of a table that has the statement.
func (s *statement) row(scenarios []*runner.Scenario) (string, error) {
	shown, err := s.scenariosOf(scenarios)
	var cells []string
	for _, scenario := range shown {
		name := filepath.ToSlash(scenario.Name)
		cells = append(cells, fmt.Sprintf("[%s](../../test/scenarios/%s.txtar)", name, name))
	}
	if s.Why != "" {
		cells = append(cells, s.Why)
	}
	return fmt.Sprintf("| %s | %s | %s |\n", cell(s.Says), cell(s.Does), cell(strings.Join(cells, "; "))), err
}

// writeSpecification writes the pages into the folder docs.
func writeSpecification(docs string, scenarios []*runner.Scenario) error {
	pages, err := specificationPages(scenarios)
	if err != nil {
		return fmt.Errorf("specification: %w", err)
	}
	if err := os.MkdirAll(filepath.Join(docs, "specification"), 0o755); err != nil {
		return err
	}
	for path, text := range pages {
		if err := os.WriteFile(filepath.Join(docs, path), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
