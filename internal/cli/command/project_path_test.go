package command

import (
	"os"
	"strings"
	"testing"
)

// overlays is a repository whose project names two overlays of a base, and a chart with values from elsewhere.
func overlays(t *testing.T) {
	t.Helper()
	deployed(t)
	put(t, ".gammaguard.yaml", "apiVersion: gammaguard.dev/v1alpha1\nkind: CheckConfiguration\nsets: [{kustomization: prod}, {kustomization: test}, {chart: chart, values: [values/prod.yaml]}]\n")
	put(t, "values/prod.yaml", "backend: pay-v2\n")
	put(t, "docs/readme.md", "")
	if err := os.Remove("chart/values-prod.yaml"); err != nil { // which no set would have
		t.Fatal(err)
	}
	commit(t)
}

// TestPathOfProject: a PATH chooses the named sets that use files there, too. It is an error if it chooses none, in check and in both versions of diff.
func TestPathOfProject(t *testing.T) {
	overlays(t)
	for path, want := range map[string]string{"base": "kustomization prod: 1 route\nkustomization test: 1 route\n", "base/cart.yaml": "kustomization test: 1 route\n", "values": "chart chart with values/prod.yaml: 1 route\n"} { //nolint:dupword // kinds and names
		if got := run(t, "", "check", "--strict", path); !strings.Contains(got.stdout, want) || strings.Contains(got.stdout, "no set has") {
			t.Errorf("check %s: %+v", path, got)
		}
	}
	put(t, "base/cart.yaml", strings.ReplaceAll(contents(t, "base/cart.yaml"), "cart-v1", "new"))
	const want = "service shop/cart port 80, producer (kustomization ../prod, kustomization ../test)\n  any  cart-v1:80 100 %  →  new:80 100 %\n"
	if got := runIn(t, "base", "diff", "--base-ref", "HEAD"); got.code != ExitFindings || !strings.HasPrefix(got.stdout, want) || strings.Contains(got.stdout, "note: may hold") {
		t.Errorf("diff in the base: %+v", got)
	}
	const none = "names 3 sets: kustomization prod, kustomization test, chart chart with values/prod.yaml; none is in docs, contains it, or uses files of it; run the command without a PATH\n" //nolint:dupword // kinds and names
	for _, args := range [][]string{{"check", "docs"}, {"diff", "--base-ref", "HEAD", "docs"}, {"diff", "--base-ref", "HEAD~1", "docs"}, {"diff", "--base", "plain", "docs"}} {
		if got := run(t, "", args...); got.code != ExitUsage || got.stdout != "" || got.stderr != "error: .gammaguard.yaml "+none {
			t.Errorf("%q: %+v", args, got)
		}
	}
	if got := runIn(t, "docs", "check"); got.code != ExitUsage || !strings.HasPrefix(got.stderr, "error: ../.gammaguard.yaml names 3 sets: kustomization ../prod, ") || !strings.HasSuffix(got.stderr, "; none is in ., contains it, or uses files of it; run the command in .. without a PATH\n") {
		t.Errorf("check in docs: %+v", got)
	}
}

// TestPathOfNoSet: routes at a PATH that no set has are named before the error.
func TestPathOfNoSet(t *testing.T) {
	overlays(t)
	put(t, "new/cart.yaml", strings.ReplaceAll(contents(t, "plain/web.yaml"), "web", "new"))
	got := run(t, "", "check", "new")
	const text = "not checked: new/cart.yaml: holds routes that no set has; add it to sets in .gammaguard.yaml, check with -f, or list in .gammaguardignore\n\n0 routes in 0 files: 1 not checked\n"
	if got.code != ExitUsage || got.stdout != text || !strings.HasPrefix(got.stderr, "error: .gammaguard.yaml names 3 sets: ") || strings.Count(got.stderr, "\n") != 1 {
		t.Errorf("%+v", got)
	}
	put(t, "m/kustomization.yaml", "resources: [cart.yaml]\n")
	put(t, "m/cart.yaml", contents(t, "new/cart.yaml"))
	put(t, "m/more.yaml", strings.ReplaceAll(contents(t, "new/cart.yaml"), "new", "more"))
	if err := os.Remove(".gammaguard.yaml"); err != nil {
		t.Fatal(err)
	}
	const beside = "not checked: m/more.yaml: holds routes that no set has; add it to resources or patches in kustomization.yaml, check with -f, or list in .gammaguardignore\n"
	if got := run(t, "", "check", "m/more.yaml"); !strings.Contains(got.stdout, beside) {
		t.Errorf("beside a kustomization: %+v", got)
	}
}

// TestPathBesideContext: a hidden PATH is read as it is alone, also beside one that stands for all sets.
func TestPathBesideContext(t *testing.T) {
	deployed(t)
	put(t, "shared/shop.yaml", "{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {gammaguard.dev/grant: all}}}\n")
	put(t, ".gammaguard.yaml", projectHeader+"context: [shared]\n")
	put(t, ".new/cart.yaml", strings.ReplaceAll(contents(t, "plain/web.yaml"), "web", "new"))
	for _, paths := range []string{".new shared", "shared/shop.yaml .new/cart.yaml"} {
		if got := run(t, "", append([]string{"check"}, strings.Fields(paths)...)...); !strings.Contains(got.stdout, "directory .new: 1 route\n") || !strings.Contains(got.stdout, "directory plain: ") {
			t.Errorf("%s: %+v", paths, got)
		}
	}
}

// TestPathInOneVersion: a set that uses files of PATH in one version is compared with what it is in the other.
func TestPathInOneVersion(t *testing.T) {
	overlays(t)
	diff := func() result { return run(t, "", "diff", "--base-ref", "HEAD", "base") }
	put(t, "prod/kustomization.yaml", "resources: [../plain]\n")
	put(t, "plain/kustomization.yaml", "resources: [web.yaml]\n")
	if got := diff(); got.code != ExitFindings || strings.Count(got.stdout, "producer (kustomization prod)") != 2 || strings.Contains(got.stdout, "not compared") {
		t.Errorf("no longer used: %+v", got)
	}
	commit(t)
	put(t, "prod/kustomization.yaml", "resources: [../base]\n")
	if got := diff(); got.code != ExitFindings || strings.Count(got.stdout, "producer (kustomization prod)") != 2 || strings.Contains(got.stdout, "not compared") {
		t.Errorf("used now: %+v", got)
	}
	put(t, "new/cart.yaml", strings.ReplaceAll(contents(t, "plain/web.yaml"), "web", "new"))
	put(t, "test/kustomization.yaml", "resources: [../base, ../new]\n")
	put(t, "new/kustomization.yaml", "resources: [cart.yaml]\n")
	if got := run(t, "", "diff", "--base-ref", "HEAD", "new"); got.code != ExitFindings || !strings.HasPrefix(got.stdout, "service shop/new port 80, producer\n") || !strings.Contains(got.stdout, "\n1 Service, 1 change; 1 other request class unchanged\n") {
		t.Errorf("a PATH that is new: %+v", got)
	}
}

// TestPathOfNewProject: where only one version names sets, and PATH stands for them in it, they are compared with what they are in the other one.
func TestPathOfNewProject(t *testing.T) {
	overlays(t)
	project := contents(t, ".gammaguard.yaml")
	for range 2 {
		if err := os.Remove(".gammaguard.yaml"); err != nil {
			put(t, ".gammaguard.yaml", project)
		}
		got := run(t, "", "diff", "--base-ref", "HEAD", "base")
		if got.code != ExitClean || !strings.HasSuffix(got.stdout, "no change; 2 request classes unchanged\n") {
			t.Errorf("%+v", got)
		}
		commit(t)
	}
}

// TestNewSetsOfFiles: sets that a .gammaguard.yaml has now, and did not name before, have in the base what is in their files there.
func TestNewSetsOfFiles(t *testing.T) {
	deployed(t)
	const project = projectHeader + "context: [shared]\n"
	put(t, ".gammaguard.yaml", project)
	put(t, "shared/shop.yaml", "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}\n")
	commit(t)
	if err := os.Rename("plain/web.yaml", "web.txt"); err != nil {
		t.Fatal(err)
	}
	if got := run(t, "", "check", "plain"); got.code != ExitClean { // without routes, and no context
		t.Errorf("%+v", got)
	}
	if err := os.Rename("web.txt", "plain/web.yaml"); err != nil {
		t.Fatal(err)
	}
	put(t, ".gammaguard.yaml", project+"sets: [{files: [plain/web.yaml]}]\n")
	got := run(t, "", "diff", "--base-ref", "HEAD", "plain")
	if got.code != ExitClean || strings.Contains(got.stdout, "was removed") || strings.Contains(got.stdout, "has routes in") || !strings.Contains(got.stdout, "no change; 1 request class unchanged\n") {
		t.Errorf("%+v", got)
	}
}

// TestPathThatIsContext: a PATH that is context, holds it, or is another file that bears on all sets stands for all sets, as the command without a
// PATH in the directory of the project, with named sets and without.
func TestPathThatIsContext(t *testing.T) {
	deployed(t)
	for _, path := range []string{"chart", "test"} {
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
	}
	const shop = "{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {gammaguard.dev/grant: all}}}\n"
	put(t, "shared/shop.yaml", shop)
	put(t, "guard/guard.yaml", "apiVersion: gammaguard.dev/v1alpha1\nkind: GuardConfiguration\n")
	put(t, "docs/readme.md", "")
	for _, context := range []string{"context: [shared/shop.yaml]\n", "context: [shared]\nsets: [{files: [plain]}, {kustomization: prod}]\n"} {
		project := projectHeader + context + "configuration: guard/guard.yaml\n"
		put(t, ".gammaguard.yaml", project)
		put(t, "shared/shop.yaml", shop)
		commit(t)
		put(t, "shared/shop.yaml", strings.ReplaceAll(shop, ": all", ": none"))
		for _, command := range []string{"check", "diff --base-ref HEAD"} {
			want := run(t, "", strings.Fields(command)...)
			if want.code != ExitFindings || !strings.Contains(want.stdout, "cart") || !strings.Contains(want.stdout, "web") {
				t.Fatalf("%s: %+v", command, want)
			}
			for _, paths := range []string{"shared/", "plain/web.yaml shared/shop.yaml", "shared/shop.yaml shared plain", ".gammaguard.yaml", "guard/guard.yaml"} {
				if got := run(t, "", strings.Fields(command+" "+paths)...); got != want {
					t.Errorf("%s%s %s: %+v, want %+v", context, command, paths, got, want)
				}
			}
			above := runIn(t, "shared", strings.Fields(command+" ..")...)
			for _, paths := range []string{"", "shop.yaml ../plain"} {
				if got := runIn(t, "shared", strings.Fields(command+" "+paths)...); got != above {
					t.Errorf("%s%s %s in shared: %+v, want %+v", context, command, paths, got, above)
				}
			}
			for _, paths := range []string{" plain/web.yaml shared/none.yaml", " shared/shop.yaml plain/none.yaml"} {
				if got := run(t, "", strings.Fields(command+paths)...); got.code != ExitUsage || !strings.Contains(got.stderr, "none.yaml: no such file or directory") {
					t.Errorf("%s%s: what does not exist: %+v", command, paths, got)
				}
			}
		}
		put(t, "shared/shop.yaml", strings.TrimSuffix(shop, "}\n"))
		if got := run(t, "", "check", "shared/shop.yaml"); got.code != ExitFindings || !strings.HasPrefix(got.stdout, "shared/shop.yaml\n     1  broken ") || got.stderr != "" {
			t.Errorf("%s: broken: %+v", context, got)
		}
	}
}

// TestContextOfOneVersion: a PATH that is context in one version only stands for all sets of both; so does one that only the base has.
// Directories are compared only if both are.
func TestContextOfOneVersion(t *testing.T) {
	deployed(t)
	put(t, "shared/shop.yaml", "{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {gammaguard.dev/grant: all}}}\n")
	put(t, ".gammaguard.yaml", projectHeader+"context: [shared]\n")
	put(t, "old/shared/shop.yaml", contents(t, "shared/shop.yaml"))
	commit(t)
	put(t, "plain/web.yaml", strings.ReplaceAll(contents(t, "plain/web.yaml"), "web-v1", "new"))
	diff := func(path string) {
		t.Helper()
		if got := run(t, "", "diff", "--base-ref", "HEAD", path); got.code != ExitFindings || !strings.Contains(got.stdout, "\n  any  web-v1:80 100 %  →  new:80 100 %") {
			t.Errorf("%+v", got)
		}
	}
	diff("shared/shop.yaml")
	if err := os.Remove("shared/shop.yaml"); err != nil {
		t.Fatal(err)
	}
	diff("shared/shop.yaml")
	put(t, "shared/shop.yaml", contents(t, "old/shared/shop.yaml"))
	put(t, ".gammaguard.yaml", projectHeader)
	diff("shared/shop.yaml")
	commit(t)
	put(t, "plain/web.yaml", strings.ReplaceAll(contents(t, "plain/web.yaml"), "new", "web-v1"))
	commit(t)
	put(t, "plain/web.yaml", strings.ReplaceAll(contents(t, "plain/web.yaml"), "web-v1", "new"))
	put(t, ".gammaguard.yaml", projectHeader+"context: [shared]\n")
	diff("shared")
	put(t, "old/.gammaguard.yaml", projectHeader+"context: [shared]\n")
	put(t, "old/plain/web.yaml", strings.ReplaceAll(contents(t, "plain/web.yaml"), "new", "web-v1"))
	if got := run(t, "", "diff", "--base", "old/shared", "shared"); got.code != ExitFindings || !strings.Contains(got.stdout, "web-v1:80 100 %  →  new:80 100 %\n") {
		t.Errorf("two directories: %+v", got)
	}
	if got := run(t, "", "diff", "--base", "old/plain", "shared"); got.code != ExitUsage || got.stderr != "error: one of shared and old/plain is, or holds, what .gammaguard.yaml names for all sets; compare the directory of that file with its other version\n" {
		t.Errorf("another directory: %+v", got)
	}
}

// TestPathThatIsNew: a set of files that has a PATH which the base lacks is compared, but for what only one version ignores.
func TestPathThatIsNew(t *testing.T) {
	deployed(t)
	const project = "apiVersion: gammaguard.dev/v1alpha1\nkind: CheckConfiguration\nsets: [{files: [plain]}]\n"
	put(t, ".gammaguard.yaml", project)
	put(t, "plain/old/old.yaml", strings.ReplaceAll(contents(t, "plain/web.yaml"), "web", "old"))
	commit(t)
	put(t, ".gammaguard.yaml", project+"ignore: [plain/old]\n")
	put(t, "plain/new/new.yaml", strings.ReplaceAll(contents(t, "plain/web.yaml"), "web", "new"))
	got := run(t, "", "diff", "--base-ref", "HEAD", "plain/new")
	if got.code != ExitFindings || !strings.Contains(got.stdout, "new HTTPRoute shop/new") || strings.Contains(got.stdout, "shop/old was removed") || !strings.Contains(got.stdout, "plain/old/old.yaml is not compared: ") {
		t.Errorf("%+v", got)
	}
}

func contents(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestPathInChart: a PATH that Helm makes objects of, or takes values from, stands for the chart, with a project and without one, and where
// only the base has it.
func TestPathInChart(t *testing.T) {
	deployed(t)
	put(t, "chart/templates/sub/more.yaml", strings.NewReplacer("name: web", "name: more", "web-v1", "{{ .Values.backend }}").Replace(contents(t, "plain/web.yaml")))
	put(t, "chart/ci/test.yaml", "backend: pay-v3\n")
	put(t, "chart/charts/sub/Chart.yaml", "{apiVersion: v2, name: sub, version: 1.0.0}")
	put(t, "chart/charts/sub/templates/sub.yaml", strings.ReplaceAll(contents(t, "plain/web.yaml"), "web", "sub"))
	put(t, ".gammaguard.yaml", "apiVersion: gammaguard.dev/v1alpha1\nkind: CheckConfiguration\nsets: [{chart: chart}, {chart: chart, values: [chart/values-prod.yaml]}]\n")
	commit(t)
	places := []struct{ folder, path string }{
		{"chart/templates", "."},
		{"chart/templates/sub", "../pay.yaml"},
		{".", "chart/templates/sub"},
		{"chart", "ci"},
		{"chart", "charts/sub/templates"},
		{".", "chart/charts/sub"},
		{"chart/charts/sub", "."},
		{"chart/charts", "sub/Chart.yaml"},
	}
	each := func(do func(folder string, path []string)) {
		for _, at := range places {
			do(at.folder, []string{at.path})
			if at.path == "." {
				do(at.folder, nil)
			}
		}
	}
	each(func(folder string, path []string) {
		got := runIn(t, folder, append([]string{"check"}, path...)...)
		if strings.Count(got.stdout, "\nchart ") != 2 || strings.Contains(got.stdout, "not checked") {
			t.Errorf("check %v in %s: %+v", path, folder, got)
		}
	})
	put(t, "chart/templates/pay.yaml", strings.ReplaceAll(contents(t, "chart/templates/pay.yaml"), "{{ .Values.backend }}", "new"))
	diff := func(folder string, path []string) {
		got := runIn(t, folder, append([]string{"diff", "--base-ref", "HEAD"}, path...)...)
		if got.code != ExitFindings || !strings.Contains(got.stdout, "pay-v1:80 100 %  →  new:80") || !strings.Contains(got.stdout, "pay-v2:80 100 %  →  new:80") || strings.Contains(got.stdout, "no such Service") {
			t.Errorf("diff %v in %s: %+v", path, folder, got)
		}
	}
	each(diff)
	if err := os.Remove(".gammaguard.yaml"); err != nil {
		t.Fatal(err)
	}
	each(diff)
	put(t, "chart/templates/pay.yaml", strings.ReplaceAll(contents(t, "chart/templates/pay.yaml"), "new", "{{ .Values.backend }}"))
	commit(t)
	put(t, "chart/templates/pay.yaml", strings.ReplaceAll(contents(t, "chart/templates/pay.yaml"), "{{ .Values.backend }}", "new"))
	each(diff)
	put(t, "Chart.yaml", "{apiVersion: v2, name: root, version: 1.0.0}")
	if got := run(t, "", "check", "plain"); !strings.Contains(got.stdout, "1 route in 1 file: ") {
		t.Errorf("a directory that is no part of the chart: %+v", got)
	}
}

// TestPathOfOtherProject: a project file that does not count is noted, whether it is below a PATH or above one that is not the first.
func TestPathOfOtherProject(t *testing.T) {
	deployed(t)
	put(t, "plain/.gammaguard.yaml", "failon: warn\n") // nothing reads it
	const note = "note: plain/.gammaguard.yaml: has no effect here: "
	const none, other = note + "none is in the directory of the first PATH, or above it; to use", note + "the one that counts is .gammaguard.yaml, by the first PATH; to use"
	for _, c := range []struct{ paths, want string }{{"", none}, {"base plain/web.yaml", none}, {"", other}, {"base plain/web.yaml", other}, {"base plain plain/web.yaml", other}} {
		if c.want == other {
			put(t, ".gammaguard.yaml", projectHeader)
		}
		if got := run(t, "", append([]string{"check"}, strings.Fields(c.paths)...)...); strings.Count(got.stdout, "has no effect here") != 1 || !strings.Contains(got.stdout, c.want) {
			t.Errorf("check %s: want %s in %+v", c.paths, c.want, got)
		}
	}
	put(t, "plain/.gammaguard.yaml", projectHeader)
	if got := run(t, "", "check", "plain"); strings.Contains(got.stdout, "has no effect") {
		t.Errorf("its own directory: %+v", got)
	}
	if got := run(t, "", "check", "plain", "base"); !strings.Contains(got.stdout, "note: .gammaguard.yaml: has no effect here: the one that counts is plain/.gammaguard.yaml, by the first PATH") {
		t.Errorf("in another order: %+v", got)
	}
}
