// Command gen writes the CustomResourceDefinitions of routes, as compact JSON and
// without descriptions, into the folder that package definitions embeds. Its
// arguments are the folder of the module sigs.k8s.io/gateway-api and the folder to
// write to. `make definitions` runs it.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: gen MODULE FOLDER")
		os.Exit(2)
	}
	if err := generate(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// generate writes FOLDER/<channel>/<kind>.json for the route kinds of both channels.
func generate(module, folder string) error {
	for _, channel := range []string{"standard", "experimental"} {
		files, err := filepath.Glob(filepath.Join(module, "config", "crd", channel, "gateway.networking.k8s.io_*routes.yaml"))
		if err != nil {
			return err
		}
		if len(files) == 0 {
			return fmt.Errorf("%s holds no CustomResourceDefinitions of the %s channel", module, channel)
		}
		target := filepath.Join(folder, channel)
		if err := os.RemoveAll(target); err != nil {
			return err
		}
		if err := os.MkdirAll(target, 0o755); err != nil {
			return err
		}
		for _, file := range files {
			if err := convert(file, target); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
		}
	}
	return nil
}

// convert writes the definition in the file to <kind>.json in the folder.
func convert(file, folder string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var definition struct {
		APIVersion string         `json:"apiVersion"`
		Kind       string         `json:"kind"`
		Metadata   map[string]any `json:"metadata"`
		Spec       map[string]any `json:"spec"`
	}
	if err := yaml.Unmarshal(text, &definition); err != nil {
		return err
	}
	names, _ := definition.Spec["names"].(map[string]any)
	kind, _ := names["kind"].(string)
	if kind == "" {
		return errors.New("spec.names.kind is missing")
	}
	removeDescriptions(definition.Spec)
	compact, err := json.Marshal(definition)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, kind+".json"), compact, 0o644)
}

// removeDescriptions removes the descriptions of schemas, which are most of the
// text. A property that is called description is not a string, and stays.
func removeDescriptions(value any) {
	switch value := value.(type) {
	case map[string]any:
		if _, text := value["description"].(string); text {
			delete(value, "description")
		}
		for _, inner := range value {
			removeDescriptions(inner)
		}
	case []any:
		for _, inner := range value {
			removeDescriptions(inner)
		}
	}
}
