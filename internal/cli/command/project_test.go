package command

import (
	"strings"
	"testing"
)

const projectHeader = "apiVersion: gammaguard.dev/v1alpha1\nkind: CheckConfiguration\n"

// TestProject: commands that read manifests take the configuration and the context of .gammaguard.yaml, so that they agree
// with check and diff; flags take precedence.
func TestProject(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "shared/objects.yaml", "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}\n---\n"+
		"{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: shop}, spec: {ports: [{port: 80}]}}\n")
	const guard = "apiVersion: gammaguard.dev/v1alpha1\nkind: GuardConfiguration\n"
	put(t, "guard.yaml", guard+"mesh: kuma@2.13\ngrants: {default: all}\n")
	put(t, "other.yaml", guard+"mesh: linkerd\n")
	put(t, "manifests/route.yaml", "{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: cart, namespace: shop}, "+
		"spec: {parentRefs: [{group: \"\", kind: Service, name: cart}], rules: [{backendRefs: [{name: cart, port: 80}]}]}}\n")
	put(t, "tests/gammaguard-test.yaml", "apiVersion: gammaguard.dev/v1alpha1\nkind: TrafficTest\ninput: {files: [../manifests]}\n"+
		"tests: [{name: a, request: {service: shop/cart, port: 80}, expect: {route: HTTPRoute shop/cart}}]\n")
	given := verifiedProxy("outbound|80||cart.shop.svc.cluster.local")
	for _, c := range []struct{ command, decides, lacks string }{
		{"trace cart:80 -f manifests", "HTTPRoute shop/cart rule[0] match[0]", "lacks the producer grant"},
		{"graph -f manifests", "|any|", "no-grant"},
		{"conflicts -f manifests", "the only route", "no route applies"},
		{"test", "1 passed", "want HTTPRoute shop/cart to decide, got no route"},
		{"test tests", "1 passed", "want HTTPRoute shop/cart to decide, got no route"},
		{"test -f manifests", "1 passed", "want HTTPRoute shop/cart to decide, got no route"},
		{"test --init - -f manifests", "route: HTTPRoute shop/cart", "any, no match"},
		{"verify - --from faces -f manifests", "the mesh of the configuration is kuma@2.13", "the mesh of the configuration is linkerd"},
	} {
		put(t, ".gammaguard.yaml", projectHeader+"context: [shared]\nconfiguration: guard.yaml\n")
		says := func(want, without string, flags ...string) {
			t.Helper()
			got := run(t, given, append(strings.Fields(c.command), flags...)...)
			if out := got.stdout + got.stderr; !strings.Contains(out, want) || without != "" && strings.Contains(out, without) {
				t.Errorf("%s %q: no %q, or %q, in %+v", c.command, flags, want, without, got)
			}
		}
		says(c.decides, c.lacks)
		says(c.lacks, "", "--config", "other.yaml")
		put(t, ".gammaguard.yaml", projectHeader+"color: red\n")
		says("error: .gammaguard.yaml:3: color: unknown field; the fields here are ", "")
	}
	put(t, ".gammaguard.yaml", projectHeader+"context: [shared]\nconfiguration: guard.yaml\n")
	if got := run(t, given, "verify", "-", "--from", "faces", "-f", "manifests", "--mesh", "istio"); strings.Contains(got.stderr, "kuma") {
		t.Errorf("--mesh takes precedence: %+v", got)
	}
}
