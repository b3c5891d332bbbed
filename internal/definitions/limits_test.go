package definitions_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/gammaguard/gammaguard/mesh"
)

// TestListLimits: package mesh reads lists of routes as long as any definition admits,
// and refuses longer ones by their path.
func TestListLimits(t *testing.T) {
	files, err := filepath.Glob("generated/*/*.json")
	if err != nil || len(files) != 10 {
		t.Fatalf("definitions of both channels: %v (%v)", files, err)
	}
	limits := map[string]int64{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := json.Unmarshal(data, &crd); err != nil {
			t.Fatal(err)
		}
		for _, version := range crd.Spec.Versions {
			spec := version.Schema.OpenAPIV3Schema.Properties["spec"]
			largest(&spec, "spec", limits)
		}
	}
	for _, path := range []string{
		"spec.parentRefs", "spec.hostnames", "spec.rules", "spec.rules[0].matches", "spec.rules[0].filters", "spec.rules[0].backendRefs",
		"spec.rules[0].matches[0].headers", "spec.rules[0].matches[0].queryParams", "spec.rules[0].backendRefs[0].filters",
		"spec.rules[0].filters[0].requestHeaderModifier.set", "spec.rules[0].filters[0].responseHeaderModifier.add",
		"spec.rules[0].backendRefs[0].filters[0].requestHeaderModifier.remove",
	} {
		limit := int(limits[path])
		if _, err := mesh.DecodeRoute(listOf(path, limit)); limit == 0 || err != nil {
			t.Errorf("%s: the definitions admit %d items: %v", path, limit, err)
		}
		want := fmt.Sprintf("not a route: %s: must have at most %d items", path, limit)
		if _, err := mesh.DecodeRoute(listOf(path, limit+1)); err == nil || err.Error() != want {
			t.Errorf("one more: got %v, want %s", err, want)
		}
	}
}

// largest notes the largest limit of each list.
func largest(schema *apiextensionsv1.JSONSchemaProps, path string, limits map[string]int64) {
	if schema.MaxItems != nil {
		limits[path] = max(limits[path], *schema.MaxItems)
	}
	for name, property := range schema.Properties {
		largest(&property, path+"."+name, limits)
	}
	if schema.Items != nil && schema.Items.Schema != nil {
		largest(schema.Items.Schema, path+"[0]", limits)
	}
}

// listOf returns a route with so many nulls in the list.
func listOf(path string, items int) []byte {
	before, after := `{"kind":"HTTPRoute"`, "}"
	for i, name := range strings.Split(path, ".") {
		name, nested := strings.CutSuffix(name, "[0]")
		if i == 0 {
			before += ","
		}
		before += fmt.Sprintf("%q:", name)
		switch {
		case nested:
			before, after = before+"[{", "}]"+after
		case i < strings.Count(path, "."):
			before, after = before+"{", "}"+after
		}
	}
	return []byte(before + "[" + strings.TrimSuffix(strings.Repeat("null,", items), ",") + "]" + after)
}
