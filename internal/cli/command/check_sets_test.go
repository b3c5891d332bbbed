package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// repositoryIn is what a repository may hold; testdata/repository.txtar says what is
// expected of each part.
func repositoryIn(t *testing.T) string {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/repository.txtar")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for _, file := range archive.Files {
		path := filepath.Join(folder, filepath.FromSlash(file.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, file.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// TestCheckSets: check finds the sets of a repository, judges each by itself, and says
// what it left aside.
func TestCheckSets(t *testing.T) {
	folder := repositoryIn(t)
	got := runIn(t, folder, "check")
	golden(t, "repository.text", strings.ReplaceAll(got.stdout, folder, "/repository"))
	if got.code != ExitFindings || got.stderr != "" {
		t.Errorf("exit code %d, stderr %q", got.code, got.stderr)
	}
	// The same from elsewhere, and by parts.
	r, _ := checkJSON(t, "", folder)
	if !strings.HasSuffix(got.stdout, "\n"+r.Summary.String()+"\n") {
		t.Errorf("from elsewhere: %s", r.Summary.String())
	}
	if again, _ := checkJSON(t, "", folder, filepath.Join(folder, "deploy")); again.Summary != r.Summary {
		t.Errorf("with overlapping paths: %+v, want %+v", again.Summary, r.Summary)
	}
	for path, want := range map[string][]string{
		"deploy/prod":         {"kustomization deploy/prod"},
		"charts":              {"chart charts/broken", "chart charts/shop", "chart charts/shop with charts/shop/values-prod.yaml", "chart charts/shop with charts/shop/ci/two.yaml"},
		"plain/a/routes.yaml": {"directory plain/a"},
	} {
		r, _ := checkJSON(t, "", filepath.Join(folder, filepath.FromSlash(path)))
		var sets []string
		for i := range r.Sets {
			sets = append(sets, strings.ReplaceAll(r.Sets[i].String(), filepath.ToSlash(folder)+"/", ""))
		}
		if diff := cmp.Diff(want, sets); diff != "" {
			t.Errorf("%s (-want +got)\n%s", path, diff)
		}
	}
}

// runIn runs the command line in a folder.
func runIn(t *testing.T, folder string, args ...string) result {
	t.Helper()
	back, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	defer t.Chdir(back) // golden files are found from here
	t.Chdir(folder)
	return run(t, "", args...)
}

// TestCheckHelm: --helm renders one chart with other values.
func TestCheckHelm(t *testing.T) {
	folder := repositoryIn(t)
	chart, values := filepath.Join(folder, "charts", "shop"), filepath.Join(folder, "charts", "shop", "ci", "two.yaml")
	r, _ := checkJSON(t, "", "--helm", chart, "--values", values, "-n", "shop")
	var routes []string
	for i := range r.Routes {
		routes = append(routes, r.Routes[i].String()+" "+strings.TrimPrefix(filepath.ToSlash(r.Routes[i].File), filepath.ToSlash(folder)))
	}
	want := []string{"HTTPRoute shop/one /charts/shop/templates/routes.yaml", "HTTPRoute shop/two /charts/shop/templates/routes.yaml"}
	if diff := cmp.Diff(want, routes); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := run(t, "", "check", "--helm", folder); got.code != ExitUsage || !strings.Contains(got.stderr, "Chart.yaml") {
		t.Errorf("not a chart: %+v", got)
	}
}

// TestCheckChartEndings: Helm applies what a template writes whatever its ending, but for partials
// and notes.
func TestCheckChartEndings(t *testing.T) {
	const route = "{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: r, namespace: shop}, spec: {parentRefs: [{group: '', kind: Service, name: cart}]}}\n"
	for name, want := range map[string]string{"r.txt": "1 route", "r.yaml.tpl": "1 route", "r": "1 route", "_r.yaml": "0 routes", "NOTES.txt": "0 routes"} {
		got := runIn(t, written(t, map[string]string{"Chart.yaml": "{apiVersion: v2, name: x, version: 1.0.0}\n", "templates/" + name: route}), "check")
		if !strings.Contains(got.stdout, want+" in ") || got.stderr != "" {
			t.Errorf("templates/%s: want %s: %+v", name, want, got)
		}
	}
}

// TestCheckChartScripts: what a template has before it is rendered need not be YAML, whatever it looks like.
func TestCheckChartScripts(t *testing.T) {
	const script = "{{- if true }}\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a: |\n{{- end }}\n    {{- if false }}\n  - [\n    {{- end }}\n    true && echo *\n"
	const route = "{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: r, namespace: shop}, spec: {parentRefs: [{group: '', kind: Service, name: cart}]}}\n"
	chart := map[string]string{"Chart.yaml": "{apiVersion: v2, name: x, version: 1.0.0}\n", "templates/script.yaml": script, "templates/r.yaml": route}
	if got := runIn(t, written(t, chart), "check"); strings.Contains(got.stdout, "broken") || !strings.Contains(got.stdout, "1 route in ") {
		t.Errorf("%+v", got)
	}
	chart["values.yaml"] = "a: &a [b]\nc: [*a\n"
	if got := runIn(t, written(t, chart), "check"); !strings.Contains(got.stdout, "it cannot be loaded: values.yaml: yaml: ") {
		t.Errorf("%+v", got)
	}
}

// TestCheckNone: a run without routes says so, and fails if told to.
func TestCheckNone(t *testing.T) {
	folder := t.TempDir()
	if got := run(t, "", "check", folder); got.code != ExitClean || got.stdout != "0 routes in 0 files: no findings\n" {
		t.Errorf("%+v", got)
	}
	if got := run(t, "", "check", folder, "--fail-if-none"); got.code != ExitUsage || got.stderr != "error: no route was checked\n" {
		t.Errorf("--fail-if-none: %+v", got)
	}
	if got := run(t, "", "check", filepath.Join(folder, "nothing")); got.code != ExitUsage || !strings.Contains(got.stderr, "no such file") {
		t.Errorf("a path that is not there: %+v", got)
	}
}

// TestCheckOwnReport: a SARIF report in the folder is not taken for a manifest.
func TestCheckOwnReport(t *testing.T) {
	folder := written(t, map[string]string{"routes/a.yaml": "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: a}\n"})
	for range 2 {
		got := runIn(t, folder, "check", "-o", "text", "-o", "sarif=found.json")
		if strings.Contains(got.stdout, "directory .") || !strings.Contains(got.stdout, "1 route in 1 file") {
			t.Errorf("%+v", got)
		}
	}
}

// TestCheckMissingBelow: what a base names and is not there is one line, at the kustomization that names it, with the number
// of the sets that it keeps from being built; and so is what else is wrong with the base.
func TestCheckMissingBelow(t *testing.T) {
	overlay := "resources: [../base]\n"
	for text, want := range map[string]struct{ line, at string }{
		"resources:\n- s.yaml\n":                                  {"2", "resources: s.yaml does not exist"},
		"patches:\n- path: s.yaml\n":                              {"2", "path: s.yaml does not exist"},
		"configMapGenerator: [{name: a, files: [a=s.txt]}]\n":     {"1", "files: a=s.txt does not exist"},
		"resources:\n\t- s.yaml\n":                                {"2", "broken YAML: found a tab character that violates indentation"},
		"namePrefix: a-\nresource: [s.yaml]\n":                    {"2", "invalid Kustomization: json: unknown field \"resource\""},
		"patches:\n- target: {kind: Service}\n  paths: a\n":       {"3", "invalid Kustomization: json: unknown field \"paths\""},
		"patches:\n- targets: {}\nreplacements:\n- targets: []\n": {"1", "invalid Kustomization: json: unknown field \"targets\""},
	} {
		folder := written(t, map[string]string{"base/kustomization.yaml": text, "dev/kustomization.yaml": overlay, "prod/kustomization.yaml": overlay})
		got := runIn(t, folder, "check")
		head, tail := "base/kustomization.yaml\n     "+want.line+"  broken   cannot be built: "+want.at, " (broken-document) (in 2 sets)\n"
		if !strings.HasPrefix(got.stdout, head) || strings.Count(got.stdout, tail) != 1 || strings.Count(got.stdout, "  broken  ") != 1 || got.code != ExitFindings || strings.Contains(got.stdout, "accumul") {
			t.Errorf("%s: %+v", text, got)
		}
		if strict := runIn(t, folder, "check", "--strict"); strict != got {
			t.Errorf("%s: --strict: %+v", text, strict)
		}
		got = runIn(t, folder, "check", "--strict", "-o", "github")
		if strings.Count(got.stdout, "::error file=base/kustomization.yaml,line="+want.line+",") != 1 || got.stderr != "" || got.code != ExitFindings {
			t.Errorf("%s: --strict -o github: %+v", text, got)
		}
	}
}

// TestCheckUnreadableKustomization: of a kustomization that is not YAML, or whose base is none, that is what is reported, and not the patch that it uses.
func TestCheckUnreadableKustomization(t *testing.T) {
	const route = "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: cart}\n"
	for text, want := range map[string]string{
		"patches: [\n": "dev/kustomization.yaml\n     1  broken   cannot be built: ",
		"resources:\n- ../base\npatches: [{path: p.yaml}]\n": "dev/kustomization.yaml\n     2  broken   cannot be built: resources: ../base has no kustomization.yaml (broken-document)\n",
	} {
		folder := written(t, map[string]string{"base/a.yaml": "{apiVersion: v1, kind: Service, metadata: {name: a}}\n", "dev/kustomization.yaml": text, "dev/p.yaml": route})
		if got := runIn(t, folder, "check", "--strict"); !strings.HasPrefix(got.stdout, want) || strings.Contains(got.stdout, "p.yaml") || strings.Contains(got.stdout, folder) || got.code != ExitFindings {
			t.Errorf("%s: %+v", text, got)
		}
	}
}

// TestCheckBrokenComponent: why a component cannot be built is in the words of the builder, which quotes them once for each
// component on the way.
func TestCheckBrokenComponent(t *testing.T) {
	const component = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n"
	const why = "add operation does not apply: doc is missing path: \"/spec/none/weight\": missing value"
	folder := written(t, map[string]string{
		"base/kustomization.yaml": "resources: [a.yaml]\n", "base/a.yaml": "{apiVersion: v1, kind: Service, metadata: {name: a}}\n",
		"weight/kustomization.yaml": component + "patches: [{target: {kind: Service}, patch: '[{\"op\": \"add\", \"path\": \"/spec/none/weight\", \"value\": 1}]'}]\n",
		"all/kustomization.yaml":    component + "components: [../weight]\n",
		"prod/kustomization.yaml":   "resources: [../base]\ncomponents: [../all]\n",
	})
	if got := runIn(t, folder, "check"); !strings.HasPrefix(got.stdout, "weight/kustomization.yaml\n     3  broken   cannot be built: "+why+" (broken-document)\n") {
		t.Errorf("%+v", got)
	}
}

// TestCheckUnbuilt: a set that cannot be built is a finding, unless it needs what is not on
// this disk, or values: then it is reported as not checked, and a strict check fails.
func TestCheckUnbuilt(t *testing.T) {
	const chart, notChecked = "apiVersion: v2\nname: shop\nversion: 1.0.0\n", "so its routes are not checked: "
	const plugin = "{apiVersion: viaduct.ai/v1, kind: ksops, metadata: {name: s, annotations: {config.kubernetes.io/function: 'exec: {path: ./ksops}'}}}\n"
	const namespace = "{apiVersion: v1, kind: Namespace, metadata: {name: a}}\n"
	const twice = "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\nspec: {}\nmetadata: {name: a}\n"
	const patched = "resources: [a.yaml]\npatches: [{path: p.yaml, target: {kind: Namespace}}]\n"
	for name, test := range map[string]struct {
		files map[string]string
		code  int
		want  string
	}{
		"no YAML":         {map[string]string{"kustomization.yaml": "\nresources: [\n"}, ExitFindings, "2  broken   cannot be built: broken YAML: did not find expected node content"},
		"missing file":    {map[string]string{"kustomization.yaml": "resources: [a.yaml]\n"}, ExitFindings, "1  broken   cannot be built: resources: a.yaml does not exist (broken-document)\n"},
		"broken patch":    {map[string]string{"kustomization.yaml": "resources: [a.yaml]\npatches: [{path: p.yaml}]\n", "a.yaml": "{apiVersion: v1, kind: Namespace, metadata: {name: a}}\n", "p.yaml": "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: a\n   labels: {}\n"}, ExitFindings, "p.yaml\n     5  broken   cannot be built: broken YAML: "},
		"key twice":       {map[string]string{"o/kustomization.yaml": "resources: [../b]\nnamePrefix: x\n", "b/kustomization.yaml": "resources: [a.yaml]\n", "b/a.yaml": twice}, ExitFindings, "b/a.yaml\n     5  broken   cannot be built: broken YAML: duplicate key \"metadata\" (broken-document)\n"},
		"patched twice":   {map[string]string{"kustomization.yaml": patched, "a.yaml": "---\n" + twice, "p.yaml": "- {op: add, path: /metadata/labels, value: {}}\n"}, ExitFindings, "a.yaml\n     6  broken   cannot be built: broken YAML: duplicate key \"metadata\" (broken-document)\n"},
		"no separator":    {map[string]string{"kustomization.yaml": "resources: [a.yaml]\n", "a.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n" + twice}, ExitFindings, "a.yaml\n     4  broken   cannot be built: broken YAML: duplicate key \"apiVersion\" (broken-document)\n"},
		"twice in patch":  {map[string]string{"kustomization.yaml": patched, "a.yaml": namespace, "p.yaml": twice}, ExitFindings, "p.yaml\n     5  broken" + "   broken YAML: duplicate key \"metadata\" (broken-document)\n"},
		"within a patch":  {map[string]string{"kustomization.yaml": "resources: [a.yaml]\npatches:\n- patch: |-\n    " + strings.ReplaceAll(namespace, "{name: a}", "{name: a, labels: {a: b, a: c}}"), "a.yaml": namespace}, ExitFindings, "kustomization.yaml\n     4  broken   cannot be built: broken YAML: duplicate key \"a\" (broken-document)\n"},
		"configurations":  {map[string]string{"kustomization.yaml": "resources: [a.yaml]\nconfigurations: [b/c.yaml]\n", "a.yaml": "{apiVersion: v1, kind: Namespace, metadata: {name: a}}\n", "b/c.yaml": "nameReference: []\n```\n"}, ExitFindings, "b/c.yaml\n     2  broken   cannot be built: broken YAML: "},
		"transformer":     {map[string]string{"kustomization.yaml": "transformers: [t.yaml]\n", "t.yaml": "apiVersion: v1\n```\n"}, ExitFindings, "t.yaml\n     2  broken   cannot be built: broken YAML: "},
		"replacements":    {map[string]string{"kustomization.yaml": "replacements: [{path: r.yaml}]\n", "r.yaml": "- source: {}\n```\n"}, ExitFindings, "r.yaml\n     2  broken   cannot be built: broken YAML: "},
		"remote base":     {map[string]string{"a/kustomization.yaml": "resources: [../b]\n", "b/kustomization.yaml": "resources: ['https://example.invalid/a//b?ref=v1']\n"}, ExitClean, notChecked},
		"inflated chart":  {map[string]string{"kustomization.yaml": "namePrefix: a\nhelmCharts: [{name: x}]\n"}, ExitClean, notChecked + "kustomization.yaml:2: helmCharts: gammaguard does not inflate a chart in a kustomization; "},
		"chart of a repo": {map[string]string{"kustomization.yaml": "helmCharts:\n- name: x\n  repo: https://example.invalid\n"}, ExitClean, notChecked + "kustomization.yaml:3: helmCharts: gammaguard does not inflate a chart in a kustomization; "},
		"its plugin":      {map[string]string{"a/kustomization.yaml": "resources: [../b]\n", "b/kustomization.yaml": "namePrefix: a\ngenerators: [k.yaml]\n", "b/k.yaml": plugin}, ExitClean, notChecked + "b/kustomization.yaml:2: generator ksops is a plugin, which gammaguard does not run; "},
		"plugin within":   {map[string]string{"kustomization.yaml": "transformers:\n- a.yaml\n- |\n  " + plugin, "a.yaml": "{apiVersion: builtin, kind: PrefixTransformer, metadata: {name: a}, prefix: a}\n"}, ExitClean, notChecked + "kustomization.yaml:3: transformer ksops is a plugin, "},
		"plugin of many":  {map[string]string{"kustomization.yaml": "validators:\n- c\n", "c/kustomization.yaml": "resources: [k.yaml]\n", "c/k.yaml": plugin}, ExitClean, notChecked + "kustomization.yaml:2: validator ksops is a plugin, "},
		"no component":    {map[string]string{"a/kustomization.yaml": "components:\n- ../b\n"}, ExitFindings, "a/kustomization.yaml\n     2  broken   cannot be built: components: ../b does not exist (broken-document)\n"},
		"component file":  {map[string]string{"kustomization.yaml": "components:\n- a.yaml\n", "a.yaml": namespace}, ExitFindings, "2  broken   cannot be built: components: a.yaml is a file; components are directories (broken-document)\n"},
		"a component":     {map[string]string{"kustomization.yaml": "resources:\n- b\n", "b/kustomization.yaml": "kind: Component\napiVersion: kustomize.config.k8s.io/v1alpha1\nnamePrefix: b\n"}, ExitFindings, "2  broken   cannot be built: resources: b is a component; list it in components (broken-document)\n"},
		"as a component":  {map[string]string{"kustomization.yaml": "components:\n- b\n", "b/kustomization.yaml": "resources: [a.yaml]\n", "b/a.yaml": namespace}, ExitFindings, "2  broken   cannot be built: components: b is not a component; list it in resources (broken-document)\n"},
		"file outside":    {map[string]string{"a/kustomization.yaml": "resources:\n- ../a.yaml\n", "a.yaml": namespace}, ExitFindings, "2  broken   cannot be built: resources: ../a.yaml is a file outside of the kustomization's directory, which kustomize refuses (broken-document)\n"},
		"outside, inside": {map[string]string{"a/kustomization.yaml": "resources:\n- ../b\n- ../b/a.yaml\n", "b/kustomization.yaml": "resources:\n- a.yaml\n", "b/a.yaml": namespace}, ExitFindings, "a/kustomization.yaml\n     3  broken   cannot be built: resources: ../b/a.yaml is a file outside of the kustomization's directory, which kustomize refuses (broken-document)\n"},
		"values of .yml":  {map[string]string{"Chart.yaml": chart, "values-prod.yml": "a:\n  b\nc: [\n"}, ExitFindings, "values-prod.yml\n     3  broken   cannot be built: broken YAML: "},
		"a test's .yml":   {map[string]string{"Chart.yaml": chart, "ci/prod.yml": "a:\n  b\nc: [\n"}, ExitFindings, "ci/prod.yml\n     3  broken   cannot be built: broken YAML: "},
		"an operation":    {map[string]string{"kustomization.yaml": patched, "a.yaml": namespace, "p.yaml": "- {op: add, path: /metadata/labels, value: {}}\n- {op: replace, path: /metadata/none/a, value: b}\n"}, ExitFindings, "p.yaml\n     2  broken   cannot be built: replace operation does not apply: "},
		"no operation":    {map[string]string{"kustomization.yaml": patched, "a.yaml": namespace, "p.yaml": "\n- {op: ad, path: /metadata/labels, value: {}}\n"}, ExitFindings, "p.yaml\n     2  broken   cannot be built: Unexpected kind: ad (broken-document)\n"},
		"patch of none":   {map[string]string{"kustomization.yaml": "resources: [a.yaml]\npatches: [{path: p.yaml}]\n", "a.yaml": namespace, "p.yaml": "\n" + strings.ReplaceAll(namespace, "a}", "b}")}, ExitFindings, "p.yaml\n     2  broken   cannot be built: no resource matches strategic merge patch \"Namespace.v1.[noGrp]/b.[noNs]\" (broken-document)\n"},
		"unknown field":   {map[string]string{"kustomization.yaml": "namePrefix: a-\nresource: [a.yaml]\n"}, ExitFindings, "2  broken   cannot be built: invalid Kustomization: json: unknown field \"resource\" (broken-document)\n"},
		"no chart":        {map[string]string{"Chart.yaml": "apiVersion: v2\nname: [\n"}, ExitFindings, "Chart.yaml\n     2  broken   cannot be built: broken YAML: "},
		"chart in it":     {map[string]string{"Chart.yaml": chart, "charts/redis/Chart.yaml": chart, "charts/redis/values.yaml": "a: 'b\n"}, ExitFindings, "charts/redis/values.yaml\n     1  broken   cannot be built: broken YAML: "},
		"no template":     {map[string]string{"Chart.yaml": chart, "templates/a.yaml": "a: {{ .Values.a\n"}, ExitFindings, "1  broken   cannot be built: parse error at "},
		"required value":  {map[string]string{"Chart.yaml": chart, "templates/a.yaml": "a: {{ required `say a` .Values.a }}\n"}, ExitClean, notChecked},
		"its template":    {map[string]string{"Chart.yaml": chart + "dependencies: [{name: redis, version: 1.0.0}]\n", "templates/a.yaml": "{{ include `redis.name` . }}\n"}, ExitClean, "chart .: cannot be built, so its routes are not checked: dependency redis is not in its directory charts; run helm dependency build: "},
		"more values":     {map[string]string{"Chart.yaml": chart, "ci/a.yaml": "a: {b: c}\n", "values-prod.yaml": "b: c\n", "templates/a.yaml": "a: {{ .Values.a.b }}\n"}, ExitFindings, "; if it needs the values of another file too, name the chart with both files in the sets of .gammaguard.yaml (broken-document) (with values-prod.yaml)\n"},
		"broken values":   {map[string]string{"Chart.yaml": chart, "values-prod.yaml": "a:\n  b\nc: [\n"}, ExitFindings, "values-prod.yaml\n     3  broken   cannot be built: broken YAML: "},
		"broken defaults": {map[string]string{"Chart.yaml": chart, "values.yaml": "a:\n  b\nc: [\n"}, ExitFindings, "values.yaml\n     3  broken   cannot be built: broken YAML: "},
		"dependency":      {map[string]string{"Chart.yaml": chart + "dependencies: [{name: redis, version: 1.0.0}]\n"}, ExitClean, "dependency redis is not in its directory charts"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := written(t, test.files)
			got := runIn(t, folder, "check")
			if got.code != test.code || !strings.Contains(got.stdout, test.want) || got.stderr != "" {
				t.Errorf("want %d and %q: %+v", test.code, test.want, got)
			}
			for _, args := range []string{"check --strict", "check --strict -o json"} {
				if got := runIn(t, folder, strings.Fields(args)...); (got.code == ExitUsage) != (test.code == ExitClean) || strings.Count(got.stderr, "\n") > 1 {
					t.Errorf("%s: %+v", args, got)
				}
			}
		})
	}
}

// TestBrokenValues: of values that are no YAML, each command says the line. A file of data that is called like them is none.
func TestBrokenValues(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "shop/Chart.yaml", "apiVersion: v2\nname: shop\nversion: 1.0.0\n")
	put(t, "shop/values.yaml", "a: b\n")
	put(t, "shop/files/values.yaml", "{{ a }}: [\n")
	commit(t)
	if got := run(t, "", "check", "--strict"); got.code != ExitClean {
		t.Errorf("data: %+v", got)
	}
	put(t, "shop/values.yaml", "a: b\nc: \"d\ne: f\n")
	const why = "shop/values.yaml:3: broken YAML: "
	for _, args := range []string{"check --helm shop", "diff --base-ref HEAD"} {
		if got := run(t, "", strings.Fields(args)...); got.code != ExitUsage || !strings.Contains(got.stderr, why) {
			t.Errorf("%s: %+v", args, got)
		}
	}
}

// TestCheckNamesDirectories: what no set has in several directories is counted as such.
func TestCheckNamesDirectories(t *testing.T) {
	const remote = "resources: ['https://example.invalid/a//b?ref=v1']\n"
	folder := written(t, map[string]string{
		".gammaguard.yaml": "apiVersion: gammaguard.dev/v1alpha1\nkind: CheckConfiguration\nsets: [{files: [plain]}]\n",
		"plain/a.yaml":     "{apiVersion: v1, kind: Namespace, metadata: {name: a}}\n", "x/dev/kustomization.yaml": remote, "x/prod/kustomization.yaml": remote,
	})
	if got := runIn(t, folder, "check"); !strings.Contains(got.stdout, "not checked: x: 2 directories: x/dev, x/prod: a kustomization that ") {
		t.Errorf("%+v", got)
	}
}

// TestCheckPlaces: what is found of a route is one test case of JUnit, a line that counts more than once says so, and what cannot be
// built is shown in the file that is the cause.
func TestCheckPlaces(t *testing.T) {
	route := func(namespace, port string) string {
		return "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: cart, namespace: " + namespace + "}\nspec:\n" +
			"  parentRefs: [{group: \"\", kind: Service, name: cart, port: 80}]\n  rules: [{backendRefs: [{name: cart, port: " + port + "}]}]\n"
	}
	service := func(namespace string) string {
		return "---\n{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: " + namespace + "}, spec: {ports: [{port: 80}]}}\n"
	}
	folder := written(t, map[string]string{
		"base/kustomization.yaml":   "resources: [a.yaml]\n",
		"base/a.yaml":               route("shop", "80") + service("shop"),
		"prod/kustomization.yaml":   "resources: [../base]\npatches: [{path: p.yaml}]\n",
		"prod/p.yaml":               route("shop", "81"),
		"chart/Chart.yaml":          "{apiVersion: v2, name: c, version: 1.0.0}\n",
		"chart/ci/x.yaml":           "a: b\n",
		"chart/templates/a.yaml":    route("chart", "82") + service("chart"),
		"bad/kustomization.yaml":    "resources: [s.yaml]\n",
		"bad/s.yaml":                "apiVersion: v1\nkind: Service\nmetadata:\n  name: x: y\n",
		"remote/kustomization.yaml": "resources:\n- ../base\n- https://github.com/org/repo//base?ref=v1\n",
	})
	for format, wants := range map[string][]string{
		"text": {
			"use one of its ports: 80 (backend-port-not-found) (in 2 sets)\n", " 3 warnings",
			"are not checked: remote/kustomization.yaml:3: resources: ",
		},
		"github": {"::error file=bad/s.yaml,line=4,", "::warning file=remote/kustomization.yaml,line=3,"},
		"junit":  {`tests="1" failures="0"`, "prod/p.yaml, line 6: warn: "},
	} {
		got := runIn(t, folder, "check", "-o", format)
		for _, want := range wants {
			if !strings.Contains(got.stdout, want) {
				t.Errorf("%s: no %q in %+v", format, want, got)
			}
		}
		if strings.Contains(got.stdout, `name="prod/p.yaml"`) {
			t.Errorf("a suite for a patch: %s", got.stdout)
		}
	}
}

// TestCheckQuiet: sets without routes share a line, and files that a kustomization names are not called manifests that are none, nor are those
// beside one that cannot be read.
func TestCheckQuiet(t *testing.T) {
	folder := written(t, map[string]string{
		"a/kustomization.yaml": "resources: [s.yaml]\nconfigurations: [names.yaml]\n", "a/names.yaml": "nameReference: []\n",
		"a/s.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n", "b/kustomization.yaml": "resources: [s.yaml]\n", "b/s.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}\n", "x/values.yaml": "a: b\n",
	})
	const want = "no routes: kustomization a, kustomization b\nnot checked: 1 file that is not a manifest: x/values.yaml\n"
	if got := runIn(t, folder, "check"); !strings.HasPrefix(got.stdout, want) {
		t.Errorf("%+v", got)
	}
	put(t, folder+"/a/kustomization.yaml", "resources: [\n") // nobody knows what it names
	if got := runIn(t, folder, "check"); !strings.Contains(got.stdout, "\nnot checked: 1 file that is not a manifest: x/values.yaml\n") {
		t.Errorf("a kustomization that cannot be read: %+v", got)
	}
}

// TestCheckApart: who names files of two directories hears that each is a set of its own, if there are findings.
func TestCheckApart(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for name, content := range map[string]string{
		"services/web.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: shop}\nspec: {ports: [{port: 80}]}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {gammaguard.dev/grant: producer}}\n",
		"routes/web.yaml":   "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: web, namespace: shop}\nspec:\n  parentRefs: [{group: \"\", kind: Service, name: web, port: 80}]\n  rules: [{backendRefs: [{name: web, port: 80}]}]\n",
	} {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	services, routes := filepath.Join(folder, "services"), filepath.Join(folder, "routes")
	const note = ": each directory is a set of its own; to check these paths together, use -f for each"
	for _, test := range []struct {
		args  []string
		noted bool
	}{
		{[]string{services, routes}, true},
		{[]string{filepath.Join(services, "web.yaml"), filepath.Join(routes, "web.yaml")}, true},
		{[]string{routes}, false},
		{[]string{folder}, false},
		{[]string{services, routes, "--complete"}, true},
		{[]string{folder, routes}, false},
		{[]string{"-f", services, "-f", routes}, false},
	} {
		got := run(t, "", append([]string{"check"}, test.args...)...)
		if strings.Contains(got.stdout, note) != test.noted {
			t.Errorf("%q: noted is not %v: %s", test.args, test.noted, got.stdout)
		}
	}
}
