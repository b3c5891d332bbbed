package build

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gammaguard/gammaguard/internal/yaml"
)

// TestAnchorsAreVisitedOnce: fields that hold no paths are as one.
func TestAnchorsAreVisitedOnce(t *testing.T) {
	var text strings.Builder
	text.WriteString("x: &a [one, {path: two}]\n")
	for i := range 100 {
		fmt.Fprintf(&text, "k%d: *a\n", i)
	}
	text.WriteString("resources: *a\nBases: *a\nfiles: *a\n")
	var paths []string
	v := &visitor{func(field string, node *yaml.Node) { paths = append(paths, field+" "+node.Value) }, map[anchor]bool{}}
	documents, err := yaml.Documents([]byte(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	for _, document := range documents {
		v.walk(document, "")
	}
	want := []string{"path two", "path two", "resources one", "path two", "bases one", "path two", "files one", "path two"}
	if !slices.Equal(paths, want) || len(v.seen) != 4 {
		t.Errorf("%q, of %d", paths, len(v.seen))
	}
}

// TestRefsThatCannotBeKnown: what exceeds a bound of package yaml may hide a ref from the search, and so is refused.
func TestRefsThatCannotBeKnown(t *testing.T) {
	text := "resources: ['https://example.com/a.git?ref=--upload-pack=x']\n"
	if ref, err := optionIn([]byte(text)); err != nil || ref != "--upload-pack=x" {
		t.Errorf("%q, %v", ref, err)
	}
	if ref, err := optionIn([]byte(strings.Repeat("%TAG !a! b\n", 17) + "---\n" + text)); err == nil {
		t.Errorf("%q, and no error", ref)
	}
}

// TestFindMissing: a path that leads nowhere does not exist. What is remote is never looked for on this disk, so that the
// builder's error says why it could not be fetched.
func TestFindMissing(t *testing.T) {
	for name, missing := range map[string]bool{
		"gone.yaml": true, "../gone": true, "https://127.0.0.1:9/gone.yaml": false, "http://127.0.0.1:9/gone.yaml": false,
	} {
		folder := t.TempDir()
		if err := os.WriteFile(filepath.Join(folder, "kustomization.yaml"), []byte("resources: ["+name+"]\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		failed := `accumulation err='accumulating resources from '` + name + `': connection refused': lstat ` + name + `: no such file or directory`
		found, _ := FindMissing(os.ReadFile, folder, failed)
		if (found != nil) != missing || missing && found.Name != name {
			t.Errorf("%s: %+v", name, found)
		}
	}
}
