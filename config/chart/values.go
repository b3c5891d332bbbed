package chart

import (
	_ "embed"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/gammaguard/gammaguard/config"
)

//go:embed values.schema.yaml
var schemaSource []byte

// schema is a part of the values' JSON schema.
type schema map[string]any

// property returns the schema of a value, by its path.
func (s schema) property(path string) schema {
	for name := range strings.SplitSeq(path, ".") {
		properties, _ := s["properties"].(map[string]any)
		s, _ = properties[name].(map[string]any)
	}
	return s
}

// newSchema reads the schema, and adds the components and the configuration file.
func newSchema() (schema, error) {
	s := schema{}
	if err := yaml.Unmarshal(schemaSource, &s); err != nil {
		return nil, err
	}
	configuration := s.property("configuration")
	maps.Copy(configuration, config.Schema())
	file, err := config.Manifests.ReadFile("base/guard.yaml")
	if err != nil {
		return nil, err
	}
	content := map[string]any{}
	if err := yaml.Unmarshal(file, &content); err != nil {
		return nil, err
	}
	configuration["default"] = content
	components, _ := s.property("components")["properties"].(map[string]any)
	for _, name := range componentNames() {
		value, ok := strings.CutPrefix(guards(name), ".Values.components.")
		if !ok {
			continue // another value turns it on
		}
		about, err := comment(path.Join("components", name, "kustomization.yaml"))
		if err != nil {
			return nil, err
		}
		components[value] = map[string]any{"description": about, "type": "boolean", "default": false}
	}
	return s, nil
}

// componentNames returns the folders of config/components, but the one that the chart
// always has, audit-only, and fail-open: values replace what they hold.
func componentNames() []string {
	entries, _ := fs.ReadDir(config.Manifests, "components") // it is embedded
	var names []string
	for _, entry := range entries {
		if name := entry.Name(); name != always && name != "audit-only" && name != "fail-open" {
			names = append(names, name)
		}
	}
	return names
}

// guards returns the template's condition under which there is the component.
func guards(component string) string {
	switch component {
	case "cert-manager", "self-managed":
		return fmt.Sprintf("eq .Values.certificates.source %q", component)
	}
	words := strings.Split(component, "-")
	for i, word := range words[1:] {
		words[i+1] = strings.ToUpper(word[:1]) + word[1:]
	}
	return ".Values.components." + strings.Join(words, "")
}

// comment returns the text that a file begins with.
func comment(name string) (string, error) {
	data, err := config.Manifests.ReadFile(name)
	if err != nil {
		return "", err
	}
	var lines []string
	for line := range strings.Lines(string(data)) {
		text, ok := strings.CutPrefix(line, "#")
		if !ok {
			break
		}
		lines = append(lines, strings.TrimSpace(text))
	}
	if len(lines) == 0 {
		return "", fmt.Errorf("config/%s: the first line must be a comment, which describes the component", name)
	}
	return strings.Join(lines, " "), nil
}

// Value describes one value of the chart.
type Value struct {
	// Name is its path, "image.tag".
	Name string
	// Description is in Markdown.
	Description string
	// Default is as in values.yaml.
	Default any
}

// values returns the schema's values, by name.
func (s schema) values(prefix string) []Value {
	properties, _ := s["properties"].(map[string]any)
	var all []Value
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		property := s.property(name)
		if about, ok := property["description"].(string); ok {
			all = append(all, Value{prefix + name, about, property["default"]})
		} else {
			all = append(all, property.values(prefix+name+".")...)
		}
	}
	return all
}

// defaults returns values.yaml.
func (s schema) defaults(indent string) ([]byte, error) {
	var text []byte
	properties, _ := s["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		property := s.property(name)
		about, ok := property["description"].(string)
		if !ok {
			inner, err := property.defaults(indent + "  ")
			if err != nil {
				return nil, err
			}
			text = fmt.Appendf(text, "%s%s:\n%s", indent, name, inner)
			continue
		}
		value, err := yaml.Marshal(map[string]any{name: property["default"]})
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines("# " + about + "\n" + string(value)) {
			text = append(text, indent+line...)
		}
	}
	return text, nil
}
