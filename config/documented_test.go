package config

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/mutate"
	"github.com/gammaguard/gammaguard/validate"
)

// TestDocumentedFields: the table of docs/configuration.md has a row for each field, and the
// mutations, the meshes, and the actions that there are.
func TestDocumentedFields(t *testing.T) {
	page, err := os.ReadFile("../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	row := func(field string) string {
		_, rest, found := strings.Cut(string(page), "\n| `"+field+"` | ")
		if !found {
			t.Errorf("no row of %s", field)
		}
		text, _, _ := strings.Cut(rest, " |\n")
		return text
	}
	for _, m := range mutate.Catalogue() {
		if !strings.Contains(row("mutations"), "`"+m.ID+"`") {
			t.Errorf("the row of mutations lacks %s", m.ID)
		}
	}
	for _, p := range mesh.Profiles() {
		if !strings.Contains(row("mesh"), "`"+string(p.Name)+"`") {
			t.Errorf("the row of mesh lacks %s", p.Name)
		}
	}
	for _, action := range validate.Actions() {
		if !strings.Contains(row("rules"), "`"+string(action)+"`") {
			t.Errorf("the row of rules lacks %s", action)
		}
	}
	for i := range reflect.TypeFor[GuardConfiguration]().NumField() {
		name, _, _ := strings.Cut(reflect.TypeFor[GuardConfiguration]().Field(i).Tag.Get("json"), ",")
		if name != "" && name != "kind" && name != "apiVersion" && !strings.Contains(string(page), "\n| `"+name) {
			t.Errorf("no row of %s", name)
		}
	}
}
