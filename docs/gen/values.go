package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/gammaguard/gammaguard/config/chart"
)

// writeValues writes the page of the chart's values.
func writeValues(folder string) error {
	values, err := chart.Values(chart.Options{Version: "v1.2.3", Image: "gammaguard-webhook"})
	if err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString("# Values of the chart\n\n<!-- Written by docs/gen from the chart's schema: run make docs to change it. -->\n\n")
	b.WriteString("How to install the chart: [Installing with Helm](helm.md). The defaults are those of release v1.2.3.\n\n")
	b.WriteString("| Value | Default | Description |\n|---|---|---|\n")
	for _, value := range values {
		normal, err := json.Marshal(value.Default)
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "| `%s` | `%s` | %s |\n", value.Name, normal, cell(value.Description))
	}
	return os.WriteFile(filepath.Join(folder, "helm-values.md"), []byte(b.String()), 0o644)
}
