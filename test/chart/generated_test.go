package chart

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/gammaguard/gammaguard/config"
)

// What the chart has from elsewhere is written here.
//
//go:generate go test . -run ^(TestFiles|TestSchema)$ -update

var update = flag.Bool("update", false, "write the files of the chart, and the schema of the configuration")

// TestFiles: what of the kustomize tree is no template is in the folder files as it is.
func TestFiles(t *testing.T) {
	sources := map[string]string{
		"gammaguard.json":   "components/monitoring/gammaguard.json",
		"route_grants.yaml": "policy/route_grants.yaml",
		"rules.yaml":        "components/monitoring/rules.yaml",
	}
	for name, source := range sources {
		compareFile(t, folder+"/files/"+name, string(read(t, "../../config/"+source)))
	}
	entries, err := os.ReadDir(folder + "/files")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if sources[entry.Name()] == "" {
			t.Errorf("nothing compares %s", entry.Name())
		}
	}
}

// TestSchema: the schema's part about the configuration is that of package config, and the
// rest names the values that values.yaml has.
func TestSchema(t *testing.T) {
	const path = folder + "/values.schema.json"
	file := read(t, path)
	byHand, _, ok := strings.Cut(string(file), `"definitions": `)
	if !ok {
		t.Fatal("no definitions")
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("  ", "  ")
	if err := encoder.Encode(map[string]any{"configuration": config.Schema()}); err != nil {
		t.Fatal(err)
	}
	compareFile(t, path, byHand+`"definitions": `+text.String()+"}\n")

	var schema map[string]any
	if err := json.Unmarshal(file, &schema); err != nil {
		t.Fatal(err)
	}
	values := map[string]any{}
	if err := yaml.UnmarshalStrict(read(t, folder+"/values.yaml"), &values); err != nil {
		t.Fatal(err)
	}
	compareNames(t, "", schema, values)
}

// compareNames wants a value for each property that was not removed. That there is a property for each value,
// Helm itself wants.
func compareNames(t *testing.T, path string, schema, values map[string]any) {
	t.Helper()
	properties, _ := schema["properties"].(map[string]any)
	for name, property := range properties {
		value, ok := values[name]
		inner, _ := property.(map[string]any)
		if removed := inner["deprecated"] == true; ok == removed {
			t.Errorf("%s%s: in values.yaml %t, removed %t", path, name, ok, removed)
		}
		if fields, ok := value.(map[string]any); ok && len(fields) > 0 {
			compareNames(t, path+name+".", inner, fields)
		}
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// compareFile compares the file with its text. With -update it writes it.
func compareFile(t *testing.T, path, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, string(read(t, path))); diff != "" {
		t.Errorf("%s: go generate ./test/chart writes it anew (-want +got):\n%s", path, diff)
	}
}
