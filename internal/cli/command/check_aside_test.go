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
		"base/cart.yaml":   "has no effect on base/cart.yaml: a kustomization or a chart uses it; to ignore that, name its directory\n",
		"chart/templates/": "has no effect on chart/templates/pay.yaml: a kustomization or a chart uses it; to ignore that, name its directory\n",
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
