package command

import (
	"os"
	"strings"
	"testing"
)

// TestDiffOfGrownSets: a set that .gammaguard.yaml gives one more path, or one path less, is the same set. One that may be another environment is not.
func TestDiffOfGrownSets(t *testing.T) {
	const (
		sets  = projectHeader + "sets:\n"
		chart = "- {chart: chart, values: [chart/values-prod.yaml]}\n"
		both  = "- {chart: chart, values: [chart/values-prod.yaml, chart/more.yaml]}\n"
		plain = "- files: [plain]\n"
		clean = "no change; "
		names = "{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {gammaguard.dev/grant: GRANT}}}\n"
		pay   = "\n  any  pay-v2:80 100 %  →  pay-v3:80 100 %\n"
	)
	remove := func(name string) func() {
		return func() {
			if err := os.RemoveAll(name); err != nil {
				t.Fatal(err)
			}
		}
	}
	granted := func() { put(t, "names/shop.yaml", strings.Replace(names, "GRANT", "producer", 1)) }
	const applies = "  any  web:80 100 %  →  web-v1:80 100 % (HTTPRoute shop/web applies now)\n"
	for _, test := range []struct {
		name, before, after string
		change              func()
		args, want, note    string
	}{
		{
			"one more values file", chart, both, func() { put(t, "chart/more.yaml", "backend: pay-v3\n") },
			"", pay, "chart chart with chart/values-prod.yaml, chart/more.yaml is compared with chart HEAD:chart with HEAD:chart/values-prod.yaml", //nolint:dupword // kinds and names
		},
		{"of which PATH is one", chart, both, func() { put(t, "chart/more.yaml", "backend: pay-v3\n") }, "chart/more.yaml", strings.TrimPrefix(pay, "\n"), "is compared with"},
		{"values are split", chart, both, func() { put(t, "chart/more.yaml", "backend: pay-v2\n") }, "", clean, "is compared with"},
		{"one values file less", "- {chart: chart, values: [chart/old.yaml, chart/values-prod.yaml]}\n", chart, remove("chart/old.yaml"), "", clean, "is compared with"},
		{"values that both versions have", "- {chart: chart, values: [chart/old.yaml]}\n", "- {chart: chart, values: [chart/old.yaml, chart/values-prod.yaml]}\n", nil, "", "\n  any  pay-v1:80 100 %  →  pay-v2:80 100 %\n", "is compared with"},
		{"two environments of the one", "- {chart: chart, values: [chart/old.yaml]}\n", "- {chart: chart, values: [chart/old.yaml, chart/test.yaml]}\n" + "- {chart: chart, values: [chart/old.yaml, chart/values-prod.yaml]}\n", nil, "", "no change in what was compared; ", "the base has it too"},
		{"one more for two of which one has the other", chart + "- {chart: chart, values: [chart/values-prod.yaml, chart/test.yaml]}\n", both + "- {chart: chart, values: [chart/values-prod.yaml, chart/test.yaml, chart/more.yaml]}\n", func() { put(t, "chart/more.yaml", "backend: pay-v3\n") }, "", "  any  pay-v1:80 100 %  →  pay-v3:80 100 %\n", "with HEAD:chart/values-prod.yaml, HEAD:chart/test.yaml of the base"},
		{"a directory in the place of its kustomization", "- kustomization: prod\n", "- files: [prod]\n", func() {
			remove("prod/kustomization.yaml")()
			put(t, "prod/cart.yaml", strings.ReplaceAll(contents(t, "base/cart.yaml"), "cart-v1", "cart-v2"))
		}, "", "\n  any  cart-v1:80 100 %  →  cart-v2:80 100 %\n", "directory prod is compared with kustomization HEAD:prod of the base"},
		{"a directory in the place of its kustomization, with the same file", "- kustomization: base\n", "- files: [base]\n", func() {
			remove("base/kustomization.yaml")()
			put(t, "base/cart.yaml", strings.ReplaceAll(contents(t, "base/cart.yaml"), "cart-v1", "cart-v2"))
		}, "", "\n  any  cart-v1:80 100 %  →  cart-v2:80 100 %\n", "directory base is compared with kustomization HEAD:base of the base"},
		{"a kustomization that lacks a file", "- files: [plain]\n", "- kustomization: plain\n", func() { put(t, "plain/kustomization.yaml", "resources: []\n") }, "", "web-v1:80 100 %  →  no such Service", "kustomization plain is compared with directory HEAD:plain of the base"},
		{"a chart in the place of a directory", plain, "- chart: plain\n", func() {
			put(t, "plain/Chart.yaml", "{apiVersion: v2, name: web, version: 1.0.0}")
			put(t, "plain/templates/web.yaml", strings.ReplaceAll(contents(t, "plain/web.yaml"), "web-v1", "web-v2"))
			remove("plain/web.yaml")()
		}, "", "\n  any  web-v1:80 100 %  →  web-v2:80 100 %\n", "chart plain is compared with directory HEAD:plain of the base"},
		{"a chart with values in the place of a directory", plain, "- {chart: plain, values: [plain/prod.yaml]}\n", func() {
			put(t, "plain/Chart.yaml", "{apiVersion: v2, name: web, version: 1.0.0}")
			put(t, "plain/prod.yaml", "a: b\n")
			put(t, "plain/templates/web.yaml", contents(t, "plain/web.yaml"))
			remove("plain/web.yaml")()
		}, "", "HTTPRoute shop/web was removed", "moved from directory HEAD:plain to chart plain with plain/prod.yaml"},
		{"another order", "- files: [plain, there]\n", "- files: [there, plain]\n", nil, "", clean, ""},
		{"a kustomization in its place", plain, "- kustomization: plain\n", func() {
			put(t, "plain/kustomization.yaml", "resources: [web.yaml]\n")
			put(t, "plain/web.yaml", strings.ReplaceAll(contents(t, "plain/web.yaml"), "web-v1", "web-v2"))
		}, "", "\n  any  web-v1:80 100 %  →  web-v2:80 100 %\n", "kustomization plain is compared with directory HEAD:plain of the base"},
		{"a kustomization of several directories", "- files: [plain, there]\n", "- kustomization: .\n", func() {
			put(t, "kustomization.yaml", "resources: [plain/web.yaml, there/there.yaml]\n")
			put(t, "plain/web.yaml", strings.ReplaceAll(contents(t, "plain/web.yaml"), "web-v1", "web-v2"))
		}, "", "\n  any  web-v1:80 100 %  →  web-v2:80 100 %\n", "kustomization . is compared with directory HEAD:plain, HEAD:there of the base"},
		{"the file of a kustomization", "- kustomization: prod\n", "- files: [base/cart.yaml]\n", nil, "", clean, "file base/cart.yaml is compared with kustomization HEAD:prod of the base"},
		{"two kustomizations that it may be", "- files: [base/cart.yaml]\n", "- kustomization: new\n- kustomization: newer\n", func() {
			put(t, "new/kustomization.yaml", "resources: [../base]\n")
			put(t, "newer/kustomization.yaml", "resources: [../base]\n")
		}, "", "(new HTTPRoute shop/cart)", "moved from file HEAD:base/cart.yaml to kustomization new, kustomization newer"},
		{
			"a kustomization of other files", plain, "- kustomization: new\n", func() { put(t, "new/kustomization.yaml", "resources: [../base]\n") },
			"", "(new HTTPRoute shop/cart)", "directory plain is not compared: it is still there",
		},
		{"what becomes context", "- files: [plain, names]\n", plain + "context: [names]\n", granted, "", applies, "is compared with"},
		{"what was context", plain + "context: [names]\n", "- files: [plain, names]\n", granted, "", applies, "is compared with"},
		{"routes that become context", "- files: [plain, there]\n", plain + "context: [there]\n", nil, "", "no change in what was compared; ", "there/there.yaml is not compared: it is still there"},
		{"other values", "- {chart: chart, values: [chart/old.yaml, chart/test.yaml]}\n", "- {chart: chart, values: [chart/old.yaml, chart/more.yaml]}\n", func() {
			remove("chart/test.yaml")()
			put(t, "chart/more.yaml", "backend: pay-v3\n")
		}, "", "(new HTTPRoute shop/pay)", "moved from"},
		{"no values", "- chart: chart\n", "- {chart: chart, values: [chart/more.yaml]}\n", func() { put(t, "chart/more.yaml", "backend: pay-v3\n") }, "", "(new HTTPRoute shop/pay)", "is not compared"},
		{"two that it may be", chart, both + "- {chart: chart, values: [chart/values-prod.yaml, chart/most.yaml]}\n", func() {
			put(t, "chart/more.yaml", "backend: pay-v3\n")
			put(t, "chart/most.yaml", "backend: pay-v3\n")
		}, "", "(new HTTPRoute shop/pay)", "is not compared"},
		{
			"one more directory", plain, "- files: [plain, new]\n", func() { put(t, "new/new.yaml", strings.ReplaceAll(contents(t, "plain/web.yaml"), "web", "new")) },
			"", "\n1 Service, 1 change; 1 other ", "directory plain, new is compared with directory HEAD:plain",
		},
		{
			"of which PATH is one", plain, "- files: [plain, new]\n", func() { put(t, "new/new.yaml", strings.ReplaceAll(contents(t, "plain/web.yaml"), "web", "new")) },
			"new", "\n1 Service, 1 change; 1 other ", "is compared with",
		},
		{"files move to it", plain, "- files: [plain, new]\n", func() {
			put(t, "new/web.yaml", contents(t, "plain/web.yaml"))
			put(t, "plain/web.yaml", "")
		}, "", clean, "is compared with"},
		{"one more that was there", plain, "- files: [plain, there]\n", nil, "", "no change in what was compared; ", "there/there.yaml is not compared: the base has it too"},
		{"one directory less", "- files: [plain, there]\n", plain, nil, "", "no change in what was compared; ", "there/there.yaml is not compared: it is still there"},
		{"which is removed", "- files: [plain, there]\n", plain, remove("there"), "", "there-v1:80 100 %  →  no such Service (Service shop/there is no longer in the input)\n", "is compared with"},
		{"the directory that has it", "- files: [plain/web.yaml]\n", plain, nil, "", clean, "is compared with"},
		{"one directory in the place of another one", "- files: [plain, there]\n", "- files: [plain, new]\n", func() {
			remove("there")()
			put(t, "new/there.yaml", strings.ReplaceAll(contents(t, "plain/web.yaml"), "web", "there"))
		}, "", clean, "directory plain, new is compared with directory HEAD:plain, HEAD:there of the base"},
		{"two that it may be", "- files: [plain]\n- files: [there]\n", "- files: [plain, there]\n", nil, "", "(new HTTPRoute shop/web)", "moved from"},
	} {
		t.Run(test.name, func(t *testing.T) {
			deployed(t)
			put(t, "there/there.yaml", strings.ReplaceAll(contents(t, "plain/web.yaml"), "web", "there"))
			put(t, "names/shop.yaml", strings.Replace(names, "GRANT", "none", 1))
			put(t, "chart/old.yaml", "other: 1\n")
			put(t, "chart/test.yaml", "backend: pay-v1\n")
			put(t, ".gammaguard.yaml", sets+test.before)
			commit(t)
			put(t, ".gammaguard.yaml", sets+test.after)
			if test.change != nil {
				test.change()
			}
			got := run(t, "", append([]string{"diff", "--base-ref", "HEAD"}, strings.Fields(test.args)...)...)
			compared := strings.Contains(test.note, "compared with")
			if !strings.Contains(got.stdout, test.want) || !strings.Contains(got.stdout, test.note) || got.stderr != "" ||
				compared && (strings.Contains(got.stdout, "not compared") || strings.Contains(got.stdout, "moved from") || strings.Contains(got.stdout, "new HTTPRoute shop/pay") || strings.Contains(got.stdout, "new HTTPRoute shop/web")) {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestDiffOfEmptyDirectory: a directory that is left without files is gone, as in git.
func TestDiffOfEmptyDirectory(t *testing.T) {
	deployed(t)
	put(t, ".gammaguard.yaml", projectHeader+"sets: [{files: [plain]}]\n")
	commit(t)
	put(t, ".gammaguard.yaml", projectHeader+"sets: [{files: [deploy]}]\n")
	put(t, "deploy/web.yaml", contents(t, "plain/web.yaml"))
	if err := os.Remove("plain/web.yaml"); err != nil {
		t.Fatal(err)
	}
	if got := run(t, "", "diff", "--base-ref", "HEAD"); !strings.Contains(got.stdout, "moved from directory HEAD:plain to directory deploy") || strings.Contains(got.stdout, "not compared") {
		t.Errorf("%+v", got)
	}
}

// TestDiffOfOtherSet: a Service that changes, or goes, is noted where routes of another set are on it, whether its own directory has routes or not. One that
// moves is not.
func TestDiffOfOtherSet(t *testing.T) {
	const (
		service = "{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: shop}, spec: {ports: [{port: 80}]}}\n"
		note    = "note: Service shop/cart has routes in directory routes, too. Each set is compared by itself"
	)
	for name, test := range map[string]struct {
		text string
		is   bool
	}{
		"services/cart.yaml": {strings.Replace(service, "80", "8080", 1), true},
		"services/web.yaml":  {strings.ReplaceAll(service, "cart", "web"), false},
		"services/new.yaml":  {service, false},
		"services":           {"", true},
	} {
		t.Chdir(t.TempDir())
		put(t, "services/cart.yaml", service)
		put(t, "routes/cart.yaml", `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: cart, namespace: shop}, spec: {parentRefs: [{group: "", kind: Service, name: cart, port: 80}], rules: [{backendRefs: [{name: v1, port: 80}]}]}}`+"\n")
		commit(t)
		switch {
		case test.text == "":
			if err := os.RemoveAll(name); err != nil {
				t.Fatal(err)
			}
		case name == "services/new.yaml":
			if err := os.Rename("services/cart.yaml", name); err != nil {
				t.Fatal(err)
			}
		default:
			put(t, name, test.text)
		}
		if got := run(t, "", "diff", "--base-ref", "HEAD"); got.code != ExitClean || strings.Contains(got.stdout, note) != test.is {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
