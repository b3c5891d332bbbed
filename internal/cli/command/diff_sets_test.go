package command

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// deployed is a repository with two overlays of a base, a chart, and a folder of manifests.
func deployed(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	objects := func(name, backend string) string {
		return "{apiVersion: v1, kind: Service, metadata: {name: " + name + ", namespace: shop}, spec: {ports: [{port: 80}]}}\n---\n" +
			"{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: " + name + ", namespace: shop}, spec: {parentRefs: [{group: \"\", kind: Service, name: " + name +
			"}], rules: [{backendRefs: [{name: " + backend + ", port: 80}]}]}}\n"
	}
	put(t, "base/kustomization.yaml", "resources: [cart.yaml]\n")
	put(t, "base/cart.yaml", objects("cart", "cart-v1"))
	put(t, "prod/kustomization.yaml", "resources: [../base]\n")
	put(t, "test/kustomization.yaml", "resources: [../base]\n")
	put(t, "chart/Chart.yaml", "{apiVersion: v2, name: pay, version: 1.0.0}")
	put(t, "chart/values.yaml", "backend: pay-v1\n")
	put(t, "chart/values-prod.yaml", "backend: pay-v2\n")
	put(t, "chart/templates/pay.yaml", objects("pay", "{{ .Values.backend }}"))
	put(t, "plain/web.yaml", objects("web", "web-v1"))
	commit(t)
}

// TestDiffFindsSets: diff finds what is deployed together as check does, in both versions.
func TestDiffFindsSets(t *testing.T) {
	deployed(t)
	diff := func(args string) result { return run(t, "", append([]string{"diff"}, strings.Fields(args)...)...) }
	if got := diff("--base-ref HEAD"); got.code != ExitClean || !strings.HasSuffix(got.stdout, "no change; 5 request classes unchanged\n") {
		t.Errorf("nothing changed: %+v", got)
	}
	before := t.TempDir()
	if err := os.CopyFS(before, os.DirFS(".")); err != nil {
		t.Fatal(err)
	}
	for name, old := range map[string]string{"base/cart.yaml": "cart-v1", "chart/values-prod.yaml": "pay-v2"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		put(t, name, strings.ReplaceAll(string(text), old, "new"))
	}
	if err := os.Rename("plain/web.yaml", "plain/web.txt"); err != nil {
		t.Fatal(err)
	}
	want := `service shop/pay port 80, producer (chart chart with chart/values-prod.yaml)
  any  pay-v2:80 100 %  →  new:80 100 %
service shop/cart port 80, producer (kustomization prod, kustomization test)
  any  cart-v1:80 100 %  →  new:80 100 %
service shop/web port 80, producer (directory BASEplain)
  any  web-v1:80 100 %  →  no such Service (Service shop/web is no longer in the input)
`
	for args, base := range map[string]string{"--base-ref HEAD": "HEAD:", "--base " + before: before + "/", "--base-ref HEAD .": "HEAD:"} {
		got := diff(args)
		text, _, _ := strings.Cut(got.stdout, "note: ")
		text, _, _ = strings.Cut(text, "3 Services")
		if diff := cmp.Diff(strings.Replace(want, "BASE", base, 1), text); diff != "" || got.code != ExitFindings || got.stderr != "" {
			t.Errorf("%s: (-want +got)\n%s\n%+v", args, diff, got)
		}
	}
	if got := diff("--base-ref HEAD chart -o json"); !strings.Contains(got.stdout, `"sets"`) || strings.Contains(got.stdout, "cart-v1") {
		t.Errorf("below a path: %+v", got)
	}
}

// TestDiffOfUnreadableSets: a set that can no longer be read is an error, and the others are compared.
func TestDiffOfUnreadableSets(t *testing.T) {
	deployed(t)
	put(t, "plain/web.yaml", "kind: [\napiVersion: gateway.networking.k8s.io/v1\n")
	put(t, "node_modules/x.yaml", orphan)
	if got := run(t, "", "diff", "--base-ref", "HEAD", "-f", "plain", "-o", "markdown"); got.code != ExitUsage || !strings.Contains(got.stdout, "\n> `the input is not compared: plain/web.yaml:2: broken YAML") ||
		!strings.HasPrefix(got.stderr, "error: plain/web.yaml:2: ") {
		t.Errorf("-f: %+v", got)
	}
	if got := run(t, "", "diff", "--base-ref", "HEAD", "-o", "markdown"); !strings.Contains(got.stdout, "\n> `directory plain: not compared: plain/web.yaml:2: broken YAML") {
		t.Errorf("the comment does not say why: %+v", got)
	}
	got := run(t, "", "diff", "--base-ref", "HEAD")
	if got.code != ExitUsage || !strings.Contains(got.stderr, "directory plain: not compared: plain/web.yaml:2: broken YAML") ||
		!strings.Contains(got.stdout, "no change in what was compared; 4 request classes unchanged") || !strings.Contains(got.stdout, "note: may hold routes that no set has: node_modules/x.yaml") {
		t.Errorf("%+v", got)
	}
	put(t, "plain/x.yaml", "kind: [\napiVersion: gateway.networking.k8s.io/v1\n")
	if got := run(t, "", "diff", "--base-ref", "HEAD", "-o", "text", "-o", "markdown=comment"); strings.Count(got.stderr, "error: directory plain: not compared: plain/") != 2 || strings.Contains(got.stderr, `\n`) ||
		strings.Count(contents(t, "comment"), "> `directory plain: not compared: plain/") != 2 {
		t.Errorf("two broken files: %+v\n%s", got, contents(t, "comment"))
	}
	commit(t)
	if got := run(t, "", "diff", "--base-ref", "HEAD"); got.code != ExitClean || !strings.Contains(got.stdout, "note: directory plain is not compared: plain/web.yaml:2: broken YAML") {
		t.Errorf("as it was before: %+v", got)
	}
	put(t, "prod/kustomization.yaml", "resources: [https://example.invalid/a]\n")
	if got := run(t, "", "diff", "--base-ref", "HEAD"); got.code != ExitUsage || !strings.Contains(got.stderr, "kustomization prod: not compared: ") || strings.Contains(got.stderr, "kustomize prod") ||
		!strings.Contains(got.stdout, " unchanged; 2 sets not compared\n") {
		t.Errorf("remote: %+v", got)
	}
	commit(t)
	if got := run(t, "", "diff", "--base-ref", "HEAD", "-o", "markdown"); got.code != ExitClean || !strings.Contains(got.stdout, "unchanged; 2 sets not compared**\n") {
		t.Errorf("remote in both: %+v", got)
	}
	const twice = "{{ range list `a` `b` }}\n---\n{apiVersion: v1, kind: Service, metadata: {name: {{ . }}}, spec: {ports: [{port: eighty}]}}\n{{ end }}"
	for _, fails := range []string{"{{ required `no backend` .Values.none }}", "{{ .Values.none.backend }}", twice} {
		put(t, "chart/templates/none.yaml", fails)
		if got := run(t, "", "diff", "--base-ref", "HEAD", "chart"); got.code != ExitUsage || !strings.Contains(got.stdout, "; 2 sets not compared\n") ||
			strings.Count(got.stderr, "chart chart") != 2 || strings.Count(got.stderr, ": not compared: ") != 1 { //nolint:dupword // of the two sets, each once, and why
			t.Errorf("%s: %+v", fails, got)
		}
	}
	// A new chart that needs values, and has them for each environment.
	put(t, "chart/templates/none.yaml", "")
	commit(t)
	put(t, "more/Chart.yaml", "{apiVersion: v2, name: more, version: 1.0.0}")
	put(t, "more/templates/more.yaml", strings.ReplaceAll(contents(t, "chart/templates/pay.yaml"), ".backend", ".needed.backend"))
	put(t, "more/ci/prod.yaml", "needed: {backend: pay-v3}\n")
	if got := run(t, "", "diff", "--base-ref", "HEAD", "more"); got.code != ExitFindings || !strings.Contains(got.stdout, "note: chart more is not compared: ") || !strings.Contains(got.stdout, "pay-v3:80 100 % (new HTTPRoute shop/pay)") {
		t.Errorf("a new chart that needs values: %+v", got)
	}
	put(t, "chart/Chart.yaml", "{apiVersion: v2, name: pay, version: 1.0.0, dependencies: [{name: redis, version: 1.0.0}]}")
	put(t, "chart/templates/none.yaml", "{{ include `redis.name` . }}\n")
	commit(t)
	if got := run(t, "", "diff", "--base-ref", "HEAD"); !strings.Contains(got.stdout, "note: chart chart, chart chart with chart/values-prod.yaml are not compared: dependency redis ") || //nolint:dupword // kinds and names
		strings.Count(got.stdout, "dependency redis") != 1 {
		t.Errorf("a reason is there for each values file: %+v", got)
	}
}

// TestDiffOfNamedSets: a set that the project of the base names is called as git calls its files, as is that project.
func TestDiffOfNamedSets(t *testing.T) {
	deployed(t)
	const project = "apiVersion: gammaguard.dev/v1alpha1\nkind: CheckConfiguration\n"
	put(t, ".gammaguard.yaml", project+"sets: [{files: [plain]}, {kustomization: prod}]\n")
	commit(t)
	put(t, ".gammaguard.yaml", project+"sets: [{kustomization: prod}]\n")
	if err := os.RemoveAll("plain"); err != nil {
		t.Fatal(err)
	}
	if got := run(t, "", "diff", "--base-ref", "HEAD"); got.code != ExitFindings || !strings.Contains(got.stdout, "service shop/web port 80, producer (directory HEAD:plain)\n") {
		t.Errorf("%+v", got)
	}
	put(t, ".gammaguard.yaml", project+"context: [../outside]\n")
	commit(t)
	put(t, ".gammaguard.yaml", project)
	if got := run(t, "", "diff", "--base-ref", "HEAD"); got.code != ExitClean || !strings.HasPrefix(got.stdout, "note: the input is not compared: the base cannot be read: HEAD:.gammaguard.yaml:3: context[0]: ") {
		t.Errorf("%+v", got)
	}
}

// TestDiffReadsContext: the context is read of each version, also where one has no set, or the input is not in a repository.
func TestDiffReadsContext(t *testing.T) {
	deployed(t)
	const (
		project   = "apiVersion: gammaguard.dev/v1alpha1\nkind: CheckConfiguration\ncontext: [shared]\n"
		namespace = "{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {gammaguard.dev/grant: producer}}}\n"
		removed   = "any  web-v1:80 100 %  →  web:80 100 % (HTTPRoute shop/web was removed)\n"
	)
	for _, folder := range []string{"base", "prod", "test", "chart"} {
		if err := os.RemoveAll(folder); err != nil {
			t.Fatal(err)
		}
	}
	put(t, ".gammaguard.yaml", project)
	put(t, "shared/shop.yaml", namespace)
	commit(t)
	web, err := os.ReadFile("plain/web.yaml")
	if err != nil {
		t.Fatal(err)
	}
	before := t.TempDir()
	if err := os.CopyFS(before, os.DirFS(".")); err != nil {
		t.Fatal(err)
	}
	if got := run(t, string(web), "check", "-f", "-", "--strict"); strings.Contains(got.stdout, "grant-missing") || got.stderr != "" {
		t.Errorf("standard input: %+v", got)
	}
	service, _, _ := strings.Cut(string(web), "---")
	put(t, "plain/web.yaml", service)
	for _, args := range []string{"--base-ref HEAD", "--base-ref HEAD plain", "--base " + before, "--base " + before + "/plain -f plain", "--base " + before + "/plain plain"} {
		got := run(t, "", append([]string{"diff"}, strings.Fields(args)...)...)
		if got.code != ExitFindings || !strings.Contains(got.stdout, removed) || strings.Contains(got.stdout, "namespace") || got.stderr != "" {
			t.Errorf("%s: %+v", args, got)
		}
	}
	commit(t)
	put(t, "new/web.yaml", string(web))
	if got := run(t, "", "diff", "--base-ref", "HEAD", "new"); got.code != ExitFindings || !strings.Contains(got.stdout, "(new HTTPRoute shop/web)") || got.stderr != "" {
		t.Errorf("a path that is new: %+v", got)
	}
	put(t, "plain/web.yaml", string(web))
	put(t, "shared/shop.yaml", strings.Replace(namespace, "producer", "none", 1))
	if got := run(t, "", "diff", "--base", before+"/plain", "-f", "plain"); got.code != ExitFindings || !strings.Contains(got.stdout, "any  web-v1:80 100 %  →  web:80 100 %") {
		t.Errorf("the context of the base is its own: %+v", got)
	}
}

// TestBuildsBesideContext: what is built is read where it is, and not where the context is.
func TestBuildsBesideContext(t *testing.T) {
	deployed(t)
	elsewhere := t.TempDir()
	if err := os.CopyFS(elsewhere, os.DirFS(".")); err != nil {
		t.Fatal(err)
	}
	put(t, ".gammaguard.yaml", "apiVersion: gammaguard.dev/v1alpha1\nkind: CheckConfiguration\ncontext: [shared]\n")
	put(t, "shared/shop.yaml", "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}\n")
	if got := run(t, "", "check", "-f", "plain", "-k", elsewhere+"/base", "--helm", elsewhere+"/chart"); !strings.Contains(got.stdout, "\n3 routes in ") || got.stderr != "" {
		t.Errorf("%+v", got)
	}
}

// TestDiffNotesDependencies: that a chart lacks a dependency, whose routes are then in neither version, or in one.
func TestDiffNotesDependencies(t *testing.T) {
	t.Chdir(t.TempDir())
	const chart = "{apiVersion: v2, name: shop, version: 1.0.0, dependencies: [{name: common, version: 1.0.0}]}\n"
	put(t, "shop/Chart.yaml", chart)
	put(t, "shop/templates/cart.yaml", "{apiVersion: v1, kind: Service, metadata: {name: cart}, spec: {ports: [{port: 80}]}}\n---\n"+
		"{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: cart}, spec: {parentRefs: [{group: '', kind: Service, name: cart, port: 80}]}}\n")
	commit(t)
	const lacks = "shop: dependency common is not in its directory charts, so "
	for vendored, want := range []bool{true, false} {
		if vendored > 0 {
			put(t, "shop/charts/common/Chart.yaml", "{apiVersion: v2, name: common, version: 1.0.0}\n")
			put(t, "shop/charts/common/templates/pay.yaml", strings.ReplaceAll(contents(t, "shop/templates/cart.yaml"), "cart", "pay"))
		}
		for _, args := range []string{"diff --base-ref HEAD", "diff --base-ref HEAD --helm shop", "trace cart:80 --helm shop"} {
			got := run(t, "", strings.Fields(args)...).stdout
			diff, note := strings.HasPrefix(args, "diff"), "note: "
			if !diff {
				note += "not checked: "
			}
			if strings.Contains(got, note+lacks) != want || strings.Contains(got, note+"HEAD:"+lacks) != (diff && !want) || diff && !strings.Contains(got, "no change in what was compared; 1 request class unchanged; 1 dependency of a chart not compared") {
				t.Errorf("%s: %s", args, got)
			}
			if ignored := vendored > 0 && diff; strings.Contains(got, "note: HEAD has nothing that git ignores, such as dependencies of charts; ") != ignored {
				t.Errorf("what git ignores: %s: %s", args, got)
			}
		}
	}
	// Only the base has it: nothing is gone.
	commit(t)
	if err := os.RemoveAll("shop/charts"); err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{"diff --base-ref HEAD", "diff --base-ref HEAD --helm shop"} {
		if got := run(t, "", strings.Fields(args)...); got.code != ExitClean || strings.Count(got.stdout, lacks) != 1 || strings.Contains(got.stdout, "HEAD:"+lacks) || strings.Contains(got.stdout, "git ignores") || strings.Contains(got.stdout, "pay") {
			t.Errorf("only the base has it: %s: %+v", args, got)
		}
	}
	if err := os.Rename("shop/templates/cart.yaml", "cart.yaml"); err != nil { // a change of the rest is seen
		t.Fatal(err)
	}
	if got := run(t, "", "diff", "--base-ref", "HEAD", "--helm", "shop"); got.code != ExitFindings || !strings.Contains(got.stdout, "Service default/cart") {
		t.Errorf("the chart's own: %+v", got)
	}
	if err := os.Rename("cart.yaml", "shop/templates/cart.yaml"); err != nil {
		t.Fatal(err)
	}
	commit(t)
	put(t, "shop/charts/common/Chart.yaml", "{apiVersion: v2, name: common, version: 1.0.0}\n")
	put(t, "shop/templates/labels.yaml", "{{ include `common.labels` . }}\n") // now the chart cannot be rendered without it
	put(t, "shop/charts/common/templates/_labels.tpl", "{{ define `common.labels` }}{{ end }}")
	put(t, ".gitignore", "charts/")
	for i, base := range []string{"that can", "that cannot, either"} {
		if i > 0 {
			commit(t)
		}
		for _, args := range []string{"diff --base-ref HEAD", "diff --base-ref HEAD --helm shop"} {
			if got := run(t, "", strings.Fields(args)...); got.code != ExitClean || !strings.Contains(got.stdout, "note: HEAD has nothing that git ignores") || !strings.Contains(got.stdout, " not compared: the base cannot be read: ") || strings.Contains(got.stdout, "no change; ") {
				t.Errorf("a base %s: %s: %+v", base, args, got)
			}
		}
	}
}

// TestDiffOfMovedRoutes: a note says which routes are removed from one set and new in another.
func TestDiffOfMovedRoutes(t *testing.T) {
	deployed(t)
	if err := os.Rename("plain", "web"); err != nil {
		t.Fatal(err)
	}
	const note = "note: moved from directory HEAD:plain to directory web: HTTPRoute shop/web. Each set is compared by itself: if these are deployed to one cluster, the routes are neither removed nor new\n"
	if got := run(t, "", "diff", "--base-ref", "HEAD"); got.code != ExitFindings || strings.Count(got.stdout, "moved from") != 1 || !strings.Contains(got.stdout, note) {
		t.Errorf("%+v", got)
	}
	commit(t)
	if err := os.RemoveAll("web"); err != nil {
		t.Fatal(err)
	}
	if got := run(t, "", "diff", "--base-ref", "HEAD"); strings.Contains(got.stdout, "moved from") {
		t.Errorf("removed: %+v", got)
	}
}

// TestDiffWithoutValues: where a values file of a chart is gone, a note says that the chart is still there; not where it was renamed, and where the chart
// is gone, too.
func TestDiffWithoutValues(t *testing.T) {
	const note = " is still there, without HEAD:chart/values-prod.yaml: what the rows with that file say is lost only where the chart is deployed with it\n"
	for name, change := range map[string]func() error{
		"":                  func() error { return os.Remove("chart/values-prod.yaml") },
		"moved from":        func() error { return os.Rename("chart/values-prod.yaml", "chart/values-live.yaml") },
		"pay-v2:80 100 %  ": func() error { return os.RemoveAll("chart") },
	} {
		deployed(t)
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if got := run(t, "", "diff", "--base-ref", "HEAD"); got.code != ExitFindings || strings.Contains(got.stdout, note) != (name == "") || !strings.Contains(got.stdout, name) {
			t.Errorf("%q: %+v", name, got)
		}
	}
}

// TestDiffOfRemovedServices: what the base of a set has and the set lacks was removed, unless another set has it now. What only the set has is new.
func TestDiffOfRemovedServices(t *testing.T) {
	const namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {gammaguard.dev/grant: producer}}\n"
	deployed(t)
	web, err := os.ReadFile("plain/web.yaml")
	if err != nil {
		t.Fatal(err)
	}
	service, route, _ := strings.Cut(string(web), "---\n")
	other := strings.ReplaceAll(route, "web", "other")
	put(t, "plain/shop.yaml", namespace)
	put(t, "other/other.yaml", other)
	commit(t)
	for _, test := range []struct {
		name   string
		change func()
		code   int
		want   string
	}{
		{"the Service", func() { put(t, "plain/web.yaml", route) }, ExitFindings, "any  web-v1:80 100 %  →  no such Service (Service shop/web is no longer in the input)\n"},
		{"it moves", func() { put(t, "plain/web.yaml", route); put(t, "other/web.yaml", service) }, 0, "no change;"},
		{"it moves to a directory without routes", func() { put(t, "plain/web.yaml", route); put(t, "bare/web.yaml", service) }, 0, "no change;"},
		{"all but the routes move", func() { put(t, "plain/web.yaml", ""); put(t, "bare/web.yaml", service) }, ExitFindings, "web:80 100 % (HTTPRoute shop/web was removed)"},
		{"the namespace", func() { put(t, "plain/shop.yaml", "") }, ExitFindings, "namespace shop lacks the producer grant"},
		{"all are new", func() { put(t, "new/web.yaml", strings.ReplaceAll(namespace+"---\n"+string(web), "shop", "fresh")) }, ExitFindings, "note: Service fresh/web is not in the base: it is assumed to exist there\n"},
		{"the route", func() { put(t, "plain/web.yaml", service) }, ExitFindings, "web:80 100 % (HTTPRoute shop/web was removed)"},
	} {
		put(t, "plain/web.yaml", string(web))
		put(t, "plain/shop.yaml", namespace)
		put(t, "other/web.yaml", "")
		put(t, "bare/web.yaml", "")
		put(t, "new/web.yaml", "")
		test.change()
		if got := run(t, "", "diff", "--base-ref", "HEAD"); got.code != test.code || !strings.Contains(got.stdout, test.want) || got.stderr != "" {
			t.Errorf("%s: %+v", test.name, got)
		}
	}
	if got := run(t, "", "diff", "--base-ref", "HEAD", "plain"); strings.Contains(got.stdout, "(directory") {
		t.Errorf("of one set, its name says nothing: %+v", got)
	}
}

// TestDiffOfLeftOutSets: sets that only .gammaguard.yaml leaves out are not compared, and not called removed.
func TestDiffOfLeftOutSets(t *testing.T) {
	deployed(t)
	before := t.TempDir()
	if err := os.CopyFS(before, os.DirFS(".")); err != nil {
		t.Fatal(err)
	}
	const project = "apiVersion: gammaguard.dev/v1alpha1\nkind: CheckConfiguration\n"
	put(t, ".gammaguard.yaml", project+"sets: [{kustomization: prod}]\n")
	const why = " is not compared: it is still there, but no set of .gammaguard.yaml has it\n"
	for _, args := range [][]string{{"diff", "--base-ref", "HEAD"}, {"diff", "--base", before}} {
		got := run(t, "", args...)
		for _, want := range []string{"kustomization test", "directory plain", "chart chart", "chart chart with chart/values-prod.yaml"} { //nolint:dupword // kinds and names
			if !strings.Contains(got.stdout, "note: "+want+why) {
				t.Errorf("%q: no note on %s", args, want)
			}
		}
		if got.code != ExitClean || strings.Contains(got.stdout, "removed") {
			t.Errorf("%q: %+v", args, got)
		}
	}
	put(t, "prod/kustomization.yaml", "resources: [../base, ../test]\n") // the set has test now
	if got := run(t, "", "diff", "--base-ref", "HEAD"); strings.Contains(got.stdout, "kustomization test"+why) {
		t.Errorf("used by another: %+v", got)
	}
	put(t, "prod/kustomization.yaml", "resources: [../base]\n")
	for _, name := range []string{"test/kustomization.yaml", "plain/web.yaml", "chart/values-prod.yaml"} {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	got := run(t, "", "diff", "--base-ref", "HEAD")
	if got.code != ExitFindings || !strings.Contains(got.stdout, "web-v1:80 100 %  →  no such Service") || strings.Count(got.stdout, why) != 1 {
		t.Errorf("removed: %+v", got)
	}
}

// TestPathsArePartsOfSets: a PATH that is a file of a chart, or a kustomization, stands for the whole, and a flag's path that does not
// exist is an error of the flag.
func TestPathsArePartsOfSets(t *testing.T) {
	deployed(t)
	for args, want := range map[string]string{
		"chart/templates/pay.yaml chart/values-prod.yaml": "chart chart: 1 route\nchart chart with chart/values-prod.yaml: 1 route\n", //nolint:dupword // kinds and names
		"prod/kustomization.yaml":                         "kustomization prod: 1 route\n",
	} {
		if got := run(t, "", append([]string{"check"}, strings.Fields(args)...)...); !strings.Contains(got.stdout, want) || got.stderr != "" {
			t.Errorf("%s: %+v", args, got)
		}
	}
	put(t, "chart/values.yaml", "backend: other\n")
	if got := run(t, "", "diff", "--base-ref", "HEAD", "chart/values.yaml"); got.code != ExitFindings || !strings.Contains(got.stdout, "other:80") {
		t.Errorf("%+v", got)
	}
	for _, args := range []string{"check --base nope", "check --crds nope", "diff --base nope prod"} {
		if got := run(t, "", strings.Fields(args)...); got.code != ExitUsage || !strings.Contains(got.stderr, " nope: no such file or directory") || !strings.Contains(got.stderr, "--") {
			t.Errorf("%s: %+v", args, got)
		}
	}
}

// TestBaseToBuild: a base with kustomizations and charts that check would read as plain files is refused, and one that cannot be
// built is not called the set.
func TestBaseToBuild(t *testing.T) {
	deployed(t)
	before := t.TempDir()
	if err := os.CopyFS(before, os.DirFS(".")); err != nil {
		t.Fatal(err)
	}
	if got := run(t, "", "check", "--base", before); got.code != ExitUsage || !strings.Contains(got.stderr, "its kustomizations and charts are not built: ") || got.stdout != "" {
		t.Errorf("%+v", got)
	}
	put(t, "ns/ns.yaml", "{apiVersion: v1, kind: Namespace, metadata: {name: default}}\n")
	put(t, "lost/route.yaml", `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: lost, namespace: default}, spec: {parentRefs: [{group: "", kind: Service, name: lost}], rules: [{backendRefs: [{name: lost, port: 80}]}]}}`)
	for _, base := range []string{"prod", "chart"} { // what the input is not
		const plain = " is read as plain files; "
		if got := run(t, "", "check", "--base", before+"/"+base, "plain"); got.code != ExitUsage || !strings.Contains(got.stderr, "its kustomizations and charts are not built: "+before+"/"+base+"; ") {
			t.Errorf("%s: %+v", base, got)
		}
		if got := run(t, "", "check", "--base", before+"/"+base, "-f", "ns"); !strings.Contains(got.stdout, plain+"to ") || !strings.Contains(got.stdout, " one, name it with --base, and the input with -") {
			t.Errorf("%s: %+v", base, got)
		}
		put(t, ".gammaguard.yaml", "apiVersion: gammaguard.dev/v1alpha1\nkind: CheckConfiguration\ncontext: ["+base+"]\n")
		for input, unknown := range map[string]bool{"lost": true, "-f lost": true, "--strict lost": true, "ns": base == "chart", "-f ns": base == "chart"} { // templates are no YAML
			got := run(t, "", strings.Fields("check "+input)...)
			if strings.Contains(got.stdout, "note: "+base+": its ") != unknown || unknown && !strings.Contains(got.stdout, plain+".gammaguard.yaml names it as context, which is not built: name manifests there\n") {
				t.Errorf("%s: %s: %+v", input, base, got)
			}
		}
	}
	for _, name := range []string{".gammaguard.yaml", "lost"} {
		if err := os.RemoveAll(name); err != nil {
			t.Fatal(err)
		}
	}
	if got := run(t, "", "check", "--base", before+"/prod", "prod"); got.code != ExitClean || got.stderr != "" {
		t.Errorf("a kustomization: %+v", got)
	}
	put(t, before+"/prod/kustomization.yaml", "resources: [a.yaml]\n")
	for _, args := range []string{"check --base " + before + "/prod prod", "check --strict --base " + before + "/prod prod", "check --base " + before + "/prod -k prod"} {
		if got := run(t, "", strings.Fields(args)...); got.code != ExitUsage || !strings.Contains(got.stderr, "the base cannot be read: kustomization "+before+"/prod: ") || got.stdout != "" {
			t.Errorf("%s: %+v", args, got)
		}
	}
	for args, what := range map[string]string{"diff --base " + before: "kustomization prod", "diff --base " + before + "/prod -k prod": "the input"} {
		if got := run(t, "", strings.Fields(args)...); got.code != ExitClean || !strings.Contains(got.stdout, what+" is not compared: the base cannot be read: kustomization "+before+"/prod: ") {
			t.Errorf("%s: %+v", args, got)
		}
	}
}

// TestDiffNamesRenderings: what is newly found in some renderings of a chart names the values files with which it is, as check does.
func TestDiffNamesRenderings(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, side := range []string{"base", "head"} {
		put(t, side+"/x/Chart.yaml", "apiVersion: v2\nname: shop\nversion: 1.0.0\n")
		put(t, side+"/x/values.yaml", "weight: 1\nname: a\n")
		put(t, side+"/x/ci/odd.yaml", map[string]string{"base": "weight: 3\n", "head": "weight: -1\n"}[side])
		put(t, side+"/x/templates/a.yaml", "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: a, namespace: shop"+map[string]string{"head": ", labels: {team: \"a b\"}"}[side]+"}\n"+
			"spec: {parentRefs: [{group: '', kind: Service, name: a, port: 80}], rules: [{backendRefs: [{name: a, port: 80, weight: {{ .Values.weight }}}]}]}\n")
	}
	for _, format := range []string{"text", "markdown"} {
		got := run(t, "", "diff", "--base", "base", "head", "-o", format).stdout
		odd, others := 0, 0
		for line := range strings.Lines(got) {
			switch {
			case strings.Contains(line, "].weight: ") && strings.Contains(line, "(schema) (with ci/odd.yaml)"):
				odd++
			case strings.Contains(line, "labels") && strings.Contains(line, " (in 2 sets)"):
				others++
			case strings.Contains(line, " (with "), strings.Contains(line, "chart head/x: "):
				t.Errorf("%s: %s", format, line)
			}
		}
		if odd != 1 || others != 1 {
			t.Errorf("%s: %d named, %d others: %s", format, odd, others, got)
		}
	}
}

// TestDiffNotesSharedServices: where the Service of a change is in the context, a note names the sets that have other routes on it; overlays that each
// have the Service, or the same routes, are alternatives.
func TestDiffNotesSharedServices(t *testing.T) {
	route := func(name, match string) string {
		return "{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: r, namespace: " + name + "}, spec: {parentRefs: [{group: \"\", kind: Service, name: cart, namespace: shop}], " +
			"rules: [{matches: [{path: {value: " + match + "}}], backendRefs: [{name: " + name + ", port: 80}]}]}}\n"
	}
	const (
		service = "{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: shop}, spec: {ports: [{port: 80}]}}\n"
		note    = "note: Service shop/cart has routes in %, too. Each set is compared by itself: if these are deployed to one cluster, compare them together, with -f, -k, and --helm\n"
	)
	t.Chdir(t.TempDir())
	put(t, ".gammaguard.yaml", "apiVersion: gammaguard.dev/v1alpha1\nkind: CheckConfiguration\ncontext: [context]\nignore: [context]\n")
	put(t, "context/all.yaml", service)
	put(t, "base/kustomization.yaml", "resources: [all.yaml]\n")
	put(t, "base/all.yaml", service+"---\n"+route("shop", "/a"))
	put(t, "prod/kustomization.yaml", "resources: [../base]\n")
	put(t, "test/kustomization.yaml", "resources: [../base, more.yaml]\n")
	put(t, "test/more.yaml", strings.Replace(route("shop", "/more"), "name: r,", "name: more,", 1))
	put(t, "faces/all.yaml", route("faces", "/a"))
	put(t, "faces-test/all.yaml", route("faces", "/a"))
	commit(t)
	for name, want := range map[string]string{"faces": "kustomization prod, kustomization test", "base": "directory faces, directory faces-test", "faces-test": "kustomization prod, kustomization test"} {
		prefix := map[string]string{"base": service + "---\n"}[name]
		namespace := map[string]string{"base": "shop"}[name]
		if namespace == "" {
			namespace = "faces"
		}
		put(t, name+"/all.yaml", prefix+route(namespace, "/b"))
		got := run(t, "", "diff", "--base-ref", "HEAD")
		if got.code != ExitFindings || strings.Count(got.stdout, "note: Service shop/cart has routes") != 1 || !strings.Contains(got.stdout, strings.Replace(note, "%", want, 1)) {
			t.Errorf("%s: want a note on %s: %s%s", name, want, got.stdout, got.stderr)
		}
		put(t, name+"/all.yaml", prefix+route(namespace, "/a"))
	}
	if got := run(t, "", "diff", "--base-ref", "HEAD"); got.code != ExitClean || strings.Contains(got.stdout, "has routes") {
		t.Errorf("no change: %+v", got)
	}
	put(t, "faces/all.yaml", route("faces", "/b"))
	for _, args := range []string{"faces", "faces faces-test"} {
		if got := run(t, "", append(strings.Fields("diff --base-ref HEAD"), strings.Fields(args)...)...); got.code != ExitFindings || strings.Contains(got.stdout, "has routes") {
			t.Errorf("%s: %+v", args, got)
		}
	}
}

// TestDiffMovedValues: a values file with another name is a move, and one with other values is not.
func TestDiffMovedValues(t *testing.T) {
	const values = "replicas: 1\nbackend: cart\nhost: cart\nweight: 10\n"
	for text, moved := range map[string]bool{values: true, values + "more: 1\n": true, "replicas: 2\nbackend: cart\nqa: true\nother: 3\n": false} {
		t.Chdir(t.TempDir())
		put(t, "chart/Chart.yaml", "{apiVersion: v2, name: shop, version: 1.0.0}\n")
		put(t, "chart/templates/cart.yaml", "{{ if .Values.backend }}\n"+strings.ReplaceAll(orphan, "cart}", "cart, port: 80}")+"{{ end }}\n")
		put(t, "chart/values-prod.yaml", values)
		commit(t)
		if err := os.Remove("chart/values-prod.yaml"); err != nil {
			t.Fatal(err)
		}
		put(t, "chart/values-qa.yaml", text)
		if got := run(t, "", "diff", "--base-ref", "HEAD"); strings.Contains(got.stdout, "moved from") != moved || got.stderr != "" {
			t.Errorf("%q: %+v", text, got)
		}
	}
}
