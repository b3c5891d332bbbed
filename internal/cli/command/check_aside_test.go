package command

import (
	"os"
	"strings"
	"testing"
)

// TestIgnoredInNamedSets: what our patterns name of a directory in a set is left aside, and noted; a file that is named itself is read.
func TestIgnoredInNamedSets(t *testing.T) {
	deployed(t)
	web, err := os.ReadFile("plain/web.yaml")
	if err != nil {
		t.Fatal(err)
	}
	const project = "apiVersion: gammaguard.dev/v1alpha1\nkind: CheckConfiguration\nsets: [{files: [plain]}, {files: [plain, plain/x.tmpl.yaml]}]\n"
	template := "spec: {{ .x }}\n" + string(web)
	route := func(name string) string { return strings.ReplaceAll(string(web), "web", name) }
	put(t, "plain/x.tmpl.yaml", route("named"))
	put(t, "plain/y.tmpl.yaml", template)
	put(t, "plain/deep/legacy/old.yaml", route("old"))
	put(t, ".gammaguardignore", "legacy/\n/base\n/prod\n/test\n/chart\n")
	put(t, ".gammaguard.yaml", project+"ignore: ['*.tmpl.yaml']\n")
	commit(t)
	const (
		templates = "note: .gammaguard.yaml: its pattern \"*.tmpl.yaml\" ignores 1 file that may hold routes: plain/y.tmpl.yaml\n"
		legacy    = "note: .gammaguardignore: its pattern \"legacy/\" ignores 1 file that may hold routes: plain/deep/legacy/old.yaml\n"
	)
	for _, path := range []string{".", "plain", "plain/web.yaml", "plain/deep"} { // of a set, all is read
		got := run(t, "", "check", "--strict", "--complete=false", path)
		for _, want := range []string{templates, legacy, "directory plain: 1 route\n", "directory plain, plain/x.tmpl.yaml: 2 routes\n"} {
			if !strings.Contains(got.stdout, want) {
				t.Errorf("%s: want %q in %+v", path, want, got)
			}
		}
		if strings.Contains(got.stdout, "broken") || strings.Contains(got.stderr, "not checked") {
			t.Errorf("%s: %+v", path, got)
		}
	}
	if got := run(t, "", "diff", "--base-ref", "HEAD"); got.code != ExitClean || !strings.Contains(got.stdout, "no change; ") {
		t.Errorf("%+v", got)
	}
	put(t, ".gammaguard.yaml", strings.Replace(project, ", {files: [plain, plain/x.tmpl.yaml]}", "", 1)+"ignore: ['*.tmpl.yaml', web.yaml]\n")
	put(t, "plain/z.yaml", route("z"))
	commit(t)
	put(t, ".gammaguard.yaml", strings.Replace(project, ", {files: [plain, plain/x.tmpl.yaml]}", "", 1)+"ignore: ['*.tmpl.yaml', z.yaml]\n")
	got := run(t, "", "diff", "--base-ref", "HEAD")
	for _, want := range []string{"plain/web.yaml is not compared: the base has it too, but HEAD:.gammaguard.yaml ignores it\n", "plain/z.yaml is not compared: it is still there, but .gammaguard.yaml ignores it\n", "no change in what was compared; "} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("want %q in %+v", want, got)
		}
	}
}

// TestIgnoredFileOfSet: a pattern for the file that makes a directory a kustomization or a chart is one for the directory; for another file of
// these, it has no effect, which is noted.
func TestIgnoredFileOfSet(t *testing.T) {
	deployed(t)
	for pattern, want := range map[string]string{
		"prod/kustomization.yaml": "", "prod/*": "", "prod/": "",
		"chart/Chart.yaml": "ignores 1 file that may hold routes: chart/templates/pay.yaml\n",
		"base/cart.yaml":   "has no effect on base/cart.yaml: a kustomization or a chart that is not ignored uses it; to ignore that one, name its directory\n",
		"chart/templates/": "has no effect on chart/templates/pay.yaml: a kustomization or a chart that is not ignored uses it; to ignore that one, name its directory\n",
	} {
		put(t, ".gammaguardignore", pattern)
		got := run(t, "", "check", "--complete=false")
		if kind := "chart chart:"; strings.Contains(got.stdout, kind) == (pattern == "chart/Chart.yaml") {
			t.Errorf("%s: %+v", pattern, got)
		}
		if kind := "kustomization prod:"; strings.Contains(got.stdout, kind) == strings.HasPrefix(pattern, "prod/") {
			t.Errorf("%s: %+v", pattern, got)
		}
		if !strings.Contains(got.stdout, want) || strings.Contains(got.stdout, "has no effect") != strings.HasPrefix(want, "has no effect") {
			t.Errorf("%s: want %q in %+v", pattern, want, got)
		}
	}
}

// TestMisnamedKustomization: one under a name that kustomize does not read is noted, and fails a strict check only if it may make routes; nothing is
// said of one beside a kustomization, of what Flux calls by that name, and of one that is ignored.
func TestMisnamedKustomization(t *testing.T) {
	const group = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"
	for name, test := range map[string]struct {
		files map[string]string
		code  int
		noted bool
	}{
		"routes":     {map[string]string{"dr/kustomize.yaml": group + "resources: [../base]\n"}, ExitUsage, true},
		"no routes":  {map[string]string{"dr/kustomize.yaml": "resources: [a.yaml]\n", "dr/a.yaml": "{apiVersion: v1, kind: Namespace, metadata: {name: a}}\n"}, ExitClean, true},
		"beside one": {map[string]string{"base/other.yaml": group + "resources: [a.yaml]\n"}, ExitClean, false},
		"of Flux":    {map[string]string{"dr/kustomization-flux.yaml": "{apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, metadata: {name: a}}\n"}, ExitClean, false},
		"settings":   {map[string]string{"dr/customization.yaml": "resources: {limits: {}}\n"}, ExitClean, false},
		"ignored":    {map[string]string{"dr/kustomize.yaml": group + "resources: [../base]\n", ".gammaguardignore": "kustomize.yaml\n"}, ExitClean, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			put(t, "base/kustomization.yaml", "resources: [a.yaml]\n")
			put(t, "base/a.yaml", "{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: a}, spec: {parentRefs: [{name: edge}]}}\n")
			for path, text := range test.files {
				put(t, path, text)
			}
			got := run(t, "", "check", "--strict", "--complete=false")
			if noted := strings.Contains(got.stdout, "not checked: dr/kustomize.yaml: a kustomization under a name that kustomize does not read; rename it"); got.code != test.code || noted != test.noted {
				t.Errorf("%+v", got)
			}
		})
	}
}
