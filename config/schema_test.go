package config

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"sigs.k8s.io/yaml"
)

// TestSchema: the schema takes what Load takes, and refuses unknown fields and words.
func TestSchema(t *testing.T) {
	text, err := json.Marshal(Schema())
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("schema.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	for data, ok := range map[string]bool{
		header: true, full: true, header + "mesh: \"\"": true,
		header + "mesh: kuma@2.13": true, header + "mesh: linkerd@edge-25.11.2": true, header + "mesh: cilium@v1.20.0-pre.2": true,
		header + "mesh: kuma@latest": false, header + "mesh: kuma@2": false, header + "mesh: acme@2.13": false, header + "mesh: kum": false,
		"mode: warn": false, header + "mod: warn": false, header + "mode: wran": false,
		header + "rules: {parent-headless: deny}": true, header + "rules: {parent-hedless: deny}": false,
		header + "rules: {parent-headless: refuse}": false, header + "mutations: {parent-group: maybe}": false,
		header + "grants: {selectors: [{roles: [producer], namespaceSelector: {}}]}": true,
		header + "grants: {selectors: [{roles: [both], namespaceSelector: {}}]}":     false,
		header + "grants: {selectors: [{namespaceSelector: {matchLabel: {}}}]}":      false,
		header + "grants: {consumerRoutes: deny}":                                    true,
		header + "grants: {consumerRoutes: refuse}":                                  false,
		header + "parents: {routeKinds: {A.b.example: [TCPRoute]}}":                  true,
		header + "parents: {routeKinds: {A.b.example: [Route]}}":                     false,
		header + "preview: 1": false, header + "exemptions: {users: [a]}": false,
	} {
		var value any
		if err := yaml.Unmarshal([]byte(data), &value); err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(value); (err == nil) != ok {
			t.Errorf("%s\nthe schema says %v", data, err)
		}
		if _, err := Load([]byte(data)); (err == nil) != ok {
			t.Errorf("%s\nLoad says %v", data, err)
		}
	}
}
