// Package boundary holds the core's import boundary (ARCHITECTURE.md) through all
// that the core imports; depguard, by `make lint`, sees direct imports alone.
package boundary

import (
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

// TestHouses: the guard and the command line are two houses over one core, which do not know
// each other; what both stand on knows neither.
func TestHouses(t *testing.T) {
	guard := []string{module + "webhook", module + "status", module + "status/audit", module + "certs", module + "cmd/gammaguard-webhook"}
	cli := []string{module + "internal/cli", module + "cmd/gammaguard"}
	within := func(name string, houses []string) bool {
		return slices.ContainsFunc(houses, func(house string) bool {
			return name == house || strings.HasPrefix(name, house+"/") && name != module+"status/desired"
		})
	}
	out, err := exec.CommandContext(t.Context(), "go", "list", "-f", `{{.ImportPath}} {{join .Deps " "}}`, module+"...").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		names := strings.Fields(line)
		name := names[0]
		if own := strings.TrimPrefix(name, module); strings.HasPrefix(own, "test/") || strings.HasPrefix(own, "docs/") || strings.HasPrefix(own, "examples/") {
			continue
		}
		for _, other := range names[1:] {
			switch {
			case within(name, guard) && within(other, cli), within(name, cli) && within(other, guard),
				!within(name, guard) && !within(name, cli) && (within(other, guard) || within(other, cli)):
				t.Errorf("%s depends on %s", name, other)
			}
		}
	}
}

// TestTry: what the README has newcomers run first links few packages, so that it answers soon.
func TestTry(t *testing.T) {
	if packages := dependencies(t, module+"examples/try"); len(packages) >= 150 {
		t.Errorf("%d packages, want fewer than 150", len(packages))
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
