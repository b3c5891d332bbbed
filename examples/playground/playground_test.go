package main

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/internal/cli/check"
	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/mesh"
)

// TestFindings: the page finds what gammaguard check finds in the same manifests, where the API server refuses none: in
// the example, and in all scenarios that need no configuration. The words may differ where the API server would set defaults.
func TestFindings(t *testing.T) {
	first, err := os.ReadFile("example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	inputs := map[string]string{"example.yaml": string(first), "an ignore annotation": strings.Replace(string(first), "  name: cart-canary\n", "  name: cart-canary\n  annotations: {gammaguard.dev/ignore: nonsense}\n", 1)}
	archives, err := filepath.Glob("../../test/scenarios/*/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range archives {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		inputs[file] = manifests(archive)
	}
	compared := 0
	for name, input := range inputs {
		options := &check.Options{Config: config.Default(), Files: []string{filepath.Join(t.TempDir(), "manifests")}}
		if err := os.WriteFile(options.Files[0], []byte(input), 0o600); err != nil {
			t.Fatal(err)
		}
		want, err := check.Run(t.Context(), options)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if input == "" || len(want.Broken) > 0 || len(want.Duplicates) > 0 || refused(want) {
			continue
		}
		compared++
		var a answer
		_ = a.ask(&question{Manifests: input}) // it names no Service port
		if diff := cmp.Diff(found(want.Items()), found(a.Findings)); diff != "" {
			t.Errorf("%s: check and the page differ:\n%s", name, diff)
		}
	}
	if compared < 200 {
		t.Errorf("only %d of %d inputs are compared", compared, len(inputs))
	}
}

// manifests returns what there is before the first check of a scenario; "" where its configuration is not the default.
func manifests(archive *txtar.Archive) string {
	var all []string
	for _, file := range archive.Files {
		switch {
		case strings.HasSuffix(file.Name, "config.yaml"):
			return ""
		case strings.HasSuffix(file.Name, "cluster.yaml"), strings.HasSuffix(file.Name, "apply.yaml"):
			all = append(all, string(file.Data))
		default:
			return strings.Join(all, "\n---\n")
		}
	}
	return strings.Join(all, "\n---\n")
}

// refused reports whether the API server would refuse a route by its definition.
func refused(r *report.CheckReport) bool {
	for i := range r.Routes {
		for _, f := range r.Routes[i].Findings {
			if strings.HasPrefix(f.Rule, "schema") || strings.HasPrefix(f.Rule, "cel") {
				return true
			}
		}
	}
	return false
}

// found returns what is found on what.
func found(items []report.Item) []string {
	var all []string
	for _, i := range items {
		all = append(all, i.Word+" "+i.Object+": "+i.ID)
	}
	slices.Sort(all)
	return all
}

// TestPolicy: the page judges by the default configuration.
func TestPolicy(t *testing.T) {
	for _, name := range append(mesh.ProfileNames(), "") {
		if want, got := config.Default(config.WithMesh(name)).Policy(), policy(string(name)); !reflect.DeepEqual(want, got) {
			t.Errorf("%q: want %+v, got %+v", name, want, got)
		}
	}
}

// TestSize: what the playground adds to the core is small.
func TestSize(t *testing.T) {
	count := 0
	for _, pattern := range []string{"*.go", "page.*"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(text)) {
				if !strings.HasSuffix(file, "_test.go") && strings.TrimSpace(line) != "" {
					count++
				}
			}
		}
	}
	if count > 400 {
		t.Errorf("the playground has %d lines", count)
	}
}
