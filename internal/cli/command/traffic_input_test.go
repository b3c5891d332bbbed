package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDiffOfKustomizations: the base of a kustomization is one too, whether it is a
// folder or in a git revision.
func TestDiffOfKustomizations(t *testing.T) {
	main, err := filepath.Abs(trafficFolder + "/main")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.CopyFS("base", os.DirFS(main)); err != nil {
		t.Fatal(err)
	}
	const patch = `patches: [{patch: '[{"op": "replace", "path": "/spec/rules/1/backendRefs/0/name", "value": "cart-v2"}]', target: {kind: HTTPRoute}}]` + "\n"
	put(t, "base/kustomization.yaml", "resources: [services.yaml, cart.yaml]\n")
	put(t, "overlay/kustomization.yaml", "resources: [../base]\n")
	commit(t)
	put(t, "changed/kustomization.yaml", "resources: [../overlay]\n"+patch)
	const want = `service shop/cart port 80, producer
  any  /v1*                       cart-v1:8080 100 %  →  cart-v2:8080 100 %
  any  /v2* (except tenant=gold)  cart-v1:8080 100 %  →  cart-v2:8080 100 %
1 Service, 2 changes; 2 other request classes unchanged
`
	compare := func(args string) {
		t.Helper()
		got := run(t, "", append([]string{"diff"}, strings.Fields(args)...)...)
		if diff := cmp.Diff(result{ExitFindings, want, ""}, got, cmp.AllowUnexported(result{})); diff != "" {
			t.Errorf("%s (-want +got)\n%s", args, diff)
		}
	}
	compare("--base overlay -k changed")
	put(t, "overlay/kustomization.yaml", "resources: [../base]\n"+patch)
	compare("--base-ref HEAD -k overlay")
	put(t, "base/cart.yaml", "a: [")
	if got := run(t, "", "diff", "--base-ref", "HEAD", "-f", "base"); got.code != ExitUsage || !strings.HasPrefix(got.stderr, "error: base/cart.yaml:1: broken YAML") {
		t.Errorf("%+v", got)
	}
}

// TestDiffOfCharts: the base of a chart is one too, whether it is a folder or in a git
// revision, where the values files are as they were. Trace renders charts as well.
func TestDiffOfCharts(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "shop/Chart.yaml", "{apiVersion: v2, name: shop, version: 1.0.0}")
	put(t, "shop/values.yaml", "backend: cart-v1")
	put(t, "shop/templates/cart.yaml", `{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: shop}, spec: {ports: [{port: 80}]}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: cart, namespace: shop}
spec: {parentRefs: [{group: "", kind: Service, name: cart}], rules: [{backendRefs: [{name: {{ .Values.backend }}, port: 80}]}]}
`)
	put(t, "production.yaml", "backend: cart-v2")
	commit(t)
	if err := os.CopyFS("changed", os.DirFS("shop")); err != nil {
		t.Fatal(err)
	}
	put(t, "changed/values.yaml", "backend: cart-v3")
	put(t, "production.yaml", "backend: cart-v4")
	put(t, "east.yaml", "backend: cart-v5")
	for args, want := range map[string]string{
		"diff --base shop --helm changed":                                     "any  cart-v1:80 100 %  →  cart-v3:80 100 %",
		"diff --base shop --helm changed --values production.yaml":            "no change; 1 request class unchanged",
		"diff --base-ref HEAD --helm shop":                                    "no change; 1 request class unchanged",
		"diff --base-ref HEAD shop":                                           "no change; 1 request class unchanged",
		"diff --base shop changed":                                            "any  cart-v1:80 100 %  →  cart-v3:80 100 %",
		"diff --base-ref HEAD --helm shop --values production.yaml":           "any  cart-v2:80 100 %  →  cart-v4:80 100 %",
		"diff --base-ref HEAD --helm changed":                                 "cart-v3:80 100 % (new HTTPRoute shop/cart)",
		"diff --base-ref HEAD --helm shop --values east.yaml":                 "note: shop: compared as new: the base does not have east.yaml\n",
		"diff --base-ref HEAD --helm shop --values production.yaml,east.yaml": "\nnote: shop: rendered without east.yaml, which the base does not have\n1 Service, 1 change",
		"trace service/cart:80 --helm shop":                                   "→ Service cart-v1:80 100 %",
		"trace cart --helm shop":                                              "→ Service cart-v1:80 100 %",
		"trace http://cart.shop/x --helm shop":                                "→ Service cart-v1:80 100 %",
		"trace http://cart/x --from shop --helm shop":                         "→ Service cart-v1:80 100 %",
		"trace http://cart/x --from lab --helm shop":                          "error: Service lab/cart is not in the input",
		"trace service/cart:80 --helm shop --values production.yaml":          "→ Service cart-v4:80 100 %",
		"trace service/cart:80 -f shop/values.yaml --values production.yaml":  "error: --values has no effect without --helm",
		"diff --base-ref HEAD -f shop/values.yaml --values production.yaml":   "error: --values has no effect without --helm",
		"diff --base shop --helm missing":                                     "error: chart missing: ",
	} {
		if got := run(t, "", strings.Fields(args)...); !strings.Contains(got.stdout+got.stderr, want) {
			t.Errorf("%s: want %q in %+v", args, want, got)
		}
	}
}

// TestTrafficWithoutRefused: a route that the API server refuses by its definition has no
// effect, and the output says so.
func TestTrafficWithoutRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	route := func(name, path string) string {
		return "{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: " + name + ", namespace: shop}, spec: {parentRefs: [{group: \"\", kind: Service, name: cart}]," +
			"rules: [{matches: [{path: {value: " + path + "}}], backendRefs: [{name: " + name + ", port: 80}]}]}}\n---\n"
	}
	base := "{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: shop}, spec: {ports: [{port: 80}]}}\n---\n" + route("web", "/")
	for name, text := range map[string]string{"base.yaml": base, "change.yaml": base + route("refused", "no-slash"), "type.yaml": base + route("type", "[1]")} {
		put(t, name, text)
	}
	for args, want := range map[string]string{
		"diff --base base.yaml -f change.yaml": "note: HTTPRoute shop/refused is left out, because the API server rejects it: run gammaguard check for details\nnote: namespace shop is not in the input: it is assumed to have the grant\n" +
			"no change in what was compared; 1 request class unchanged; 1 route left out\n\nnew findings:\nchange.yaml\n",
		"diff --base change.yaml -f base.yaml": "note: before, HTTPRoute shop/refused is left out, because the API server rejects it\nnote: namespace shop is not in the input: it is assumed to have the grant\n" +
			"no change in what was compared; 1 request class unchanged; 1 route left out\n",
		"diff --base base.yaml -f type.yaml": "note: HTTPRoute shop/type is left out",
		"trace service/cart:80 --path /no-slash -f change.yaml": "→ Service web:80 100 %\n" +
			"note: namespace shop is not in the input: it is assumed to have the grant\n" +
			"note: Service shop/web is not in the input: it is assumed to exist\n" +
			"note: HTTPRoute shop/refused is left out, because the API server rejects it: run gammaguard check for details\n",
	} {
		if got := run(t, "", strings.Fields(args)...); got.code != ExitClean || !strings.Contains(got.stdout, want) {
			t.Errorf("%s: want %q in %+v", args, want, got)
		}
	}
	put(t, "alone.yaml", route("refused", "no-slash")+route("type", "[1]"))
	const left = "HTTPRoute shop/refused is left out, because the API server rejects it: run gammaguard check for details, HTTPRoute shop/type is left out"
	if got := run(t, "", "trace", "service/cart.shop:80", "-f", "alone.yaml"); got.code != ExitUsage || !strings.Contains(got.stderr, "is not in the input; add it, or use --cluster; "+left) || strings.Contains(got.stderr, "no route") {
		t.Errorf("the Service is in no input: %+v", got)
	}
	weight := func(name, weight string) {
		put(t, name, strings.Replace(base, "port: 80}]}]}}", "port: 80, weight: \"${weight:="+weight+"}\"}]}]}}", 1))
	}
	weight("five.yaml", "5")
	weight("twenty.yaml", "20")
	for format, want := range map[string]string{
		"text": "note: HTTPRoute shop/web is left out, because the API server rejects it as it is written: substitute the variable first\n" +
			"no change in what was compared; 0 request classes unchanged; 1 route left out\n",
		"markdown": "**no change in what was compared; 0 request classes unchanged; 1 route left out**\n",
		"json":     "\"leftOut\": [\n    \"HTTPRoute shop/web\"\n  ]",
	} {
		for _, input := range []string{"-f twenty.yaml --base five.yaml", "twenty --base five"} {
			weight("five/all.yaml", "5")
			weight("twenty/all.yaml", "20")
			if got := run(t, "", append(strings.Fields("diff "+input), "-o", format)...); got.code != ExitClean || !strings.Contains(got.stdout, want) {
				t.Errorf("%s, %s: want %q in %+v", input, format, want, got)
			}
		}
	}
	put(t, "variable.yaml", strings.Replace(base, "{name: web, port", "{name: \"${app}\", port", 1))
	const refers = "HTTPRoute shop/web refers to a name with a variable, which is taken as it is written"
	for args, want := range map[string]string{
		"diff --base base.yaml -f variable.yaml":     "note: " + refers + ": substitute the variable first\n",
		"diff --base variable.yaml -f variable.yaml": "note: " + refers + ": substitute the variable first\nnote: namespace",
		"diff --base variable.yaml -f base.yaml":     "note: before, " + refers + "\n",
		"check -f variable.yaml":                     "\n  Substitute the variable before the check.\n",
	} {
		if got := run(t, "", strings.Fields(args)...); !strings.Contains(got.stdout, want) {
			t.Errorf("%s: want %q in %+v", args, want, got)
		}
	}
}

// TestDiffKeepsRefused: a route whose new version the API server rejects, or may reject, is compared as it was, and the output says so. What else
// the change does to its requests is shown.
func TestDiffKeepsRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	const (
		service = "{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: shop}, spec: {ports: [{port: 80}]}}\n---\n"
		other   = "---\n{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: other, namespace: shop}, spec: {parentRefs: [{group: \"\", kind: Service, name: cart}]," +
			"rules: [{matches: [{path: {value: /web}}, {path: {value: /other}}], backendRefs: [{name: other, port: 80}]}]}}\n"
		details = ": run gammaguard check for details"
		left    = "; 1 route left out\n"
	)
	route := func(path, backend string) string {
		return "{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: web, namespace: shop}, spec: {parentRefs: [{group: \"\", kind: Service, name: cart}]," +
			"rules: [{matches: [{path: {value: " + path + "}}], backendRefs: [" + backend + "]}]}}\n"
	}
	const backend = "{name: web, port: 80}"
	put(t, "base/all.yaml", service+route("/web", backend))
	for _, test := range []struct {
		name, change string
		code         int
		note, rest   string
	}{
		{"rejected", route("no-slash", backend), ExitClean, "stays as it was, because the API server rejects its new version" + details, "no change in what was compared; 2 request classes unchanged" + left},
		{"of another type", route("[1]", backend), ExitClean, "stays as it was, because the API server rejects its new version" + details, "no change in what was compared; 2 request classes unchanged" + left},
		{"a variable", route("/more", "{name: web, port: 80, weight: \"${weight}\"}"), ExitClean, "is taken as it was, because the API server rejects its new version as it is written: substitute the variable first", "no change in what was compared; 2 request classes unchanged" + left},
		{"undecided", route("/more", "{name: web}"), ExitClean, "is taken as it was, because whether the API server rejects its new version depends on Service shop/web, which is not in the input" + details, "no change in what was compared; 2 request classes unchanged" + left},
		{
			"beside a new route", route("no-slash", backend) + other, ExitFindings, "stays as it was, because the API server rejects its new version" + details,
			"service shop/cart port 80, producer\n  any  /other*  404 (no rule matches)  →  other:80 100 % (new HTTPRoute shop/other)\n",
		},
	} {
		put(t, "head/all.yaml", service+test.change)
		for format, note := range map[string]string{"text": "note: %\n", "markdown": "> `%`\n", "json": "    \"%\""} {
			for _, input := range []string{"-f head --base base", "head --base base"} {
				got := run(t, "", append(strings.Fields("diff "+input), "-o", format)...)
				note := strings.Replace(note, "%", "HTTPRoute shop/web "+test.note, 1)
				if got.code != test.code || strings.Count(got.stdout, note) != 1 || format == "text" && !strings.Contains(got.stdout, test.rest) {
					t.Errorf("%s, %s, %s: want %q and %q, got\n%s%s", test.name, input, format, note, test.rest, got.stdout, got.stderr)
				}
			}
		}
	}
}

// TestDiffSaysWhatMutationsSet: a port that a mutation sets decides where the route is; it is listed, unless the base has it the same.
func TestDiffSaysWhatMutationsSet(t *testing.T) {
	t.Chdir(t.TempDir())
	const service = "{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {gammaguard.dev/grant: producer}}}\n---\n" +
		"{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: shop}, spec: {ports: [{name: http, port: 80}, {name: admin, port: 8081}]}}\n"
	route := func(name, parent string) string {
		return "---\n{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: " + name + ", namespace: shop}, spec: {parentRefs: [{group: \"\", kind: Service, name: cart, " + parent + "}]," +
			"rules: [{backendRefs: [{name: cart, port: 80}]}]}}\n"
	}
	old := route("old", "sectionName: http")
	put(t, "base.yaml", service+old)
	put(t, "head.yaml", service+old+route("new", "sectionName: admin"))
	for format, want := range map[string]string{
		"text":     "     7  change   HTTPRoute shop/new  set spec.parentRefs[0].port to 8081: ",
		"markdown": "| change | `head.yaml:7` | `HTTPRoute shop/new: set spec.parentRefs[0].port to 8081: ",
		"json":     `"mutation": "parent-port"`,
	} {
		if got := run(t, "", "diff", "--base", "base.yaml", "-f", "head.yaml", "-o", format); strings.Count(got.stdout, want) != 1 || strings.Contains(got.stdout, "port to 80:") {
			t.Errorf("%s: want %q in %s%s", format, want, got.stdout, got.stderr)
		}
	}
}

// TestAdviceNamesFlags: what to do about an object that the input lacks names only flags that the command has for it.
func TestAdviceNamesFlags(t *testing.T) {
	deployed(t)
	put(t, "new/a.yaml", orphan)
	put(t, "gammaguard-test.yaml", "{apiVersion: gammaguard.dev/v1alpha1, kind: TrafficTest, input: {files: [new]}, tests: [{name: a, request: {service: none, port: 80}, expect: {status: 404}}]}")
	for args, want := range map[string]string{
		"diff --base-ref HEAD new":             "are not in the input",
		"diff --base-ref HEAD new -o markdown": "or, if they do not exist, use --complete (",
		"test":                                 "      Service none is not in the input; add it\n",
	} {
		if got := run(t, "", strings.Fields(args)...); !strings.Contains(got.stdout, want) || strings.Contains(got.stdout, "--base") || strings.Contains(got.stdout, "--cluster") {
			t.Errorf("%s: want %q in %+v", args, want, got)
		}
	}
	if got := run(t, "", "check", "new"); !strings.Contains(got.stdout, "or use --base, --cluster, or, if they do not exist, --complete.") {
		t.Errorf("check: %+v", got)
	}
}

// TestNamespaceOfCharts: of a chart whose objects name no namespace, the message says how to give it one, and the command to
// see why a test failed has it.
func TestNamespaceOfCharts(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "c/Chart.yaml", "{apiVersion: v2, name: c, version: 1.0.0}\n")
	put(t, "c/templates/a.yaml", "{apiVersion: v1, kind: Service, metadata: {name: ledger}, spec: {ports: [{port: 80}]}}\n")
	put(t, "gammaguard-test.yaml", "{apiVersion: gammaguard.dev/v1alpha1, kind: TrafficTest, input: {chart: c}, tests: [{name: a, request: {service: pay/ledger, port: 80}, expect: {status: 404}}]}")
	const why = "Service pay/ledger is not in the input, which has Service default/ledger; if this is meant, set its namespace with -n\n"
	for args, want := range map[string]string{
		"test": why, "trace service/ledger.pay:80 --helm c": why,
		"test -n pay": "to see why, run gammaguard trace service/ledger.pay:80 --from pay --helm c -n pay\n",
	} {
		if got := run(t, "", strings.Fields(args)...); got.code == ExitClean || !strings.Contains(got.stdout+got.stderr, want) {
			t.Errorf("%s: want %q in %+v", args, want, got)
		}
	}
}

// put writes a file, in its folder.
func put(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
