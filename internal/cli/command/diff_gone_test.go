package command

import (
	"os"
	"strings"
	"testing"
)

// TestDiffJudgesRemoved: what only the base has does not exist after the change, for findings as for what requests meet.
func TestDiffJudgesRemoved(t *testing.T) {
	const (
		project   = "apiVersion: gammaguard.dev/v1alpha1\nkind: CheckConfiguration\ncontext: [shared]\n"
		namespace = "{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {gammaguard.dev/grant: producer}}}\n"
		service   = "{apiVersion: v1, kind: Service, metadata: {name: NAME, namespace: shop}, spec: {ports: [{name: http, port: 80}]}}\n"
		route     = `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: cart, namespace: shop}, spec: {parentRefs: [{group: "", kind: Service, name: cart}], rules: [{backendRefs: [{name: cart-v1, port: 80, weight: 90}, {name: cart-v2, port: 80, weight: 10}]}]}}` + "\n"
	)
	t.Chdir(t.TempDir())
	start := func() {
		put(t, ".gammaguard.yaml", project)
		put(t, "shared/shop.yaml", namespace)
		for _, name := range []string{"cart", "cart-v1", "cart-v2"} {
			put(t, "shop/"+name+".yaml", strings.ReplaceAll(service, "NAME", name))
		}
		put(t, "shop/route.yaml", route)
		put(t, "other/route.yaml", strings.NewReplacer("name: cart,", "name: other,", "name: cart}", "name: other}").Replace(route))
		put(t, "bare/any.yaml", "")
	}
	start()
	commit(t)
	gone := func(name string) func() {
		return func() {
			if err := os.Remove(name); err != nil {
				t.Fatal(err)
			}
		}
	}
	const missing = "Service shop/cart-v2 does not exist"
	for _, test := range []struct {
		name       string
		change     func()
		want, lack string
	}{
		{"a backend", gone("shop/cart-v2.yaml"), missing, "unknown"},
		{"the parent", gone("shop/cart.yaml"), "Service shop/cart does not exist", "unknown"},
		{"the Namespace, out of the context", gone("shared/shop.yaml"), "(grant-missing)", "unknown"},
		{"a backend moves", func() {
			gone("shop/cart-v2.yaml")()
			put(t, "other/v2.yaml", strings.ReplaceAll(service, "NAME", "cart-v2"))
		}, "no change", "new findings"},
		{"a backend moves out of PATH", func() {
			gone("shop/cart-v2.yaml")()
			put(t, "other/v2.yaml", strings.ReplaceAll(service, "NAME", "cart-v2"))
		}, "no longer below PATH: Service shop/cart-v2. ", "unknown"},
		{"a route moves out of PATH", func() {
			gone("shop/route.yaml")()
			put(t, "bare/any.yaml", route)
		}, "no longer below PATH: HTTPRoute shop/cart. ", "unknown"},
		{"the context is no longer named", func() { put(t, ".gammaguard.yaml", strings.Replace(project, "context: [shared]\n", "", 1)) }, "no change", "new findings"},
	} {
		t.Run(test.name, func(t *testing.T) {
			start()
			test.change()
			args := []string{"diff", "--base-ref", "HEAD"}
			if strings.HasSuffix(test.name, " out of PATH") {
				args = append(args, "shop")
			}
			got := run(t, "", args...)
			if !strings.Contains(got.stdout, test.want) || strings.Contains(got.stdout, "below PATH") != (len(args) > 3) || strings.Contains(got.stdout, test.lack) || got.stderr != "" {
				t.Errorf("want %q, and no %q:\n%s%s", test.want, test.lack, got.stdout, got.stderr)
			}
		})
	}
	start()
	for _, format := range []string{"text", "markdown", "json"} {
		gone("shop/cart-v2.yaml")()
		if got := run(t, "", "diff", "--base-ref", "HEAD", "-f", "shop", "-o", format); !strings.Contains(got.stdout, missing) || strings.Contains(got.stdout, "is not in the input; ") {
			t.Errorf("-f: %+v", got)
		}
		start()
	}
}
