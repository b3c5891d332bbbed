package boundary

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

//go:generate go test . -run ^TestFigures$ -update

var update = flag.Bool("update", false, "write the figures of the pages")

// figure is a figure in a page, behind the file and the constant expression that gives it.
var figure = regexp.MustCompile(`<!--= (\S+) (.+?) -->[\d,]*\d`)

// atStart is a figure at the beginning of a line.
var atStart = regexp.MustCompile(`(?m)^ *<!--=.*$`)

// TestFigures: what stands behind a comment with a constant of the code is its value.
func TestFigures(t *testing.T) {
	e := &evaluator{files: token.NewFileSet()}
	e.standard = importer.ForCompiler(e.files, "gc", func(path string) (io.ReadCloser, error) {
		out, err := exec.CommandContext(t.Context(), "go", "list", "-export", "-f", "{{.Export}}", path).Output()
		if err != nil {
			return nil, err
		}
		return os.Open(strings.TrimSpace(string(out)))
	})
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, page := range append(pages, "../../README.md", "../../ARCHITECTURE.md", "../bench/load/page.md.tmpl", "../bench/load/measurements.md.tmpl") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if line := atStart.Find(text); line != nil {
			t.Errorf("%s: a line that begins with a comment is HTML, not Markdown: %s", page, line)
		}
		want := figure.ReplaceAllFunc(text, func(match []byte) []byte {
			found++
			parts := figure.FindSubmatch(match)
			return fmt.Appendf(nil, "<!--= %s %s -->%s", parts[1], parts[2], grouped(e.evaluate(t, string(parts[1]), string(parts[2]))))
		})
		if bytes.Equal(text, want) {
			continue
		}
		if !*update {
			t.Errorf("%s has other figures than the code: run go test ./test/boundary -run TestFigures -update", page)
		} else if err := os.WriteFile(page, want, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if found == 0 {
		t.Error("no page has a figure")
	}
}

// grouped writes an integer as the documentation does: 3,000.
func grouped(digits string) string {
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// evaluator evaluates constants. Of what their files import, it knows the package time.
type evaluator struct {
	files    *token.FileSet
	standard types.Importer
}

// Import implements types.Importer.
func (e *evaluator) Import(path string) (*types.Package, error) {
	if path != "time" {
		return nil, errors.New("not needed")
	}
	return e.standard.Import(path)
}

// evaluate evaluates an expression of the constants of a file.
func (e *evaluator) evaluate(t *testing.T, file, expr string) string {
	t.Helper()
	parsed, err := parser.ParseFile(e.files, filepath.Join("..", "..", file), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	config := types.Config{IgnoreFuncBodies: true, Error: func(error) {}, Importer: e}
	pkg, _ := config.Check(file, e.files, []*ast.File{parsed}, nil)
	value, err := types.Eval(e.files, pkg, parsed.End(), expr)
	if err != nil || value.Value == nil {
		t.Fatalf("%s: %s: %v", file, expr, err)
	}
	return value.Value.ExactString()
}
