package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
)

// writeValues writes the page of the chart's values: what values.yaml says in its comments.
func writeValues(root string) error {
	data, err := os.ReadFile(filepath.Join(root, "charts", "gammaguard", "values.yaml"))
	if err != nil {
		return err
	}
	var values yaml.Node
	if err := yaml.Unmarshal(data, &values); err != nil {
		return err
	}
	rows, err := valueRows("", values.Content[0])
	if err != nil {
		return err
	}
	text := "# Values of the chart\n\n<!-- Written by docs/gen from charts/gammaguard/values.yaml: run make docs to change it. -->\n\n" +
		"How to install the chart: [Installing with Helm](helm.md). The chart of a release has its image for a default.\n\n" +
		"| Value | Default | Description |\n|---|---|---|\n" + strings.Join(rows, "")
	return os.WriteFile(filepath.Join(root, "docs", "helm-values.md"), []byte(text), 0o644)
}

// valueRows returns a row of the page for each value in the map, in their order. A map
// without a comment of its own is a group of values.
func valueRows(prefix string, values *yaml.Node) ([]string, error) {
	if values.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("values.yaml: %s has no comment, which describes it", strings.TrimSuffix(prefix, "."))
	}
	var rows []string
	for i := 0; i < len(values.Content); i += 2 {
		key, value := values.Content[i], values.Content[i+1]
		name := prefix + key.Value
		if key.HeadComment == "" {
			more, err := valueRows(name+".", value)
			if err != nil {
				return nil, err
			}
			rows = append(rows, more...)
			continue
		}
		var content any
		if err := value.Decode(&content); err != nil {
			return nil, err
		}
		normal, err := json.Marshal(content)
		if err != nil {
			return nil, err
		}
		about := strings.ReplaceAll(strings.TrimPrefix(key.HeadComment, "# "), "\n# ", " ")
		rows = append(rows, "| `"+name+"` | `"+string(normal)+"` | "+cell(about)+" |\n")
	}
	return rows, nil
}
