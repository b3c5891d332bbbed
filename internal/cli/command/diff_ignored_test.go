package command

import (
	"os"
	"strings"
	"testing"
)

// TestDiffNotesOnlyNews: of patterns, and of what no set has, diff notes only what the base does not have; of hidden directories, the pattern says enough.
func TestDiffNotesOnlyNews(t *testing.T) {
	deployed(t)
	web, err := os.ReadFile("plain/web.yaml")
	if err != nil {
		t.Fatal(err)
	}
	const ignores, unread = " ignores 1 file that may hold routes", "may hold routes that no set has: "
	for _, name := range []string{"legacy/web.yaml", ".hidden/web.yaml", "vendor/web.yaml"} {
		put(t, name, string(web))
	}
	put(t, ".gammaguardignore", "legacy/\n.hidden/\n.later/\n")
	commit(t)
	put(t, ".later/web.yaml", string(web))
	before := t.TempDir() + "/base"
	if err := os.CopyFS(before, os.DirFS(".")); err != nil {
		t.Fatal(err)
	}
	for _, base := range []string{"--base-ref HEAD", "--base .base"} {
		if got := run(t, "", strings.Fields("diff "+base)...); got.code != ExitClean || strings.Contains(got.stdout, ignores) || strings.Contains(got.stdout, unread) {
			t.Errorf("%s: %+v", base, got)
		}
		_ = os.Rename(before, ".base")
	}
	const legacy = "note: .gammaguardignore: its pattern \"legacy/\"" + ignores + ": legacy/web.yaml\n"
	if got := run(t, "", "diff", "--base-ref", "HEAD", "legacy"); !strings.Contains(got.stdout, legacy) {
		t.Errorf("nothing is compared: %+v", got)
	}
	put(t, ".gammaguardignore", "legacy/*\n.hidden/\n.later/\n.base/\n")
	put(t, "vendor/other.yaml", string(web))
	got := run(t, "", "diff", "--base-ref", "HEAD")
	for _, want := range []string{
		"note: .gammaguardignore: its pattern \"legacy/*\"" + ignores + ": legacy/web.yaml\n", "note: " + unread + "vendor/other.yaml; run",
		"note: .gammaguardignore: its pattern \".base/\" ignores 10 files that may hold routes\n",
	} {
		if !strings.Contains(got.stdout, want) || strings.Contains(got.stdout, ".hidden") {
			t.Errorf("want %q in %+v", want, got)
		}
	}
}

// TestDiffOfUnknownNamespaces: what the input lacks is no news where the base lacks it too, whichever route asks first.
func TestDiffOfUnknownNamespaces(t *testing.T) {
	t.Chdir(t.TempDir())
	route := func(name string) string {
		return "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: " + name + ", namespace: shop}\n" +
			"spec:\n  parentRefs: [{group: '', kind: Service, name: cart, port: 80}]\n  rules: [{backendRefs: [{name: cart, port: 80}]}]\n"
	}
	const service = "apiVersion: v1\nkind: Service\nmetadata: {name: cart, namespace: shop}\nspec: {ports: [{port: 80}]}\n"
	for _, dir := range []string{"base", "head"} {
		put(t, dir+"/service.yaml", service)
		put(t, dir+"/b.yaml", route("b"))
	}
	put(t, "base/a.yaml", route("a"))
	if got := run(t, "", "diff", "--base", "base", "-f", "head"); strings.Contains(got.stdout, "nknown") || strings.Contains(got.stdout, "new on") {
		t.Errorf("without the first route: %+v", got)
	}
	const homeless = "note: namespace shop is not in the input: by --complete it does not exist, and its routes lack a grant, so they do not apply\n"
	if got := run(t, "", "diff", "--base", "base", "-f", "head", "--complete"); strings.Count(got.stdout, homeless) != 1 {
		t.Errorf("--complete: %+v", got)
	}
	put(t, "head/ns.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {gammaguard.dev/grant: all}}\n")
	if got := run(t, "", "diff", "--base", "base", "-f", "head", "--complete"); strings.Contains(got.stdout, homeless) {
		t.Errorf("only the base lacks the namespace: %+v", got)
	}
	if err := os.Remove("head/ns.yaml"); err != nil {
		t.Fatal(err)
	}
	put(t, "head/c.yaml", strings.Replace(route("c"), "name: cart, port: 80}]\n  r", "name: cart, namespace: other, port: 80}]\n  r", 1))
	if got := run(t, "", "diff", "--base", "base", "-f", "head"); !strings.Contains(got.stdout, "Service other/cart") && !strings.Contains(got.stdout, "Service cart") {
		t.Errorf("another Service: %+v", got)
	}
}

// TestDiffOfIgnoredSets: what only one version leaves aside, and both have, is neither removed nor new; what is not there is.
func TestDiffOfIgnoredSets(t *testing.T) {
	const (
		project = "apiVersion: gammaguard.dev/v1alpha1\nkind: CheckConfiguration\n"
		still   = " is not compared: it is still there, but "
		had     = " is not compared: the base has it too, but "
	)
	for _, test := range []struct {
		name, file, text string
		want             []string // the sets, or the files
		by, removed      string
	}{
		{"kustomization", ".gammaguard.yaml", project + "ignore: [prod/]\n", []string{"kustomization prod"}, ".gammaguard.yaml ignores it", "prod/kustomization.yaml"},
		{"what remains of it", ".gammaguardignore", "prod/\ntest/\n", []string{"kustomization prod", "kustomization test"}, ".gammaguardignore ignores it", "prod/kustomization.yaml"},
		{"directory", ".gammaguardignore", "plain/\n", []string{"directory plain"}, ".gammaguardignore ignores it", "plain/web.yaml"},
		{"its file", "plain/.gammaguardignore", "web.yaml\n", []string{"plain/web.yaml"}, "plain/.gammaguardignore ignores it", "plain/web.yaml"},
		{"chart", ".gitignore", "chart\n", []string{"chart chart", "chart chart with chart/values-prod.yaml"}, ".gitignore ignores it", "chart/Chart.yaml"},            //nolint:dupword // kinds and names
		{"values", ".gammaguardignore", "values-prod.yaml\n", []string{"chart chart with chart/values-prod.yaml"}, ".gammaguardignore ignores it", "chart/Chart.yaml"}, //nolint:dupword // kinds and names
		{"sets", ".gammaguard.yaml", project + "sets: [{kustomization: prod}, {kustomization: test}, {chart: chart}]\n", []string{"directory plain"}, "no set of .gammaguard.yaml has it", "plain/web.yaml"},
	} {
		deployed(t)
		if test.name == "its file" {
			web, err := os.ReadFile("plain/web.yaml")
			if err != nil {
				t.Fatal(err)
			}
			put(t, "plain/other.yaml", strings.ReplaceAll(string(web), "web", "other"))
			commit(t)
		}
		put(t, test.file, test.text)
		checks := func(when, between, by string) {
			got := run(t, "", "diff", "--base-ref", "HEAD")
			for _, want := range test.want {
				if !strings.Contains(got.stdout, "note: "+want+between+by) {
					t.Errorf("%s, %s: no note on %s", test.name, when, want)
				}
			}
			if test.name == "what remains of it" && (strings.Count(got.stdout, "note: kustomization base is not compared: ") != 1 || !strings.Contains(got.stdout, "test use it, which are not compared\n")) {
				t.Errorf("%s, %s: the base: %+v", test.name, when, got)
			}
			if got.code != ExitClean || !strings.Contains(got.stdout, "no change in what was compared; ") {
				t.Errorf("%s, %s: %+v", test.name, when, got)
			}
		}
		checks("ignored now", still, test.by)
		saved, err := os.ReadFile(test.removed)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(test.removed); err != nil {
			t.Fatal(err)
		}
		if got := run(t, "", "diff", "--base-ref", "HEAD"); got.code != ExitFindings || !strings.Contains(got.stdout, "no longer in the input") && !strings.Contains(got.stdout, " was removed") {
			t.Errorf("%s: removed: %+v", test.name, got)
		}
		put(t, test.removed, string(saved))
		commit(t)
		if err := os.Remove(test.file); err != nil {
			t.Fatal(err)
		}
		by := test.by
		if test.file != ".gitignore" {
			by = strings.Replace(by, test.file, "HEAD:"+test.file, 1)
		}
		checks("ignored before", had, by)
	}
}
