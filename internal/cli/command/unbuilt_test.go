package command

import (
	"os"
	"strings"
	"testing"
)

// TestUnbuilt: where files are named that are part of a kustomization or a chart, each command names the flag that builds
// it. That of a chart's templates stands for what cannot be read of them.
func TestUnbuilt(t *testing.T) {
	t.Chdir(t.TempDir())
	const service = "{apiVersion: v1, kind: Service, metadata: {name: cart}, spec: {ports: [{port: 80}]}}\n---\n"
	const cart = service + `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: cart}, spec: {parentRefs: [{group: "", kind: Service, name: cart, port: 80}], rules: [{backendRefs: [{name: cart, port: 80}]}]}}` + "\n"
	put(t, "base/cart.yaml", cart)
	put(t, "base/kustomization.yaml", "resources: [cart.yaml]\n")
	put(t, "overlays/dev/kustomization.yaml", "{resources: [../../base], namespace: dev}\n")
	put(t, "patched/patch.yaml", cart)
	put(t, "patched/kustomization.yaml", "{resources: [../base], patches: [{path: patch.yaml}]}\n")
	put(t, "overlays/a b/kustomization.yml", "{resources: [../../base], namespace: prod}\n")
	put(t, "chart/Chart.yaml", "{apiVersion: v2, name: shop, version: 1.0.0}\n")
	put(t, "chart/templates/cart.yaml", strings.ReplaceAll(cart, "{name: cart}", "{name: cart, namespace: {{ .Release.Namespace }}}"))
	put(t, "chart/charts/sub/Chart.yaml", "{apiVersion: v2, name: sub, version: 1.0.0}\n")
	put(t, "chart/charts/sub/templates/map.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: {{ .Release.Name }}}}\n")
	put(t, "part/patch.yaml", cart)
	put(t, "part/kustomization.yaml", "{apiVersion: kustomize.config.k8s.io/v1alpha1, kind: Component, patches: [{path: patch.yaml}]}\n")
	put(t, "plain/cart.yaml", cart)
	put(t, "crds/kustomization.yaml", "resources: [tcproutes.yaml]\n")
	put(t, "crds/tcproutes.yaml", definition)
	commit(t)
	const (
		dev      = "overlays/dev: its kustomization is read as plain files; to build it, use -k overlays/dev\n"
		overlays = "overlays: 2 kustomizations are read as plain files: overlays/a b, overlays/dev; to build one, name it with -k\n"
		chart    = "chart: its Helm chart is read as plain files; to render it, use --helm chart\n"
		part     = "part: its component is read as plain files; a kustomization that uses it builds it\n"
		lacks    = "error: Service cart is not in the input; add it, or use --cluster; "
	)
	for args, want := range map[string]string{
		"trace cart:80 -f overlays/dev":                      lacks + dev,
		"trace cart:80 -f overlays/dev/kustomization.yaml":   lacks + dev,
		"trace cart:80 -f overlays":                          lacks + overlays,
		"trace cart:80 -f base":                              "note: base: its kustomization is read as plain files; to build it, use -k base\n",
		"trace cart:80 -f chart":                             "error: " + chart,
		"trace cart:80 -f chart/charts":                      "error: chart/charts/sub: its Helm chart is read as plain files; to render it, use --helm chart/charts/sub\n",
		"graph -f overlays/dev":                              "note: " + dev + "No routes to draw for any namespace.\n",
		"conflicts -f overlays/dev":                          "note: " + dev,
		"diff --base-ref HEAD -f overlays/dev":               "note: " + dev,
		"diff --base overlays -f overlays/dev":               "note: " + dev,
		"check -f overlays/dev":                              "note: " + dev,
		"check -f overlays":                                  "note: " + overlays,
		"check -f chart --fail-on never":                     "note: " + chart,
		"test --init overlays/dev":                           "note: " + dev + "error: there are no routes on Services in the input, so there is nothing to test\n",
		"test --init chart/gammaguard-test.yaml":             "error: " + chart,
		"trace cart:80 -f base/cart.yaml":                    "note: base: its kustomization is read as plain files; to build it, use -k base\n",
		"check -f patched/patch.yaml":                        "note: patched: its kustomization is read as plain files; to build it, use -k patched\n",
		"check -f chart/templates/cart.yaml --fail-on never": "note: " + chart,
		"check -f chart/templates --fail-on never":           "note: " + chart,
		"trace cart:80 -f chart/templates":                   "error: " + chart,
		"check -f part":                                      "note: " + part,
		"check -f part/patch.yaml":                           "note: " + part,
		"trace cart:80 -f plain/cart.yaml":                   "",
		"trace cart:80 -f plain":                             "",
		"trace cart:80 -f plain --crds crds":                 "",
		"check -f plain --crds crds":                         "",
		"check -f base --crds crds":                          "note: base: its kustomization is read as plain files; to build it, use -k base\n",
		"trace cart:80 -k overlays/dev":                      "",
		"trace cart:80 -k overlays/dev/kustomization.yaml":   "",
		"trace cart:80 --helm chart":                         "",
		"trace cart:80 --helm chart/Chart.yaml":              "",
		"graph -f plain":                                     "",
		"check overlays":                                     "",
		"check base":                                         "",
	} {
		got := run(t, "", strings.Fields(args)...)
		if said := got.stdout + got.stderr; !strings.Contains(said, want) || want == "" && strings.Contains(said, "plain files") || strings.Contains(said, "map[") {
			t.Errorf("%s: want %q\n%+v", args, want, got)
		}
		if strings.Contains(want, "error: ") != (got.code == ExitUsage) {
			t.Errorf("%s: %+v", args, got)
		}
	}
	if got := run(t, "", "diff", "--base-ref", "HEAD", "-f", "chart"); got.stderr != "error: "+chart { // as it is now, and not HEAD:chart
		t.Errorf("a chart in both versions: %+v", got)
	}
	if err := os.RemoveAll("chart"); err != nil {
		t.Fatal(err)
	}
	if got := run(t, "", "diff", "--base-ref", "HEAD", "-f", "."); !strings.HasSuffix(got.stderr, "; to render one, name it with --helm as it is now, or name no input\n") {
		t.Errorf("a chart that is gone: %+v", got)
	}
	if got := run(t, "", "trace", "cart:80", "-f", "overlays/a b"); !strings.Contains(got.stderr, "use -k 'overlays/a b'\n") {
		t.Errorf("a path with a space: %+v", got)
	}
}

// TestUnbuiltSets: a set of files that has a kustomization, or a chart, does not build it, which is said, and fails a strict check where it may make routes.
func TestUnbuiltSets(t *testing.T) {
	deployed(t)
	put(t, ".gammaguard.yaml", "apiVersion: gammaguard.dev/v1alpha1\nkind: CheckConfiguration\nsets: [{files: [prod, chart/Chart.yaml]}, {files: [plain]}, {kustomization: test}]\n")
	commit(t)
	const (
		note  = "prod: its kustomization is read as plain files; to build it, name it in sets of .gammaguard.yaml as kustomization, and not in files\n"
		chart = "chart: its Helm chart is read as plain files; to render it, name it in sets of .gammaguard.yaml as chart, and not in files\n"
		why   = ", and that files in sets of .gammaguard.yaml read as plain files; name it there as "
	)
	got := run(t, "", "check", "--strict")
	for _, want := range []string{"note: " + note, "note: " + chart, "not checked: prod: a kustomization that may make or change routes" + why + "kustomization\n", "not checked: chart: a chart that may make routes" + why + "chart\n"} {
		if got.code != ExitUsage || !strings.Contains(got.stdout, want) {
			t.Errorf("check: no %q: %+v", want, got)
		}
	}
	if got := run(t, "", "diff", "--base-ref", "HEAD"); got.code != ExitClean || !strings.Contains(got.stdout, "note: "+note) || !strings.Contains(got.stdout, " unchanged; 2 sets not compared\n") {
		t.Errorf("diff: %+v", got)
	}
	put(t, ".gammaguard.yaml", "apiVersion: gammaguard.dev/v1alpha1\nkind: CheckConfiguration\nsets: [{files: [base]}, {files: [plain]}, {kustomization: prod}, {kustomization: test}, {chart: chart, values: [chart/values-prod.yaml]}]\n")
	if got := run(t, "", "check", "--strict"); strings.Contains(got.stdout, "not checked") || !strings.Contains(got.stdout, "note: base: its kustomization ") {
		t.Errorf("a base that is built elsewhere: %+v", got)
	}
}

// TestGraphFindsNamespace: as trace does.
func TestGraphFindsNamespace(t *testing.T) {
	if got := run(t, "", "graph", "-f", exampleShop, "service/checkout"); got.code != ExitClean || !strings.Contains(got.stdout, "GRPCRoute checkout") {
		t.Errorf("%+v", got)
	}
	if got := run(t, "", "graph", "-f", exampleShop, "service/nowhere"); got.code != ExitUsage || !strings.HasPrefix(got.stderr, "error: Service nowhere is not in the input") {
		t.Errorf("%+v", got)
	}
}

// TestStumbles: what is easily given in place of what a command takes, and what it says or does then.
func TestStumbles(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "a/cart.yaml", "")
	for args, want := range map[string]string{
		"trace cart:80/v2":         `error: "cart:80/v2": the protocol must be TCP or UDP; to name a path, use http://cart:80/v2` + "\n",
		"trace svc/cart:80/v2?a=b": `error: "svc/cart:80/v2?a=b": the protocol must be TCP or UDP; to name a path, use http://cart:80/v2?a=b` + "\n",
		"trace cart:80 manifests":  "error: specify one Service port; name files with -f, -k, or --helm, and the path of the request with --path\n",
		"graph manifests":          `error: specify one service/NAME or serviceimport/NAME, not "manifests"; to draw manifests, use -f, -k, or --helm` + "\n",
		"check -":                  "error: to read standard input, use -f -\n",
		"diff --base a -":          "error: to read standard input, use -f -\n",
		"diff --cluster -":         "error: to read standard input, use -f -\n",
		"check none":               "error: none: no such file or directory\n",
		"test none":                "error: none: no such file or directory\n",
		"diff --base none a":       "error: --base none: no such file or directory\nSee 'gammaguard diff --help' for usage\n",
		"trace cart:80 -f none":    "error: none: no such file or directory\n",
	} {
		if got := run(t, "", strings.Fields(args)...); got.code != ExitUsage || !strings.HasPrefix(got.stderr, want) {
			t.Errorf("%s: want %q\n%+v", args, want, got)
		}
	}
}
