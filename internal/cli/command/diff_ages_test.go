package command

import (
	"strings"
	"testing"
)

// TestAgesOfPorts: the table of diff, its findings, check, and trace agree on which of two routes has a port where the older
// one does, and on whether that is known.
func TestAgesOfPorts(t *testing.T) {
	t.Chdir(t.TempDir())
	const (
		shop = `{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {gammaguard.dev/grant: producer, istio-injection: enabled}}}
---
{apiVersion: v1, kind: Service, metadata: {name: api, namespace: shop}, spec: {ports: [{name: http, port: 80}]}}
`
		head    = "---\n{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {namespace: shop, name: "
		all     = `}, spec: {parentRefs: [{group: "", kind: Service, name: api}], rules: [{backendRefs: [{name: api, port: 80}]}]}}` + "\n"
		port    = `}, spec: {parentRefs: [{group: "", kind: Service, name: api, port: 80}], rules: [{matches: [{path: {value: /b}}], backendRefs: [{name: api, port: 80}]}]}}` + "\n"
		split   = ": Istio does not merge routes with and without port"
		unknown = "note" + split + ": the older route wins, and the age of HTTPRoute shop/port and HTTPRoute shop/all is not known\n"
		either  = "either HTTPRoute shop/all or HTTPRoute shop/port gets no requests to port 80 of Service shop/api" + split
	)
	put(t, "none/all.yaml", shop)
	put(t, "all/all.yaml", shop+head+"all"+all)
	put(t, "port/all.yaml", shop+head+"port"+port)
	put(t, "both/all.yaml", shop+head+"port"+port+head+"all"+all)
	for _, test := range []struct {
		args string
		want []string
		not  string
	}{
		{"diff --base all -f both", []string{"no change;", " HTTPRoute shop/port gets no requests to port 80 of Service shop/api, but HTTPRoute shop/all does" + split}, "is not known"},
		{"diff --base port -f both", []string{"no change;", " HTTPRoute shop/all gets no requests to port 80 of Service shop/api, but HTTPRoute shop/port does" + split}, "is not known"},
		{"diff --base none -f both", []string{"(new HTTPRoute shop/port)", unknown, either}, "(new HTTPRoute shop/all)"},
		{"check both", []string{either}, "gets no requests to port 80 of Service shop/api, but"},
		{"trace service/api -f both", []string{unknown, "not taken: HTTPRoute shop/all: the port belongs to HTTPRoute shop/port"}, "\x00"},
	} {
		got := run(t, "", append(strings.Fields(test.args), "--mesh", "istio")...)
		for _, want := range test.want {
			if !strings.Contains(got.stdout, want) || strings.Contains(got.stdout, test.not) {
				t.Errorf("%s: want %q, and not %q, got\n%s%s", test.args, want, test.not, got.stdout, got.stderr)
			}
		}
	}
}

// TestPossibleChanges: where a change hangs on the age of routes, or on a regular expression that no example tells from its former
// text, diff says so and exits with 1: of files, and of the sets of a directory.
func TestPossibleChanges(t *testing.T) {
	t.Chdir(t.TempDir())
	const (
		shop = "{apiVersion: v1, kind: Service, metadata: {name: api, namespace: shop}, spec: {ports: [{name: http, port: 80}, {name: more, port: 81}]}}\n"
		head = "---\n{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {namespace: shop, name: "
		age  = "the older route wins, and the age of HTTPRoute shop/a and HTTPRoute shop/b is not known"
	)
	route := func(name, port, matches, header string) string {
		return head + name + `}, spec: {parentRefs: [{group: "", kind: Service, name: api` + port + "}], rules: [{matches: [" + matches +
			"], filters: [{type: RequestHeaderModifier, requestHeaderModifier: {remove: [" + header + "]}}], backendRefs: [{name: api, port: 80}]}]}}\n"
	}
	a := shop + route("a", ", port: 80", "{path: {value: /a}}", "x")
	for _, test := range []struct{ name, before, after, mesh, want string }{
		{"matches", a + route("b", ", port: 80", "{path: {value: /b}}", "z"), a + route("b", ", port: 80", "{path: {value: /b}}, {path: {value: /a}}", "z"), "", age + "; requests to port 80"},
		{"parentRefs", a + route("b", ", port: 81", "{path: {value: /a}}", "z"), a + route("b", "", "{path: {value: /a}}", "z"), "istio", "with and without port: " + age + "; requests to port 80"},
		{"expression", shop + route("a", "", "{path: {type: RegularExpression, value: '/[0-9]'}}", "x"), shop + route("a", "", `{path: {type: RegularExpression, value: '/\d'}}`, "x"), "", "no example tells them apart"},
	} {
		put(t, test.name+"/before/all.yaml", test.before)
		put(t, test.name+"/after/all.yaml", test.after)
		for _, args := range []string{"--base NAME/before -f NAME/after", "--base NAME/before NAME/after"} {
			got := run(t, "", append([]string{"diff", "--mesh", test.mesh}, strings.Fields(strings.ReplaceAll(args, "NAME", test.name))...)...)
			if got.code != ExitFindings || strings.Count(got.stdout, test.want) != 1 || strings.Contains(got.stdout, "no change") {
				t.Errorf("%s of %s: want %q, got %+v", args, test.name, test.want, got)
			}
		}
	}
}
