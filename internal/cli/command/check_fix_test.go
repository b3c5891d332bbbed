package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCheckFix: the files are fixed, nothing else in them changes, and files
// without changes are not written.
func TestCheckFix(t *testing.T) {
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS(shop)); err != nil {
		t.Fatal(err)
	}
	fixed, other := filepath.Join(folder, "routes", "cart.yaml"), filepath.Join(folder, "services.yaml")
	if err := os.Chmod(fixed, 0o640); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(folder, "link.yaml")
	if err := os.Symlink(fixed, link); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(other)
	if err != nil {
		t.Fatal(err)
	}
	r, got := checkJSON(t, "", "-f", other, "-f", link, "--fix", "--fail-on", "never")
	if got.code != ExitClean || r.Summary.Changes != 0 || r.Summary.Fixed != 2 {
		t.Errorf("%+v", got)
	}
	text, err := os.ReadFile(fixed)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "cart.fixed.yaml", string(text))
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is no link any more: %v", err)
	}
	if info, err := os.Stat(fixed); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the file's mode has changed: %v", err)
	}
	if after, err := os.Stat(other); err != nil || !os.SameFile(before, after) || after.ModTime() != before.ModTime() {
		t.Errorf("a file without changes was written: %v", err)
	}
	text2 := run(t, "", "check", "-f", folder, "--fix", "--fail-on", "warn")
	if !strings.Contains(text2.stdout, "broken") || strings.Contains(text2.stdout, "fixed") {
		t.Errorf("a second run fixes again: %s", text2.stdout)
	}
	entries, err := os.ReadDir(filepath.Join(folder, "routes"))
	if err != nil || len(entries) != 3 {
		t.Errorf("temporary files are left: %v %v", entries, err)
	}
}

// TestCheckFixRefused: a change that cannot be written says why, and keeps no other from it.
func TestCheckFixRefused(t *testing.T) {
	folder := t.TempDir()
	const route = "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: %}\nspec:\n  parentRefs:\n"
	texts := map[string]string{
		"a.yaml": strings.Replace(route, "%", "a", 1) + "  - {kind: Service, name: x}\n",
		"b.yaml": strings.Replace(route, "%", "b", 1) + "  - kind: Service\n    name: x\n    group: >-\n      core\n",
	}
	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got := run(t, "", "check", "-f", folder, "--fix")
	want := "not fixed  " + filepath.Join(folder, "b.yaml") + ":8  HTTPRoute default/b  spec.parentRefs[0].group: the value is not in a form that --fix can edit: write it on one line\n"
	if got.code != ExitClean || got.stderr != "" || !strings.Contains(got.stdout, want) || !strings.Contains(got.stdout, "1 change, 3 unknown, 1 fixed") {
		t.Errorf("%+v", got)
	}
	texts["a.yaml"] = strings.Replace(texts["a.yaml"], "{kind: Service, ", `{kind: Service, group: "", `, 1)
	for name, want := range texts {
		if text, err := os.ReadFile(filepath.Join(folder, name)); err != nil || string(text) != want {
			t.Errorf("%s: %s %v", name, text, err)
		}
	}
}

// TestCheckFixWithheld: a change that --fix cannot write, and the webhook does not make, is reported as without --fix.
func TestCheckFixWithheld(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.yaml")
	if err := os.WriteFile(file, []byte("apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: a}\nspec:\n  parentRefs:\n  - kind: Service\n    name: x\n    group: >-\n      core\n"+
		"---\n{apiVersion: v1, kind: Namespace, metadata: {name: default, labels: {gammaguard.dev/mode: warn}}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	without, _ := checkJSON(t, "", "-f", file)
	with, _ := checkJSON(t, "", "-f", file, "--fix")
	if diff := cmp.Diff(without.Routes, with.Routes); diff != "" || len(with.Routes[0].Withheld) != 1 || len(with.NotFixed) != 1 {
		t.Errorf("%+v (-without +with)\n%s", with.NotFixed, diff)
	}
}

// TestCheckFixSets: --fix writes into the sources of kustomizations and the plain files of charts, and says of each
// other change why not.
func TestCheckFixSets(t *testing.T) {
	route := func(name, ref string) string {
		return "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: " + name + ", namespace: shop}\nspec:\n  parentRefs: [" + ref + "] # keep\n"
	}
	const ref, fixed = "{kind: Service, name: cart}", "{kind: Service, group: \"\", name: cart}"
	files := map[string]string{
		"base/kustomization.yaml":   "resources: [a.yaml, b.yaml]\n",
		"base/a.yaml":               route("a", ref),
		"base/b.yaml":               route("b", ref),
		"prod/kustomization.yaml":   "resources: [../base]\nnamePrefix: prod-\npatches: [{path: patch.yaml}]\n",
		"prod/patch.yaml":           route("b", "{kind: Service, name: cart, port: 80}"),
		"test/kustomization.yaml":   "resources: [../base]\n",
		"chart/Chart.yaml":          "{apiVersion: v2, name: c, version: 1.0.0}\n",
		"chart/values.yaml":         "kind: Service\n",
		"chart/values-prod.yaml":    "kind: Service\n",
		"chart/templates/c.yaml":    route("c", ref),
		"chart/templates/made.yaml": route("d", "{kind: {{ .Values.kind }}, name: cart}"),
		"chart/templates/two.yaml":  "# {{ .Release.Name }}\n" + route("e", ref),
	}
	folder := written(t, files)
	got := runIn(t, folder, "check", "--fix")
	for _, want := range []string{
		"fixed  base/a.yaml:5  HTTPRoute shop/prod-a  set spec.parentRefs[0].group",
		"not fixed  prod/patch.yaml:5  HTTPRoute shop/prod-b  spec.parentRefs[0].group: it is set here, not in base/b.yaml; write it here\n",
		"fixed  chart/templates/c.yaml:5  HTTPRoute shop/c  set spec.parentRefs[0].group",
		"not fixed  chart/templates/made.yaml:5  HTTPRoute shop/d  spec.parentRefs[0].group: a template makes it; change the template or the values\n",
		" 4 fixed",
	} {
		if !strings.Contains(got.stdout, want) || got.stderr != "" {
			t.Errorf("no %q in %+v", want, got)
		}
	}
	for name, text := range files {
		switch name {
		case "base/a.yaml", "base/b.yaml", "chart/templates/c.yaml", "chart/templates/two.yaml":
			text = strings.Replace(text, ref, fixed, 1)
		}
		if now, err := os.ReadFile(filepath.Join(folder, name)); err != nil || string(now) != text {
			t.Errorf("%s: %s %v", name, now, err)
		}
	}
	if got := runIn(t, folder, "check", "-k", "prod", "--fix", "-o", "json"); !strings.Contains(got.stdout, `"notFixed"`) || strings.Contains(got.stdout, `"fixed":  [`) {
		t.Errorf("-k: %+v", got)
	}
}

// TestCheckFixShared: what one set lets --fix write into a base is there for all sets, and a name that kustomize changes in
// references keeps nothing from being written.
func TestCheckFixShared(t *testing.T) {
	const base = "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: cart}\nspec:\n  parentRefs: [{kind: Service, name: cart}]\n" +
		"---\n{apiVersion: v1, kind: Service, metadata: {name: cart}, spec: {ports: [{port: 80}]}}\n"
	const patch = "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: cart}\nspec:\n  rules: [{backendRefs: [{name: cart, port: 80}]}]\n" +
		"  parentRefs: [{group: null, kind: Service, name: cart, port: 80}]\n"
	names := nameReferences(t)
	for name, test := range map[string]struct {
		sets  map[string]string
		want  []string
		lacks []string
	}{
		"names alone": {
			map[string]string{"dev/kustomization.yaml": "resources: [../base]\nnamespace: shop\nnamePrefix: dev-\nconfigurations: [names.yaml]\n", "dev/names.yaml": names},
			[]string{"fixed  base/a.yaml:5  HTTPRoute shop/dev-cart  set", " 1 fixed\n"},
			[]string{"not fixed", "change"},
		},
		"another set shows it": {
			map[string]string{
				"dev/kustomization.yaml":  "resources: [../base]\nnamespace: dev\npatches: [{path: patch.yaml}]\n",
				"dev/patch.yaml":          strings.Replace(patch, "group: null, ", "", 1),
				"prod/kustomization.yaml": "resources: [../base]\nnamespace: shop\n",
			},
			[]string{"fixed  base/a.yaml:5  HTTPRoute shop/cart  set", "not fixed  dev/patch.yaml:6  HTTPRoute dev/cart", "1 change, "},
			nil,
		},
		"a replacement keeps another from it": {
			map[string]string{
				"dev/kustomization.yaml": "resources: [../base]\nnamespace: dev\nreplacements: [{source: {kind: Service, fieldPath: metadata.namespace}, " +
					"targets: [{select: {kind: HTTPRoute}, fieldPaths: [spec.parentRefs.0.namespace], options: {create: true}}]}]\n",
				"prod/kustomization.yaml": "resources: [../base]\nnamespace: shop\n",
			},
			[]string{"fixed  base/a.yaml:5  HTTPRoute shop/cart  set", " 1 fixed\n"},
			[]string{"not fixed", "change"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"base/kustomization.yaml": "resources: [a.yaml]\n", "base/a.yaml": base}
			for path, text := range test.sets {
				files[path] = text
			}
			folder := written(t, files)
			got := runIn(t, folder, "check", "--fix")
			for _, want := range test.want {
				if !strings.Contains(got.stdout, want) {
					t.Errorf("no %q in %+v", want, got)
				}
			}
			for _, not := range test.lacks {
				if strings.Contains(got.stdout, not) {
					t.Errorf("%q in %+v", not, got)
				}
			}
		})
	}
}

// TestCheckFixWithoutOrigin: a patch that replaces all annotations takes that of the origin away; the source is the only file of the kustomization that
// has the object, with what is put around its name. Where two have it, none is known.
func TestCheckFixWithoutOrigin(t *testing.T) {
	const route = "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: cart}\nspec:\n  parentRefs:\n  - {kind: Service, name: cart, port: 80}\n"
	files := map[string]string{
		"base/kustomization.yaml": "resources: [route.yaml]\n", "base/route.yaml": route,
		"prod/kustomization.yaml": "namespace: shop\nnamePrefix: prod-\nresources: [../base]\n" +
			"patches:\n- target: {kind: HTTPRoute}\n  patch: |\n    - {op: add, path: /metadata/annotations, value: {team: shop}}\n",
	}
	got := runIn(t, written(t, files), "check", "--fix")
	if !strings.Contains(got.stdout, "fixed  base/route.yaml:6  HTTPRoute shop/prod-cart  set spec.parentRefs[0].group") || strings.Contains(got.stdout, "not fixed") {
		t.Errorf("%+v", got)
	}
	files["base/kustomization.yaml"] = "resources: [route.yaml, other.yaml]\n"
	files["base/other.yaml"] = strings.Replace(route, "name: cart}", "name: cart, namespace: other}", 1)
	files["prod/kustomization.yaml"] = strings.Replace(files["prod/kustomization.yaml"], "namespace: shop\n", "", 1)
	got = runIn(t, written(t, files), "check", "--fix")
	if !strings.Contains(got.stdout, "its source is not found") {
		t.Errorf("two: %+v", got)
	}
}
