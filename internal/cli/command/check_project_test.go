package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/internal/cli/sets"
)

// TestCheckProject: .gammaguard.yaml says which sets there are, what is ignored, by what
// configuration routes are judged, and what fails; flags take precedence.
func TestCheckProject(t *testing.T) {
	folder := repositoryIn(t)
	project := func(text string) {
		t.Helper()
		text = "apiVersion: gammaguard.dev/v1alpha1\nkind: CheckConfiguration\n" + text
		if err := os.WriteFile(filepath.Join(folder, ".gammaguard.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	sets := func(args ...string) string {
		t.Helper()
		var names []string
		for line := range strings.Lines(runIn(t, folder, append([]string{"check"}, args...)...).stdout) {
			for _, kind := range []string{"kustomization ", "chart ", "folder "} {
				if strings.HasPrefix(line, kind) {
					names = append(names, strings.TrimSpace(line))
				}
			}
		}
		return strings.Join(names, "\n")
	}
	project("sets:\n- files: [plain/a, plain/b]\n- kustomization: deploy/prod\n- {chart: charts/shop, values: [charts/shop/ci/two.yaml]}\n")
	want := "folder plain/a, plain/b: 3 routes\nkustomization deploy/prod: 1 route\nchart charts/shop with charts/shop/ci/two.yaml: 2 routes"
	if diff := cmp.Diff(want, sets()); diff != "" {
		t.Error("sets (-want +got)\n" + diff)
	}
	if got := sets("deploy"); got != "kustomization deploy/prod: 1 route" {
		t.Errorf("sets below deploy: %s", got)
	}
	if got := runIn(t, filepath.Join(folder, "plain"), "check"); !strings.Contains(got.stdout, "\nfolder a, b: 3 routes\n") {
		t.Errorf("from a folder below: %+v", got)
	}
	project("sets: [{kustomization: nowhere}]\n")
	if got := runIn(t, folder, "check"); got.code != ExitUsage || !strings.Contains(got.stderr, "kustomize nowhere: ") {
		t.Errorf("a set that is not there: %+v", got)
	}
	project("ignore: [/charts, b]\n")
	if got := sets(); strings.Contains(got, "chart") || strings.Contains(got, "plain/b") || !strings.Contains(got, "plain/a") {
		t.Errorf("sets without what is ignored:\n%s", got)
	}
	project("failOn: never\nconfiguration: guard.yaml\n")
	guard := filepath.Join(folder, "guard.yaml")
	if err := os.WriteFile(guard, []byte("apiVersion: gammaguard.dev/v1alpha1\nkind: GuardConfiguration\nmode: audit\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	audited := runIn(t, filepath.Join(folder, "plain"), "check")
	if audited.code != ExitClean || !strings.Contains(audited.stdout, " audit ") {
		t.Errorf("with another configuration: %+v", audited)
	}
	if got := runIn(t, folder, "check", "--fail-on", "audit"); got.code != ExitFindings {
		t.Errorf("--fail-on takes precedence: %+v", got)
	}
	project("mode: audit\n")
	if got := runIn(t, folder, "check", "-f", "plain"); got.code != ExitUsage || !strings.Contains(got.stderr, ".gammaguard.yaml: ") {
		t.Errorf("an unknown field: %+v", got)
	}
}

// TestProjectInDocs: the example in docs/ci.md is one that the program takes.
func TestProjectInDocs(t *testing.T) {
	page, err := os.ReadFile("../../../docs/ci.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, found := strings.Cut(string(page), "```yaml\n# yaml-language-server")
	example, _, _ = strings.Cut(example, "```")
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, sets.ProjectFile), []byte("#"+example), 0o600); err != nil {
		t.Fatal(err)
	}
	project, err := sets.FindProject(folder)
	if err != nil || !found || len(project.Sets) != 3 {
		t.Errorf("%+v %v", project, err)
	}
}
