// Package boundary holds the core's import boundary (ARCHITECTURE.md) through all
// that the core imports; depguard, by `make lint`, sees direct imports alone.
package boundary

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/gammaguard/gammaguard/"

// shell are the modules and packages that only the shell may use, by the start of
// their import paths.
var shell = []string{
	"k8s.io/client-go", "sigs.k8s.io/controller-runtime", "go.uber.org/zap",
	module + "webhook", module + "certs", module + "config", module + "cmd", module + "internal/cli",
}

// live are the Readers, which know the core and which the core does not know.
var live = []string{module + "internal/kube", module + "internal/manifest"}

func TestCore(t *testing.T) {
	for pattern, forbidden := range map[string][]string{
		"mesh":                  slices.Concat(shell, live, []string{module + "validate", module + "mutate", module + "status"}),
		"validate/...":          slices.Concat(shell, live, []string{module + "mutate", module + "status"}),
		"mutate/...":            slices.Concat(shell, live, []string{module + "validate", module + "status"}),
		"traffic/...":           slices.Concat(shell, live, []string{module + "mutate", module + "status"}),
		"internal/creation":     slices.Concat(shell, live, []string{module + "status"}),
		"status/desired/...":    slices.Concat(shell, live, []string{module + "mutate"}),
		"internal/manifest/...": shell,
	} {
		t.Run(pattern, func(t *testing.T) {
			own := strings.TrimSuffix(module+pattern, "/...")
			packages := dependencies(t, module+pattern)
			if !slices.Contains(packages, own) {
				t.Fatalf("there is no package %s", own)
			}
			for _, name := range packages {
				for _, prefix := range forbidden {
					if strings.HasPrefix(name, prefix) {
						t.Errorf("%s depends on %s", own, name)
					}
				}
			}
		})
	}
}

// TestTry: what the README has newcomers run first links no more than the README says, so
// that it builds within a minute.
func TestTry(t *testing.T) {
	packages := dependencies(t, module+"examples/try")
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	said := fmt.Sprintf("downloads %d Go modules", modules(t, module+"examples/try"))
	if !strings.Contains(string(readme), said) || !strings.Contains(string(readme), "fewer than 150 packages") || len(packages) >= 150 {
		t.Errorf("README.md lacks %q, or there are 150 packages or more: %d", said, len(packages))
	}
	whole, all := len(dependencies(t, module+"cmd/gammaguard")), modules(t, module+"cmd/gammaguard")
	if whole <= 900 || all < 90 || all > 110 {
		t.Errorf("the command line links %d packages of %d modules, not more than 900 of about 100 as README.md says", whole, all)
	}
}

// TestExperiment: with the experiment jsonv2 a valid route would be denied, and so a package that
// all others need does not compile with it.
func TestExperiment(t *testing.T) {
	for experiment, want := range map[string]bool{"jsonv2": true, "nojsonv2": false} {
		list := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.GoFiles}}", module+"mesh")
		list.Env = append(os.Environ(), "GOEXPERIMENT="+experiment)
		out, err := list.CombinedOutput()
		if got := strings.Contains(string(out), "jsonv2.go"); err != nil || got != want {
			t.Errorf("GOEXPERIMENT=%s: %v, %s", experiment, err, out)
		}
	}
}

// modules counts the modules, besides this one, of a package and all that it imports.
func modules(t *testing.T, name string) int {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return len(slices.Compact(slices.Sorted(slices.Values(strings.Fields(string(out)))))) - 1
}

// dependencies returns the packages of the pattern and all that they import.
func dependencies(t *testing.T, pattern string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", pattern)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list -deps %s: %v: %s", pattern, err, &stderr)
	}
	return strings.Fields(string(out))
}
