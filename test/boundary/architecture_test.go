package boundary

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var code = regexp.MustCompile("`([^`]+)`")

// rows returns the rows of a page's tables whose first cell is code, by cells.
func rows(t *testing.T, page string) [][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", page))
	if err != nil {
		t.Fatal(err)
	}
	var all [][]string
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if strings.HasPrefix(line, "| `") && len(cells) == 3 {
			all = append(all, cells)
		}
	}
	return all
}

// TestArchitectureImports compares the packages and their imports with the page, which has
// all but generators, tools and tests.
func TestArchitectureImports(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", module+"...").Output()
	if err != nil {
		t.Fatal(err)
	}
	missing := map[string]bool{}
	for path := range strings.FieldsSeq(string(out)) {
		name := strings.TrimPrefix(path, module)
		missing[name] = path != name && !regexp.MustCompile(`^(test|tools)/|(^|/)gen$`).MatchString(name)
	}
	for _, cells := range rows(t, "ARCHITECTURE.md") {
		name := code.FindStringSubmatch(cells[0])[1]
		out, err := exec.CommandContext(t.Context(), "go", "list", "-f", `{{join .Imports "\n"}}`, module+name).Output()
		if err != nil {
			t.Fatalf("go list %s: %v", name, err)
		}
		var want, got []string
		for _, match := range code.FindAllStringSubmatch(cells[2], -1) {
			want = append(want, match[1])
		}
		for _, path := range strings.Fields(string(out)) {
			if own, ok := strings.CutPrefix(path, module); ok {
				got = append(got, own)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("imports of %s (-page +code):\n%s", name, diff)
		}
		delete(missing, name)
	}
	for name, is := range missing {
		if is {
			t.Errorf("the page lacks %s", name)
		}
	}
}

// TestArchitectureFunctions looks for the functions of docs/code-paths.md in their files.
func TestArchitectureFunctions(t *testing.T) {
	checked := 0
	for _, cells := range rows(t, "docs/code-paths.md") {
		file, function := code.FindStringSubmatch(cells[0])[1], code.FindStringSubmatch(cells[1])
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "..", file), nil, 0)
		if err != nil {
			t.Error(err)
			continue
		}
		if !slices.ContainsFunc(parsed.Decls, func(d ast.Decl) bool {
			f, ok := d.(*ast.FuncDecl)
			return ok && f.Name.Name == function[1]
		}) {
			t.Errorf("%s has no function %s", file, function[1])
		}
		checked++
	}
	if checked < 20 {
		t.Errorf("only %d functions are on the page", checked)
	}
}
