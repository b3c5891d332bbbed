//go:build unix

package repositories

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const (
	services = "{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: shop}, spec: {ports: [{port: 80}]}}\n"
	route    = "{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: cart, namespace: shop}, spec: {parentRefs: [{group: \"\", kind: Service, name: cart}]}}\n"
	chart    = "apiVersion: v2\nname: shop\nversion: 1.0.0\n"
	project  = "apiVersion: gammaguard.dev/v1alpha1\nkind: CheckConfiguration\n"
	// secret is what a repository must not learn: it is the name of a route outside.
	secret = "s3cr3t-of-the-runner"
)

// ground is what a repository stands on.
type ground struct {
	t *testing.T
	// root is the repository's, outside is next to it, and marker is written by what must not run.
	root, outside, marker string
	// url is the listener's, and address its address.
	url, address string
}

// put writes a file of the repository. In the text, URL, GIT and RAN are what they stand for.
func (g *ground) put(name, text string) {
	g.t.Helper()
	path := filepath.Join(g.root, filepath.FromSlash(name))
	text = strings.NewReplacer("URL", g.url, "ADDRESS", g.address, "RAN", g.marker, "OUTSIDE", g.outside).Replace(text)
	g.must(os.MkdirAll(filepath.Dir(path), 0o750))
	g.must(os.WriteFile(path, []byte(text), 0o600))
}

func (g *ground) link(name, target string) {
	g.t.Helper()
	path := filepath.Join(g.root, filepath.FromSlash(name))
	g.must(os.MkdirAll(filepath.Dir(path), 0o750))
	g.must(os.Symlink(target, path))
}

// large writes a file of 1 GiB, which takes no room.
func (g *ground) large(name, text string) {
	g.t.Helper()
	g.put(name, text)
	g.must(os.Truncate(filepath.Join(g.root, filepath.FromSlash(name)), 1<<30))
}

func (g *ground) git(args ...string) string {
	g.t.Helper()
	return g.gitWith("", args...)
}

// gitWith runs git with an input, and returns what it prints.
func (g *ground) gitWith(input string, args ...string) string {
	g.t.Helper()
	args = append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false", "-C", g.root}, args...)
	cmd := exec.CommandContext(g.t.Context(), "git", args...)
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	if err != nil {
		g.t.Fatalf("%v: %s", err, out)
	}
	return strings.TrimSpace(string(out))
}

func (g *ground) must(err error) {
	g.t.Helper()
	must(g.t, err)
}

// repository is a repository of an attacker.
type repository struct {
	name string
	make func(g *ground)
	// says is part of what check says of it, and code the exit code.
	says string
	code int
	// paths are for -f, -k and --helm; fix is for check --fix -f.
	files, kustomization, chart, fix string
}

// withTemplate makes a chart.
func withTemplate(template string) func(g *ground) {
	return func(g *ground) {
		g.put("chart/Chart.yaml", chart)
		g.put("chart/templates/a.yaml", template)
	}
}

// withKustomization makes a kustomization beside a manifest and a generator.
func withKustomization(text string) func(g *ground) {
	return func(g *ground) {
		g.put("app/kustomization.yaml", text)
		g.put("app/routes.yaml", services+"---\n"+route)
		g.put("app/generator.yaml", "apiVersion: builtin\nkind: ConfigMapGenerator\nmetadata: {name: a}\nfiles: ['URL/generated']\n")
	}
}

const (
	notInRepository = "not checked: kustomization app: needs what is not in the repository"
	outsideIt       = "is outside the repository"
	tooLarge        = "is larger than 16 MiB"
)

// kustomizations name what is remote, each in a way of its own.
var kustomizations = map[string]string{
	"exec":           "resources: ['file:///nowhere.git?ref=--upload-pack=touch RAN%3Bfalse']\n",
	"exec component": "components: ['file:///nowhere.git?ref=--upload-pack=touch RAN%3Bfalse']\n",
	"URL":            "resources: ['URL/a.yaml']\n",
	"git":            "resources: ['URL/a//b?ref=main']\n",
	"git protocol":   "resources: ['git::file://ADDRESS/a.git', 'ssh://ADDRESS/a']\n",
	"generated":      "configMapGenerator: [{name: a, files: ['a=URL/a']}]\n",
	"configuration":  "resources: [routes.yaml]\nconfigurations: ['URL/a']\n",
	"openapi":        "openapi: {path: 'URL/a'}\n",
	"patch":          "resources: [routes.yaml]\npatches: [{path: 'URL/a', target: {kind: Service}}]\n",
	"generator":      "generators: [generator.yaml]\n",
	"replacement":    "resources: [routes.yaml]\nreplacements: [{path: 'URL/a'}]\n",
}

// tests are files of tests that name what is outside or remote, or would give git an option, or take for ever.
var tests = map[string]string{
	"outside":  "input: {files: [../../outside]}\n",
	"link":     "input: {files: [../linked/outside.yaml]}\n",
	"remote":   "input: {kustomization: ../app}\n",
	"option":   `tests: [{name: a, request: {service: shop/cart, port: 80}, expect: {asInRevision: "--output=RAN"}}]` + "\n",
	"revision": `tests: [{name: a, request: {service: shop/cart, port: 80}, expect: {asInRevision: HEAD}}]` + "\n",
	"aliases":  "a: &a [x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a]\nc: &c [*b, *b, *b, *b, *b, *b, *b, *b]\nd: [*c, *c, *c, *c, *c, *c]\n", //nolint:dupword // they are
}

// withTests makes a file of tests beside manifests, and what it may name.
func withTests(text string) func(g *ground) {
	return func(g *ground) {
		g.put("m/routes.yaml", services+"---\n"+route)
		if !strings.Contains(text, "tests:") {
			text += "tests: [{name: a, request: {service: shop/cart, port: 80}, expect: {status: 404}}]\n"
		}
		g.put("m/gammaguard-test.yaml", "apiVersion: gammaguard.dev/v1alpha1\nkind: TrafficTest\n"+text)
		g.put("app/kustomization.yaml", kustomizations["exec"])
		g.link("linked", g.outside)
	}
}

// repositories returns all of them.
func repositories() []repository {
	all := []repository{
		{name: "links", make: links, code: 1, files: ".", kustomization: "app", chart: "chart", fix: "fixed.yaml"},
		{name: "link to a folder", make: func(g *ground) {
			g.put("app/kustomization.yaml", "resources: [../linked]\n")
			g.link("linked", g.outside)
		}, says: outsideIt, code: 1, kustomization: "app"},
		{name: "kustomization outside", make: withKustomization("resources: [../../outside]\n"), says: outsideIt, code: 1, kustomization: "app"},
		{name: "files of a chart", make: func(g *ground) {
			withTemplate("{{ .Files.Get \"secret\" }}")(g)
			g.link("chart/secret", filepath.Join(g.outside, "outside.yaml"))
		}, says: outsideIt, code: 1, chart: "chart"},
		{name: "links in a chart", make: func(g *ground) {
			withTemplate("a: b")(g)
			g.link("chart/a", ".")
			g.link("chart/b", ".")
		}, says: "is a link to a directory that it is in", code: 1, chart: "chart"},
		{name: "sets outside", make: func(g *ground) { g.put(".gammaguard.yaml", project+"sets: [{files: [../outside]}]\n") }, says: outsideIt, code: 2},
		{name: "sets by a link", make: func(g *ground) {
			g.put(".gammaguard.yaml", project+"sets: [{files: [linked/outside.yaml]}]\n")
			g.link("linked", g.outside)
		}, says: outsideIt, code: 2},
		{name: "context outside", make: func(g *ground) {
			g.put("m/routes.yaml", services+"---\n"+route)
			g.put(".gammaguard.yaml", project+"context: [../outside]\n")
		}, says: outsideIt, code: 2, files: "m"},
		{name: "context by a link", make: func(g *ground) {
			g.put("m/routes.yaml", services+"---\n"+route)
			g.put(".gammaguard.yaml", project+"context: [linked/outside.yaml]\n")
			g.link("linked", g.outside)
		}, says: outsideIt, code: 2, files: "m"},
		{name: "a link in the context", make: func(g *ground) {
			g.put("m/routes.yaml", services+"---\n"+route)
			g.put(".gammaguard.yaml", project+"context: [c]\n")
			g.link("c/outside.yaml", filepath.Join(g.outside, "outside.yaml"))
		}, says: outsideIt, code: 2, files: "m"},
		{name: "a revision that leaves", make: func(g *ground) {
			g.put("m/routes.yaml", services+"---\n"+route)
			g.put(".gammaguard.yaml", project+"context: [../outside]\nsets: [{files: [../outside]}]\n")
			g.link("k/outside.yaml", filepath.Join(g.outside, "outside.yaml"))
			g.git("add", ".")
			g.git("commit", "--quiet", "--message=a")
			g.must(os.Remove(filepath.Join(g.root, ".gammaguard.yaml")))
		}, says: "1 route", code: 0},
		{name: "configuration outside", make: func(g *ground) { g.put(".gammaguard.yaml", project+"configuration: OUTSIDE/outside.yaml\n") }, says: "", code: 2},
		{name: "configuration by a link", make: func(g *ground) {
			g.put(".gammaguard.yaml", project+"configuration: guard.yaml\n")
			g.link("guard.yaml", filepath.Join(g.outside, "outside.yaml"))
		}, says: outsideIt, code: 2},
		{name: "values outside", make: func(g *ground) {
			withTemplate("{{ toYaml .Values }}")(g)
			g.put(".gammaguard.yaml", project+"sets: [{chart: chart, values: [../outside/outside.yaml]}]\n")
		}, says: outsideIt, code: 2},
		{name: "project is a device", make: func(g *ground) { g.link(".gammaguard.yaml", "/dev/zero") }, says: outsideIt, code: 2},
		{name: "links in the place of reports", make: func(g *ground) {
			g.put("m/routes.yaml", services+"---\n"+route)
			for _, name := range []string{"gammaguard.sarif", "gl-code-quality-report.json", "gammaguard.xml"} {
				g.link(name, filepath.Join(g.outside, "outside.yaml"))
			}
		}, says: "1 route", code: 0, files: "m"},
		{name: "ignored", make: ignored, says: "m/evil.yaml: ignored by .gitignore, and may hold routes", code: 0},
		{name: "taken away", make: takenAway, says: "not checked: a/evil.yaml: holds routes that no set has", code: 1, files: "b"},
		{name: "definition", make: definition, says: "is not one that gammaguard is built with, and is used without its CEL rules", code: 0, files: "m"},
		{name: "1 GiB", make: func(g *ground) {
			g.large("m/routes.yaml", route)
			g.large(".gitignore", "x\n")
			g.large("app/kustomization.yaml", "resources: []\n")
			g.put("chart/Chart.yaml", chart)
			g.large("chart/values.yaml", "a: b\n")
		}, says: tooLarge, code: 1, files: "m", kustomization: "app", chart: "chart"},
		{name: "kustomizations that lead back", make: func(g *ground) {
			g.put("app/kustomization.yaml", "resources: [../a/link]\n")
			g.link("a/link", "../real/deep")
			g.put("real/deep/kustomization.yaml", "resources: [../x]\n")
			g.put("real/x/kustomization.yaml", "resources: [routes.yaml]\n")
			g.put("real/x/routes.yaml", services+"---\n"+route)
			g.put("a/x/kustomization.yaml", "resources: [../x]\n")
		}, says: "kustomization app: 1 route", code: 1, kustomization: "app"},
		{name: "a long error", make: withTemplate(`{{ fail (repeat 2000000 "x") }}`), says: "xx ... xx", code: 0, chart: "chart"},
		{name: "standard input", make: func(g *ground) {
			g.put("-", services+"---\n"+route)
			g.put(".gammaguard.yaml", project+"sets: [{files: ['-']}]\n")
		}, says: "1 route", code: 0},
		{name: "repeat", make: withTemplate(`{{ repeat 2000000000 "a" }}`), says: "building takes ", code: 1, chart: "chart"},
		{name: "until", make: withTemplate(`{{ until 2000000000 }}`), says: "building takes ", code: 1},
		{name: "directives", make: directives, says: "more than 16 directives", code: 1, files: "m", kustomization: "app", chart: "chart"},
		{name: "long names", make: func(g *ground) {
			withTemplate(`{{ range $i := until 10 }}---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: "{{ repeat 500000 "A" }}{{ $i }}", namespace: s}, spec: {parentRefs: [{group: "", kind: Service, name: "{{ repeat 500000 "B" }}"}]}}
{{ end }}`)(g)
			g.put("chart/ci/a.yaml", "a: b\n")
		}, says: "is longer than 1024 bytes", code: 1, chart: "chart"},
		{name: "values", make: values, says: "more than 2097152 values", code: 1, files: "m", kustomization: "app", chart: "chart"},
		{name: "names in git", make: names, says: "1 route", code: 0, files: "m"},
		{name: "settings of git", make: hostileGit, says: "1 route", code: 0, files: ".", kustomization: "app"},
	}
	for name, text := range kustomizations {
		all = append(all, repository{name: "remote " + name, make: withKustomization(text), says: notInRepository, kustomization: "app"})
	}
	for name, text := range tests {
		r := repository{name: "tests " + name, make: withTests(text), says: notInRepository, files: "m"}
		if name == "aliases" {
			r.code = 1 // it is no manifest that can be read
		}
		all = append(all, r)
	}
	return append(all, repository{name: "tests by links", make: func(g *ground) {
		g.put("m/routes.yaml", services+"---\n"+route)
		g.link("a/gammaguard-test.yaml", filepath.Join(g.outside, "outside.yaml"))
		g.link("b/gammaguard-test.yaml", "/dev/zero")
		g.link("c", ".")
		g.must(os.MkdirAll(filepath.Join(g.root, "d"), 0o750))
		g.must(syscall.Mkfifo(filepath.Join(g.root, "d", "gammaguard-test.yaml"), 0o600))
	}, says: "1 route", files: "m"})
}

// links are to devices and out of the repository, and a pipe that nobody writes to.
func links(g *ground) {
	for name, target := range map[string]string{
		"m/zero.yaml": "/dev/zero", "m/stdin.yaml": "/dev/stdin", "m/outside.yaml": filepath.Join(g.outside, "outside.yaml"),
		"fixed.yaml": filepath.Join(g.outside, "fixed.yaml"), "app/kustomization.yaml": "/dev/zero", "m/folder.yaml": g.outside,
		"chart/values.yaml": "/dev/zero", ".gammaguardignore": "/dev/zero",
	} {
		g.link(name, target)
	}
	g.put("chart/Chart.yaml", chart)
	g.must(syscall.Mkfifo(filepath.Join(g.root, "m", "pipe.yaml"), 0o600))
	g.put("m/good.yaml", services+"---\n"+route)
}

// directives are so many that a parser compares them with each other for minutes.
func directives(g *ground) {
	var tags strings.Builder
	for i := range 200_000 {
		fmt.Fprintf(&tags, "%%TAG !%x! b\n", i)
	}
	g.put("m/routes.yaml", "# apiVersion: x gateway.networking.k8s.io\n# kind: y\n"+tags.String()+"--- {a: b}\n")
	g.put("app/kustomization.yaml", "resources: [routes.yaml]\npatches: [{path: patch.yaml, target: {kind: HTTPRoute}}]\n")
	g.put("app/routes.yaml", services+"---\n"+route)
	g.put("app/patch.yaml", tags.String()+"--- [{op: add, path: /metadata/labels, value: {a: b}}]\n")
	g.put("named/kustomization.yaml", tags.String()+"--- {resources: []}\n")
	g.put("chart/Chart.yaml", chart)
	g.put("chart/values.yaml", tags.String()+"--- {a: b}\n")
	g.put("chart/templates/a.yaml", route)
}

// values are so many that nodes for all of them take gigabytes.
func values(g *ground) {
	many := "a: [" + strings.Repeat("a,", 100_000) + "]\n"
	for i := range 3 {
		g.put(fmt.Sprintf("m/%02d.yaml", i), fmt.Sprintf("apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: r%d}\n%s", i, many))
	}
	tooMany := "a: [" + strings.Repeat("a,", 8<<20-8) + "]\n"
	g.put("app/kustomization.yaml", "resources: [routes.yaml]\npatches: [{path: patch.yaml, target: {kind: HTTPRoute}}]\n")
	g.put("app/routes.yaml", services+"---\n"+route)
	g.put("app/patch.yaml", tooMany)
	g.put("chart/Chart.yaml", chart)
	g.put("chart/values.yaml", tooMany)
	g.put("chart/templates/a.yaml", route)
	g.put("large/a.yaml", "# gateway.networking.k8s.io\napiVersion: v1\nkind: ConfigMap\n"+tooMany[:16<<20-100]+"]\n")
}

// names is a small tree that stands for 2 GB of names.
func names(g *ground) {
	g.put("m/routes.yaml", services+"---\n"+route)
	g.git("add", ".")
	tree := g.git("write-tree")
	empty := g.gitWith("", "hash-object", "-w", "--stdin")
	bomb := g.gitWith("100644 blob "+empty+"\t"+strings.Repeat("f", 20_000)+"\n", "mktree")
	for range 5 {
		var level strings.Builder
		for i := range 10 {
			fmt.Fprintf(&level, "040000 tree %s\t%d\n", bomb, i)
		}
		bomb = g.gitWith(level.String(), "mktree")
	}
	tree = g.gitWith(g.git("ls-tree", tree)+"\n040000 tree "+bomb+"\tbomb\n", "mktree")
	g.git("update-ref", "HEAD", g.git("commit-tree", "-m", "first", tree))
}

// ignored are tracked files that .gitignore names.
func ignored(g *ground) {
	g.put("m/evil.yaml", route)
	g.put(".gitignore", "m/\n")
	g.git("add", "-f", ".")
}

// takenAway adds what has once kept manifests from being read.
func takenAway(g *ground) {
	for _, folder := range []string{"a", "b", "c", "d", "e"} {
		g.put(folder+"/evil.yaml", route)
	}
	g.put("a/kustomization.yaml", "resources: []\ncommonAnnotations: {a: evil.yaml, b: ../b/evil.yaml}\n")
	g.put("b/Chart.yaml", chart)
	g.put("c/kustomization.yaml", "resources: [evil.yaml, ../d]\n")
	g.put("d/kustomization.yaml", "resources: [evil.yaml, ../c]\n")
	g.put("e/braces.yaml", "# {{\n"+route+"---\n}\n")
	g.put("vendor/evil.yaml", route)
	g.put(".gammaguard.yaml", project+"ignore: [e/evil.yaml]\n")
}

// definition is one of routes whose rules would take hours for a thousand routes.
func definition(g *ground) {
	rule := strings.Repeat("[1,2,3,4,5,6,7,8,9,0].all(x, ", 5) + "true" + strings.Repeat(")", 5)
	g.put("m/crd.yaml", "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: httproutes.gateway.networking.k8s.io}\n"+
		"spec:\n  group: gateway.networking.k8s.io\n  scope: Namespaced\n  names: {kind: HTTPRoute, plural: httproutes}\n"+
		"  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true, x-kubernetes-validations: [{rule: '"+rule+"'}]}}}]\n")
	var routes strings.Builder
	for i := range 1000 {
		routes.WriteString("---\n" + strings.ReplaceAll(route, "name: cart, namespace", fmt.Sprintf("name: cart%d, namespace", i)))
	}
	g.put("m/routes.yaml", services+routes.String())
}

// hostileGit is a repository whose configuration starts programs, and fetches.
func hostileGit(g *ground) {
	withKustomization("resources: [routes.yaml]\n")(g)
	g.put(".gitattributes", "* filter=x diff=x\n")
	g.git("add", ".")
	g.git("commit", "--quiet", "-m", "first")
	run := "touch " + g.marker + "; cat"
	config := fmt.Sprintf("[core]\n\tfsmonitor = %[1]q\n\tsshCommand = %[1]q\n\tpager = %[1]q\n[filter \"x\"]\n\tsmudge = %[1]q\n\tclean = %[1]q\n\trequired = true\n"+
		"[diff \"x\"]\n\ttextconv = %[1]q\n[extensions]\n\tpartialClone = origin\n[remote \"origin\"]\n\turl = %[2]s\n\tpromisor = true\n", run, g.url)
	path := filepath.Join(g.root, ".git", "config")
	text, err := os.ReadFile(path)
	g.must(err)
	g.must(os.WriteFile(path, append(text, config...), 0o600))
	g.must(os.MkdirAll(filepath.Join(g.root, ".git", "hooks"), 0o750))
	g.must(os.WriteFile(filepath.Join(g.root, ".git", "hooks", "post-checkout"), []byte("#!/bin/sh\n"+run+"\n"), 0o700)) //nolint:gosec // a hook is run
}
