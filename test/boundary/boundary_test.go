// Package boundary holds the core's import boundary (ARCHITECTURE.md) through all
// that the core imports; depguard, by `make lint`, sees direct imports alone.
package boundary

import (
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
	module + "webhook", module + "certs", module + "config", module + "cmd",
}

// live are the Worlds, which know the core and which the core does not know.
var live = []string{module + "mesh/"}

func TestCore(t *testing.T) {
	for pattern, forbidden := range map[string][]string{
		"mesh":               slices.Concat(shell, live, []string{module + "validate", module + "mutate", module + "status"}),
		"validate/...":       slices.Concat(shell, live, []string{module + "mutate", module + "status"}),
		"mutate/...":         slices.Concat(shell, live, []string{module + "validate", module + "status"}),
		"traffic/...":        slices.Concat(shell, live, []string{module + "validate", module + "mutate", module + "status"}),
		"creation":           slices.Concat(shell, live, []string{module + "status"}),
		"status/desired/...": slices.Concat(shell, live, []string{module + "mutate"}),
		"mesh/manifest/...":  shell,
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
