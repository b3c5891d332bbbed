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
			for _, kind := range []string{"kustomization ", "chart ", "directory ", "file "} {
				if strings.HasPrefix(line, kind) {
					names = append(names, strings.TrimSpace(line))
				}
			}
		}
		return strings.Join(names, "\n")
	}
	named := "sets:\n- files: [plain/a, plain/b]\n- kustomization: deploy/prod\n- {chart: charts/shop, values: [charts/shop/ci/two.yaml]}\n"
	project(named)
	want := "directory plain/a, plain/b: 3 routes\nkustomization deploy/prod: 1 route\nchart charts/shop with charts/shop/ci/two.yaml: 2 routes"
	if diff := cmp.Diff(want, sets()); diff != "" {
		t.Error("sets (-want +got)\n" + diff)
	}
	project("sets:\n- files: [plain/a/routes.yaml]\n- files: [plain/b]\n")
	if got := sets(); got != "file plain/a/routes.yaml: 1 route\ndirectory plain/b: 2 routes" {
		t.Errorf("a set of one file: %s", got)
	}
	project(named)
	if got := sets("deploy"); got != "kustomization deploy/prod: 1 route" {
		t.Errorf("sets below deploy: %s", got)
	}
	if got := runIn(t, filepath.Join(folder, "plain"), "check"); !strings.Contains(got.stdout, "\n3 routes in 6 files: ") || strings.Contains(got.stdout, "directory a, b") {
		t.Errorf("from a folder below: %+v", got)
	}
	if entries, err := os.ReadDir(filepath.Join(folder, "plain", "a")); err != nil {
		t.Fatal(err)
	} else if got := runIn(t, folder, "check", "plain/a/"+entries[0].Name()); !strings.Contains(got.stdout, "\n3 routes in 6 files: ") || strings.Contains(got.stdout, "no set has") {
		t.Errorf("a file of a set: %+v", got)
	}
	project("sets: [{kustomization: nowhere}]\n")
	if got := runIn(t, folder, "check"); got.code != ExitUsage || got.stderr != "error: .gammaguard.yaml:3: sets[0].kustomization: nowhere does not exist; paths are relative to the directory of .gammaguard.yaml\n" || got.stdout != "" {
		t.Errorf("a set that is not there: %+v", got)
	}
	for set, want := range map[string]string{
		"kustomization: deploy": "deploy has no kustomization.yaml; name the directory of a kustomization", "chart: charts": "charts has no Chart.yaml; name the directory of a chart",
	} {
		project("sets:\n- " + set + "\n")
		field, _, _ := strings.Cut(set, ":")
		if got := runIn(t, folder, "check"); got.code != ExitUsage || got.stderr != "error: .gammaguard.yaml:4: sets[0]."+field+": "+want+"\n" || got.stdout != "" {
			t.Errorf("%s: %+v", set, got)
		}
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
	project("failOn: never\n")
	const never = "note: .gammaguard.yaml: failOn: never: findings do not fail the check\n"
	for _, args := range [][]string{{"check"}, {"check", "--strict", "-f", "plain"}} {
		if got := runIn(t, folder, args...); got.code != ExitClean || strings.Count(got.stdout, never) != 1 {
			t.Errorf("%q: denials that do not fail: %+v", args, got)
		}
	}
	if got := runIn(t, folder, "check", "--strict", "-f", "plain", "-o", "json"); strings.Count(got.stderr, never) != 1 {
		t.Errorf("in another format: %+v", got)
	}
	if got := runIn(t, folder, "check", "--fail-on", "never"); strings.Contains(got.stdout, "failOn") {
		t.Errorf("by a flag: %+v", got)
	}
	project("failOn: never\nconfiguration: guard.yaml\n")
	if got := runIn(t, folder, "check", "--fail-on", "audit"); got.code != ExitFindings {
		t.Errorf("--fail-on takes precedence: %+v", got)
	}
	project("mode: audit\n")
	if got := runIn(t, folder, "check", "-f", "plain"); got.code != ExitUsage || !strings.Contains(got.stderr, ".gammaguard.yaml:3: mode: unknown field; ") {
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

// TestCheckContext: files that the project names for all sets say what exists beside each of them: they are not
// checked, and routes in them do not make updates of those that are.
func TestCheckContext(t *testing.T) {
	const project = "apiVersion: gammaguard.dev/v1alpha1\nkind: CheckConfiguration\n"
	route := func(name string) string {
		return "{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: " + name +
			", namespace: shop}, spec: {parentRefs: [{group: \"\", kind: Service, name: cart, port: 81}], rules: [{backendRefs: [{name: cart, port: 80}]}]}}\n"
	}
	const objects = "{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {gammaguard.dev/grant: all}}}\n---\n" +
		"{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: shop}, spec: {ports: [{port: 80}]}}\n"
	folder := written(t, map[string]string{
		".gammaguard.yaml": project + "context: [common/objects.yaml]\n", "common/objects.yaml": objects,
		"a/r.yaml": route("a"), "b/r.yaml": route("b"),
	})
	r, got := checkJSON(t, "", folder)
	if r.Summary.Unknown != 0 || r.Summary.Denials+r.Summary.Warnings == 0 || len(r.Routes) != 2 || got.stderr != "" {
		t.Errorf("%+v: %s", r.Summary, got.stderr)
	}
	if got := runIn(t, folder, "check", "-f", "a"); strings.Contains(got.stdout, "unknown") || !strings.Contains(got.stdout, "1 route in 1 file: 1 denial") {
		t.Errorf("with -f: %+v", got)
	}
	folder = written(t, map[string]string{
		".gammaguard.yaml": project + "context: [common]\nsets: [{files: [a]}]\n", "common/objects.yaml": objects + "---\n" + route("a"), "common/broken.yaml": "kind: [\napiVersion: v1\n", "a/r.yaml": route("a"),
	})
	again, got := checkJSON(t, "", folder)
	if len(again.Broken) != 1 || len(again.Routes) != 1 || again.Routes[0].Verdict != r.Routes[0].Verdict || got.code != ExitFindings {
		t.Errorf("a route in the context: %+v", again)
	}
	if got := runIn(t, folder, "check", "-f", "a"); !strings.Contains(got.stdout, "its routes are not checked: .gammaguard.yaml names it as context") {
		t.Errorf("a route in the context, with -f: %+v", got)
	}
	if got := runIn(t, folder, "check", "-f", "a", "-f", "common"); strings.Contains(got.stdout, "names it as context") {
		t.Errorf("-f names the context, so that its routes are checked: %+v", got)
	}
	taken := strings.Replace(objects, "grant: all", "grant: none", 1)
	folder = written(t, map[string]string{
		".gammaguard.yaml": project + "context: [common]\n", "common/objects.yaml": taken, "a/r.yaml": route("a"), "base/objects.yaml": objects, "base/r.yaml": route("a"),
	})
	if got := runIn(t, folder, "check", "-f", "a", "--base", "base"); got.code != ExitFindings || !strings.Contains(got.stdout, "Forbidden: namespace shop lacks the producer grant") {
		t.Errorf("the context takes the grant that the base has: %+v", got)
	}
	const missing = " does not exist; paths are relative to the directory of .gammaguard.yaml\n"
	folder = written(t, map[string]string{".gammaguard.yaml": project + "context: [nowhere]\n", "a/r.yaml": route("a")})
	for _, args := range [][]string{{"check"}, {"check", "-f", "a"}} {
		if got := runIn(t, folder, args...); got.code != ExitUsage || got.stderr != "error: .gammaguard.yaml:3: context[0]: nowhere"+missing || got.stdout != "" {
			t.Errorf("%q: %+v", args, got)
		}
	}
	folder = written(t, map[string]string{".gammaguard.yaml": project + "configuration: guard.yml\n", "a/r.yaml": route("a"), "g.yaml": "apiVersion: gammaguard.dev/v1alpha1\nkind: GuardConfiguration\n"})
	if got := runIn(t, folder, "check"); got.code != ExitUsage || got.stderr != "error: .gammaguard.yaml:3: configuration: guard.yml"+missing {
		t.Errorf("a configuration that is not there: %+v", got)
	}
	if got := runIn(t, folder, "check", "--config", "g.yaml"); got.code != ExitClean || got.stderr != "" {
		t.Errorf("--config takes precedence: %+v", got)
	}
}

// TestCheckIgnoreReason: what a pattern leaves aside is counted, and named with the reason.
func TestCheckIgnoreReason(t *testing.T) {
	const project = "apiVersion: gammaguard.dev/v1alpha1\nkind: CheckConfiguration\nignore: "
	files := map[string]string{"a/r.yaml": orphan, "old/r.yaml": orphan, "b.md": ""}
	files[".gammaguard.yaml"] = project + "[{pattern: old/, reason: \"goes in March\\e[31m\"}, \"*.md\"]\n"
	got := runIn(t, written(t, files), "check", "--strict")
	for _, want := range []string{`note: .gammaguard.yaml: its pattern "old/" ("goes in March\x1b[31m") ignores 1 file that may hold routes: old/r.yaml`, ", 1 ignored\n"} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("no %q in %+v", want, got)
		}
	}
	got = runIn(t, written(t, files), "check", "-o", "github") // a note is about no line
	if !strings.Contains(got.stdout, "\n::notice title=note::.gammaguard.yaml: its pattern \"old/\" (") || strings.Contains(got.stdout, "file=.gammaguard.yaml") {
		t.Errorf("-o github: %+v", got)
	}
	for text, want := range map[string]string{
		"[{reason: a}]":                         "ignore[0]: pattern is required",
		"[{pattern: a, why: b}]":                "ignore[0].why: unknown field",
		"[{pattern: a, reason: \"a\\nb\"}]":     "ignore[0].reason: must be one line",
		"[[a]]":                                 "ignore[0]: must be a mapping",
		"[{pattern: a}]\ncontext: [../outside]": "context[0]: ",
	} {
		files[".gammaguard.yaml"] = project + text + "\n"
		if got := runIn(t, written(t, files), "check"); got.code != ExitUsage || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: %+v", text, got)
		}
	}
}
