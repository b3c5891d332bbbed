package command

import (
	"os"
	"strings"
	"testing"
)

// TestPathFile: a manifest as PATH stands for those of its directory, also where only one version has it, and not for those below. What our patterns
// leave aside is no PATH, and what two PATHs lead to is named once.
func TestPathFile(t *testing.T) {
	deployed(t)
	service := strings.Split(contents(t, "plain/web.yaml"), "---\n")[0]
	other := strings.ReplaceAll(service, "name: web", "name: more")
	put(t, "plain/more.yaml", strings.ReplaceAll(contents(t, "plain/web.yaml"), "name: web", "name: more"))
	put(t, "plain/below/web.yaml", strings.ReplaceAll(contents(t, "plain/web.yaml"), "port: 80", "port: 81"))
	put(t, "plain/notes.txt", "none")
	put(t, "plain/values.yaml", "a: 1\n")
	commit(t)
	put(t, "plain/more.yaml", strings.Replace(contents(t, "plain/more.yaml"), "{port: 80}", "{port: 82}", 1))
	put(t, "plain/new.yaml", strings.ReplaceAll(other, "more", "new"))
	for _, path := range []string{"plain/web.yaml", "plain/new.yaml", "plain/values.yaml"} {
		checked, diffed := run(t, "", "check", path), run(t, "", "diff", "--base-ref", "HEAD", path)
		if !strings.HasSuffix(checked.stdout, "\n2 routes in 3 files: 3 unknown\n") {
			t.Errorf("check %s: %+v", path, checked)
		}
		if want := "1 Service, 2 changes; 1 other request class unchanged\n"; !strings.Contains(diffed.stdout, want) || strings.Contains(diffed.stdout, "shop/web ") {
			t.Errorf("diff of %s: %+v", path, diffed)
		}
	}
	if got := run(t, "", "check", "plain/notes.txt"); !strings.HasSuffix(got.stdout, "0 routes in 0 files: no findings\n") {
		t.Errorf("a file that is no manifest: %+v", got)
	}
	put(t, "plain/README.md", "# keys\n```yaml\n"+contents(t, "plain/web.yaml")+"```\n{{ x }}\n")
	put(t, "plain/README.rst", "keys::\n\n  @\n"+contents(t, "plain/web.yaml"))
	if got := run(t, "", "check", "--strict", "plain/README.md", "plain/README.rst"); got.code != ExitClean || !strings.Contains(got.stdout, "2 files that are not manifests: plain/README.md, plain/README.rst\n") {
		t.Errorf("files that quote manifests: %+v", got)
	}
	if got := run(t, "", "diff", "--base", "plain/web.yaml", "plain/more.yaml"); !strings.Contains(got.stdout, "Service shop/web is no longer in the input") {
		t.Errorf("two files: %+v", got)
	}
	if got := run(t, "", "diff", "--base", "plain", "plain/more.yaml"); got.code != ExitUsage || !strings.HasPrefix(got.stderr, "error: PATH and --base must be two files, or two directories\n") {
		t.Errorf("a file and a directory: %+v", got)
	}
	put(t, "base/more.yaml", contents(t, "plain/more.yaml"))
	if got := run(t, "", "check", "base/more.yaml", "base/kustomization.yaml", "plain/values.yaml", "plain"); !strings.Contains(got.stdout, "not checked: base/more.yaml: ") || !strings.Contains(got.stdout, "1 file that is not a manifest: plain/values.yaml\n") {
		t.Errorf("paths that overlap: %+v", got)
	}
	put(t, ".new/cart.yaml", strings.ReplaceAll(contents(t, "plain/web.yaml"), "web", "hid"))
	for _, paths := range [][]string{{".", ".new/cart.yaml"}, {".new/cart.yaml", "."}} {
		if got := run(t, "", "check", paths[0], paths[1]); !strings.Contains(got.stdout, "directory .new: 1 route\n") || strings.Contains(got.stdout, "not checked: .new") {
			t.Errorf("check %v: %+v", paths, got)
		}
	}
	put(t, ".gammaguardignore", "plain/\n")
	for _, path := range []string{"plain/web.yaml", "plain/below", "plain"} {
		if got := run(t, "", "check", "--fail-on", "warn", path, "plain"); got.code != ExitClean || !strings.Contains(got.stdout, "0 routes in 0 files: ") || strings.Count(got.stdout, "plain/web.yaml") > 1 {
			t.Errorf("ignored %s: %+v", path, got)
		}
	}
}

// TestPathFileOfCluster: a file that declares the same as others of its directory, as one for each cluster does, is without these, also where only
// one version has it.
func TestPathFileOfCluster(t *testing.T) {
	deployed(t)
	dev := contents(t, "plain/web.yaml")
	put(t, "rendered/dev.yaml", dev)
	put(t, "rendered/prod.yaml", dev)
	put(t, "rendered/shared.yaml", strings.ReplaceAll(dev, "web", "shared"))
	commit(t)
	put(t, "rendered/dev.yaml", strings.Replace(dev, "{ports", "{clusterIP: None, ports", 1))
	put(t, "rendered/new.yaml", dev)
	if got := run(t, "", "check", "rendered/dev.yaml"); got.code != ExitFindings || !strings.Contains(got.stdout, "parent-headless") || strings.Contains(got.stdout, "object-duplicate") || !strings.Contains(got.stdout, "\n2 routes in 2 files: ") ||
		!strings.Contains(got.stdout, "note: rendered/new.yaml: left aside, with 1 other file: rendered/prod.yaml; a PATH beside declares the same route") {
		t.Errorf("check: %+v", got)
	}
	if got := run(t, "", "diff", "--base-ref", "HEAD", "rendered/dev.yaml"); !strings.Contains(got.stdout, "1 Service, 1 change; 1 other ") || strings.Contains(got.stdout, "not compared") || !strings.Contains(got.stdout, "note: rendered/new.yaml: left aside, with ") {
		t.Errorf("diff: %+v", got)
	}
	if got := run(t, "", "diff", "--base-ref", "HEAD", "rendered/new.yaml"); !strings.Contains(got.stdout, "Service shop/web is not in the base") || strings.Contains(got.stdout, "not compared") || strings.Contains(got.stdout, "removed") {
		t.Errorf("diff of a new one: %+v", got)
	}
}

// TestPathFileOfAll: a file without routes that declares nothing of those beside it is common to them: as a PATH with one of them, it stands for the others,
// too.
func TestPathFileOfAll(t *testing.T) {
	deployed(t)
	service, route, _ := strings.Cut(contents(t, "plain/web.yaml"), "---\n")
	for name, test := range map[string]struct {
		common string
		denied bool
	}{
		"common to all":  {service + "---\n" + strings.ReplaceAll(service, "web", "more"), true},
		"of one of them": {service + "---\n" + strings.ReplaceAll(service, "web", "own"), false},
	} {
		put(t, "envs/common.yaml", test.common)
		put(t, "envs/dev.yaml", route)
		put(t, "envs/services.yaml", strings.ReplaceAll(service, "web", "own"))
		put(t, "envs/prod.yaml", strings.Replace(route, "Service, name: web", "Service, name: own", 1))
		commit(t)
		put(t, "envs/common.yaml", strings.Replace(test.common, "{ports", "{clusterIP: None, ports", 1))
		if got := run(t, "", "check", "envs/common.yaml", "envs/prod.yaml"); (got.code == ExitFindings) != test.denied || strings.Contains(got.stdout, "left aside") == test.denied {
			t.Errorf("%s: check: %+v", name, got)
		}
		put(t, "envs/prod.yaml", strings.Replace(contents(t, "envs/prod.yaml"), "web-v1", "web-v2", 1))
		if got := run(t, "", "diff", "--base-ref", "HEAD", "envs/common.yaml", "envs/prod.yaml"); strings.Contains(got.stdout, "left aside") == test.denied {
			t.Errorf("%s: diff: %+v", name, got)
		}
	}
}

// TestPathFileWins: what a PATH declares counts, and not what another file of its directory declares. A file that one version leaves aside is left aside in
// both.
func TestPathFileWins(t *testing.T) {
	deployed(t)
	web := contents(t, "plain/web.yaml")
	service, route, _ := strings.Cut(web, "---\n")
	put(t, "envs/dev.yaml", web+"---\n"+strings.ReplaceAll(web, "web", "new")+"---\n"+strings.ReplaceAll(web, "web", "next"))
	put(t, "envs/prod.yaml", web)
	put(t, "same/web.yaml", service)
	put(t, "same/all.yaml", service+"---\n"+route)
	put(t, "more/dev.yaml", service)
	put(t, "more/prod.yaml", web)
	commit(t)
	for _, path := range []string{"envs/dev.yaml", "envs/prod.yaml"} {
		was := contents(t, path)
		put(t, path, strings.Replace(was, "name: web-v1", "name: web-v2", 1))
		if got := run(t, "", "diff", "--base-ref", "HEAD", path); !strings.Contains(got.stdout, "  any  web-v1:80 100 %  →  web-v2:80 100 %\n") || !strings.Contains(got.stdout, "left aside; ") {
			t.Errorf("diff %s: %+v", path, got)
		}
		put(t, path, was)
	}
	put(t, "same/web.yaml", strings.Replace(service, "{ports", "{clusterIP: None, ports", 1))
	if got := run(t, "", "check", "same/web.yaml"); got.code != ExitFindings || !strings.Contains(got.stdout, "parent-headless") {
		t.Errorf("check: %+v", got)
	}
	put(t, "more/dev.yaml", strings.ReplaceAll(web, "web-v1", "web-v2"))
	if got := run(t, "", "diff", "--base-ref", "HEAD", "more/dev.yaml"); !strings.Contains(got.stdout, "note: more/prod.yaml: left aside; ") || strings.Contains(got.stdout, "HEAD:") || strings.Contains(got.stdout, "may hold routes") || !strings.Contains(got.stdout, "web:80 100 %  →  web-v2:80 100 % (new HTTPRoute shop/web)") {
		t.Errorf("diff of one more: %+v", got)
	}
}

// TestPathFileOfNoSets: a file that is left aside is so in a version whose project names the directory as a set, too.
func TestPathFileOfNoSets(t *testing.T) {
	deployed(t)
	put(t, ".gammaguard.yaml", projectHeader+"sets: [{files: [plain]}]\n")
	commit(t)
	if err := os.Remove(".gammaguard.yaml"); err != nil {
		t.Fatal(err)
	}
	put(t, "plain/new.yaml", contents(t, "plain/web.yaml"))
	if got := run(t, "", "diff", "--base-ref", "HEAD", "plain/new.yaml"); got.code == ExitUsage || !strings.Contains(got.stdout, "note: plain/web.yaml: left aside; ") {
		t.Errorf("%+v", got)
	}
}

// TestPathFileWithTheSame: what has no route of a PATH is read, though it declares something else of it.
func TestPathFileWithTheSame(t *testing.T) {
	deployed(t)
	const namespace = "{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {gammaguard.dev/grant: all}}}\n---\n"
	service, route, _ := strings.Cut(contents(t, "plain/web.yaml"), "---\n")
	for name, test := range map[string][2]string{
		"a Namespace in each": {namespace + service, namespace + route},
		"a Service twice":     {namespace + service + "---\n" + strings.ReplaceAll(service, "web", "more"), service + "---\n" + route},
		"a ConfigMap twice":   {"{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n---\n" + service, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n---\n" + namespace + route},
	} {
		put(t, "same/a.yaml", strings.Replace(test[0], "{ports", "{clusterIP: None, ports", 1))
		put(t, "same/b.yaml", test[1])
		for _, path := range []string{"same/a.yaml", "same/b.yaml"} {
			if got := run(t, "", "check", path); !strings.Contains(got.stdout, "in 2 files: ") || strings.Contains(got.stdout, "left aside") {
				t.Errorf("%s: check %s: %+v", name, path, got)
			}
		}
	}
}

// TestPathFileLeftAside: of the directory of a PATH, diff leaves out what only one version leaves aside, and check reads what git ignores if it ignores the
// PATH, too.
func TestPathFileLeftAside(t *testing.T) {
	deployed(t)
	put(t, "plain/more.yaml", strings.ReplaceAll(contents(t, "plain/web.yaml"), "web", "more"))
	put(t, "build/a/web.yaml", strings.ReplaceAll(contents(t, "plain/web.yaml"), "web", "a"))
	put(t, "build/a/more.yaml", strings.ReplaceAll(contents(t, "plain/web.yaml"), "web", "b"))
	commit(t)
	put(t, ".gammaguardignore", "plain/\n")
	put(t, ".gitignore", "build/\n")
	put(t, "plain/more.yaml", strings.ReplaceAll(contents(t, "plain/more.yaml"), "more-v1", "more-v2"))
	if got := run(t, "", "diff", "--base-ref", "HEAD", ".gammaguardignore", "plain/more.yaml"); got.code != ExitClean || strings.Contains(got.stdout, "no such Service") || !strings.Contains(got.stdout, "not compared") {
		t.Errorf("diff: %+v", got)
	}
	if got := run(t, "", "check", ".gammaguardignore"); !strings.Contains(got.stdout, "its pattern \"plain/\" ignores 2 files") || strings.Contains(got.stdout, "not a manifest") {
		t.Errorf("the patterns: %+v", got)
	}
	for _, path := range []string{"build/a/web.yaml", "build", "build/a"} {
		if got := run(t, "", "check", path); !strings.Contains(got.stdout, "\n2 routes in 2 files: ") {
			t.Errorf("check %s: %+v", path, got)
		}
	}
	if got := runIn(t, "build/a", "check"); !strings.Contains(got.stdout, "\n2 routes in 2 files: ") {
		t.Errorf("check there: %+v", got)
	}
	if got := run(t, "", "diff", "--base-ref", "HEAD", "build/a/web.yaml"); got.code != ExitClean || !strings.Contains(got.stdout, "no change; 2 request classes unchanged") {
		t.Errorf("diff of what git ignores: %+v", got)
	}
}
