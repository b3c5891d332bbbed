package sets_test

import (
	"encoding/json"
	"errors"
	"fmt"
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

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/internal/cli/sets"
)

const projectHeader = "apiVersion: gammaguard.dev/v1alpha1\nkind: CheckConfiguration\n"

// projects are texts of .gammaguard.yaml, and what is wrong with them.
var projects = map[string]string{
	"": "",
	"sets:\n- files: [manifests, more.yaml]\n- kustomization: overlays/prod\n- {chart: charts/shop, values: [prod.yaml]}\n" +
		"ignore: ['*.tmpl.yaml']\nconfiguration: guard.yaml\nfailOn: warn\n": "",
	"sets:\n- {}\n":                                ":4: sets[0]: exactly one of files, kustomization, and chart is required",
	"sets: [{files: [a], chart: b}]\n":             ":3: sets[0]: exactly one of files, kustomization, and chart is required",
	"sets:\n- files: [a]\n  values: [b]\n":         ":5: sets[0].values: has no effect without chart",
	"failOn: off\n":                                ":3: failOn: must be one of never, deny, warn, audit",
	"failOn: nothing\n":                            ":3: failOn: must be one of never, deny, warn, audit",
	"\nset: []\n":                                  ":4: set: unknown field; the fields here are apiVersion, kind, sets, context, ignore, configuration, failOn",
	"mesh: istio\n":                                ":3: mesh: unknown field; it is a field of the GuardConfiguration that configuration names",
	"sets:\n- kustomisation: a\n":                  ":4: sets[0].kustomisation: unknown field; the fields here are files, kustomization, chart, values",
	"sets: {a: b}\n":                               ":3: sets: must be a list; begin each entry with -",
	"sets: [shop]\n":                               ":3: sets[0]: must be a mapping of fields to values; the fields here are files, kustomization, chart, values",
	"sets:\n- files: shop\n":                       ":4: sets[0].files: must be a list; begin each entry with -",
	"kind: GuardConfiguration\n":                   ":3: kind: is there twice",
	"ignore: '*'\n":                                ":3: ignore: must be a list; begin each entry with -",
	"ignore:\n- a\n- {patern: b}\n":                ":5: ignore[1].patern: unknown field; the fields here are pattern, reason",
	"ignore:\n- a\n- {reason: b}\n":                ":5: ignore[1]: pattern is required",
	"ignore: &a [b]\ncontext: *a\n":                "",
	"failOn: deny\nfailOn: deny\n":                 ":4: failOn: is there twice",
	"configuration: [a]\n":                         ":3: configuration: must be a single value",
	"configuration: 3\n":                           ":3: configuration: must be a string; put 3 in quotes",
	"context:\n":                                   ":3: context: has no value; specify one, or remove the field",
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
		got := ""
		if err != nil {
			_, got, _ = strings.Cut(err.Error(), sets.ProjectFile)
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
		if strings.HasSuffix(want, "is there twice") {
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

// TestProjectBeyondSchema: what no schema says.
func TestProjectBeyondSchema(t *testing.T) {
	for text, want := range map[string]string{
		"context: [/etc/hosts]\n":            ":3: context[0]: /etc/hosts must be relative to the directory of this file",
		"failOn: deny\n---\nfailOn: never\n": ":4: a second document is not read; write each file as one document",
	} {
		folder := t.TempDir()
		if err := os.WriteFile(filepath.Join(folder, sets.ProjectFile), []byte(projectHeader+text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := sets.FindProject(folder); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
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
		if _, err := sets.FindProject("."); err == nil || !strings.Contains(err.Error(), "its aliases expand to more than 16 MiB") {
			t.Errorf("FindProject() = %v", err)
		}
	}
}

// TestProjectFromRoot: from the root of the disk, the file has its whole path, with the slash.
func TestProjectFromRoot(t *testing.T) {
	file := filepath.Join(t.TempDir(), sets.ProjectFile)
	if err := os.WriteFile(file, []byte(projectHeader+"setz: []\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir("/")
	if _, err := sets.FindProject(filepath.Dir(file)); err == nil || !strings.HasPrefix(err.Error(), file+":3: setz: unknown field") {
		t.Errorf("FindProject() = %v", err)
	}
}

// TestProjectWhole: what is no project at all, and a file of nearly its name.
func TestProjectWhole(t *testing.T) {
	const header = "apiVersion and kind must be gammaguard.dev/v1alpha1 and CheckConfiguration"
	const empty = ".gammaguard.yaml:1: is empty: apiVersion: gammaguard.dev/v1alpha1 and kind: CheckConfiguration are required"
	for _, test := range []struct{ name, text, want string }{
		{sets.ProjectFile, "", empty},
		{sets.ProjectFile, "# nothing\n---\n", empty},
		{sets.ProjectFile, "sets: []\n", ".gammaguard.yaml:1: " + header},
		{sets.ProjectFile, "apiVersion: gammaguard.dev/v1alpha1\nkind: GuardConfiguration\nmode: audit\n", ".gammaguard.yaml:2: " + header},
		{sets.ProjectFile, "- a\n", ".gammaguard.yaml:1: must be a mapping of fields to values; the fields here are apiVersion, kind, sets, context, ignore, configuration, failOn"},
		{sets.ProjectFile, projectHeader + "sets:\n- files: [a\nfailOn: deny\n", ".gammaguard.yaml:4: broken YAML: did not find expected ',' or ']'"},
		{sets.ProjectFile, projectHeader + "sets:\n\t- files: [a]\n", ".gammaguard.yaml:4: broken YAML: found a tab character that violates indentation"},
		{".gammaguard.yml", projectHeader, ".gammaguard.yml: the name of this file must be .gammaguard.yaml; rename it"},
	} {
		t.Chdir(t.TempDir())
		if err := errors.Join(os.WriteFile(test.name, []byte(test.text), 0o600), os.Mkdir("below", 0o700), os.Mkdir(".git", 0o700)); err != nil {
			t.Fatal(err)
		}
		if _, err := sets.FindProject("."); err == nil || err.Error() != test.want {
			t.Errorf("%s %q: %v, want %s", test.name, test.text, err, test.want)
		}
		if _, err := sets.FindProject("below"); err == nil || err.Error() != test.want {
			t.Errorf("%s %q, from below: %v, want %s", test.name, test.text, err, test.want)
		}
	}
}

// TestProjectFields: the configuration of the rules says of each field of a project that it is one.
func TestProjectFields(t *testing.T) {
	of := reflect.TypeFor[sets.Project]()
	for i := range of.NumField() {
		name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
		if name == "" || config.HasField(name) {
			continue
		}
		_, err := config.Load([]byte("apiVersion: gammaguard.dev/v1alpha1\nkind: GuardConfiguration\n" + name + ": a\n"))
		if want := fmt.Sprintf("unknown field %q; it is a field of .gammaguard.yaml", name); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
