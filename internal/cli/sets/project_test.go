package sets_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"sigs.k8s.io/yaml"

	"github.com/gammaguard/gammaguard/internal/cli/sets"
)

const projectHeader = "apiVersion: gammaguard.dev/v1alpha1\nkind: CheckConfiguration\n"

// projects are texts of .gammaguard.yaml, and what is wrong with them.
var projects = map[string]string{
	"": "",
	"sets:\n- files: [manifests, more.yaml]\n- kustomization: overlays/prod\n- {chart: charts/shop, values: [prod.yaml]}\n" +
		"ignore: ['*.tmpl.yaml']\nconfiguration: guard.yaml\nfailOn: warn\n": "",
	"sets:\n- {}\n":                                "sets[0]: one of files, kustomization, and chart is required",
	"sets: [{files: [a], chart: b}]\n":             "sets[0]: one of files, kustomization, and chart is required",
	"sets: [{files: [a], values: [b]}]\n":          "sets[0].values: has no effect without chart",
	"failOn: off\n":                                "failOn",
	"failOn: nothing\n":                            "failOn: must be one of never, deny, warn, audit",
	"set: []\n":                                    `unknown field "set"`,
	"sets: [{kustomisation: a}]\n":                 `unknown field "sets[0].kustomisation"`,
	"sets: {}\n":                                   "sets",
	"kind: GuardConfiguration\n":                   "already set",
	"ignore: '*'\n":                                "ignore",
	"failOn: deny\nfailOn: deny\n":                 "already set",
	"configuration: [a]\n":                         "configuration",
	"sets: [{kustomization: a}, {files: [a.b]}]\n": "",
}

// TestProject: the program and the schema for editors take the same files.
func TestProject(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile("../../../docs/gammaguard.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range projects {
		folder := t.TempDir()
		if err := os.WriteFile(filepath.Join(folder, sets.ProjectFile), []byte(projectHeader+text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := sets.FindProject(folder)
		if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
		if strings.Contains(want, "already set") {
			continue // a schema knows nothing of duplicates
		}
		var value any
		if err := yaml.Unmarshal([]byte(projectHeader+text), &value); err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(value); (err != nil) != (want != "") {
			t.Errorf("%q: the schema says %v, want %q", text, err, want)
		}
	}
}

// TestProjectSchema: the schema has the fields of the program.
func TestProjectSchema(t *testing.T) {
	text, err := os.ReadFile("../../../docs/gammaguard.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Properties map[string]struct {
			Items struct {
				Properties map[string]any `json:"properties"`
			} `json:"items"`
		} `json:"properties"`
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	got := [][]string{slices.Sorted(maps.Keys(schema.Properties)), slices.Sorted(maps.Keys(schema.Properties["sets"].Items.Properties))}
	if diff := cmp.Diff([][]string{fields(sets.Project{}), fields(sets.ProjectSet{})}, got); diff != "" {
		t.Errorf("(-program +schema)\n%s", diff)
	}
}

// fields are the names of the struct's fields in JSON.
func fields(value any) []string {
	var names []string
	for field := range reflect.TypeOf(value).Fields() {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// TestProjectAliases: what a project's aliases stand for is bounded.
func TestProjectAliases(t *testing.T) {
	aliases := "ignore: &a [" + strings.Repeat("y", 100_000) + "]\nsets: [" + strings.Repeat("*a, ", 200) + "]\n"
	for _, text := range []string{aliases, "configuration: guard.yaml\n"} {
		t.Chdir(t.TempDir())
		for name, content := range map[string]string{sets.ProjectFile: projectHeader + text, "guard.yaml": aliases} {
			if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := sets.FindProject("."); err == nil || !strings.Contains(err.Error(), "yaml: its aliases expand to more than 16 MiB") {
			t.Errorf("FindProject() = %v", err)
		}
	}
}
