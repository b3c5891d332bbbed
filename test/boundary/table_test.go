package boundary

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// deciding are the functions that decide what becomes of a route on a Service, with the files that
// call them: the table of bindings, and package mesh, which has them. Mutations ask for the
// handshake too, for another question: what may the author of the route learn?
var deciding = map[string][]string{
	"Precedence": {"validate/table.go"},
	"LostTo":     {"validate/parent.go"},
	"Attach":     {"validate/parent.go"},
	"Handshake":  {"validate/parent.go", "mutate/granted.go"},
}

// TestOneTable: what becomes of a route is worked out in one place (ARCHITECTURE.md, One table of
// bindings).
func TestOneTable(t *testing.T) {
	called := map[string][]string{}
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		name, _ := filepath.Rel(root, path)
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (name == "mesh" || name == "test" || name == "tools" || name != "." && strings.HasPrefix(name, ".")):
			return filepath.SkipDir
		case entry.IsDir() || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(node ast.Node) bool {
			if call, ok := node.(*ast.CallExpr); ok {
				if function, ok := call.Fun.(*ast.SelectorExpr); ok {
					called[function.Sel.Name] = append(called[function.Sel.Name], filepath.ToSlash(name))
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for function, want := range deciding {
		got := slices.Compact(slices.Sorted(slices.Values(called[function])))
		if slices.Sort(want); !slices.Equal(got, want) {
			t.Errorf("%s is called in %s, want only %s", function, got, want)
		}
	}
}
