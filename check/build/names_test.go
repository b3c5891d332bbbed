package build

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
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
	for _, document := range documents([]byte(text.String())) {
		v.walk(document, "")
	}
	want := []string{"path two", "path two", "resources one", "path two", "bases one", "path two", "files one", "path two"}
	if !slices.Equal(paths, want) || len(v.seen) != 4 {
		t.Errorf("%q, of %d", paths, len(v.seen))
	}
}
