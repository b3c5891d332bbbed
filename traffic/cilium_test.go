package traffic

import (
	"strings"
	"testing"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

// TestCilium: trace follows what Cilium's own code makes of routes (docs/truth.md). What counts is how many
// backendRefs are left, and not how many are written.
func TestCilium(t *testing.T) {
	const (
		onTwo = `parentRefs: [{group: "", kind: Service, name: cart, port: 80}, {group: "", kind: Service, name: cart, port: 8080}]`
		both  = `filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: a, value: "1"}]}}, ` +
			`{type: ResponseHeaderModifier, responseHeaderModifier: {set: [{name: b, value: "1"}]}}]`
		filtered = `{name: cart-v1, port: 8080, ` + both + `}`
		all      = `"requestHeaders":[{"action":"set","name":"a","value":"1"}],"responseHeaders":[{"action":"set","name":"b","value":"1"}]`
		last     = `"of":1,"responseHeaders":[{"action":"set","name":"b","value":"1"}]`
	)
	rewrite := func(prefix, to string) string {
		return http("shop/a @01", onCart+`, rules: [{matches: [{path: {value: `+prefix+`}}], filters: [{type: URLRewrite, urlRewrite: {path: {type: ReplacePrefixMatch, replacePrefixMatch: "`+to+`"}}}], `+toV1+`}]`)
	}
	cilium := by(t, validate.Policy{Mesh: mesh.FindProfile(mesh.Cilium)})
	for _, test := range []struct {
		name, path string
		manifests  []string
		// part is in the outcome, or where it is a path, the new one.
		part string
	}{
		{"an only backend has all its filters", "/", []string{http("shop/a @01", onCart+`, rules: [{backendRefs: [`+filtered+`]}]`)}, all},
		{"an only one that is left", "/", []string{http("shop/a @01", onCart+`, rules: [{backendRefs: [`+filtered+`, {name: missing, port: 80}]}]`)}, all},
		{"one of two has the last of its filters", "/", []string{http("shop/a @01", onCart+`, rules: [{backendRefs: [`+filtered+`, {name: cart-v2, port: 8080, weight: 0}]}]`)}, last},
		{"merged with that of an equal match", "/", []string{
			http("shop/a @01", onCart+`, rules: [{backendRefs: [`+filtered+`]}]`),
			http("shop/b @02", onCart+`, rules: [{backendRefs: [{name: cart-v2, port: 8080, weight: 0}]}]`),
		}, last},
		{"merged with that of its other port", "/", []string{http("shop/a @01", onTwo+`, rules: [{backendRefs: [`+filtered+`]}]`)}, last},
		{"an only weight 0", "/", []string{http("shop/a @01", onCart+`, rules: [{backendRefs: [{name: cart-v1, port: 8080, weight: 0}]}]`)}, `"Service shop/cart-v1:8080"`},
		{"an only weight 0 on two ports", "/", []string{http("shop/a @01", onTwo+`, rules: [{backendRefs: [{name: cart-v1, port: 8080, weight: 0}]}]`)}, "every backendRef has weight 0"},
		{"an only weight 0 beside another port's route", "/", []string{
			http("shop/a @01", `parentRefs: [{group: "", kind: Service, name: cart, port: 80}], rules: [{backendRefs: [{name: cart-v1, port: 8080, weight: 0}]}]`),
			http("shop/b @02", `parentRefs: [{group: "", kind: Service, name: cart, port: 8080}], rules: [{matches: [{path: {value: /b}}], backendRefs: [{name: cart-v2, port: 8080}]}]`),
		}, `"Service shop/cart-v1:8080"`},
		{"a prefix without its slash", "/a/b", []string{rewrite("/a/b/", "/")}, "/a/b"},
		{"a prefix with its slash", "/a/b/", []string{rewrite("/a/b/", "/")}, "/"},
		{"what is below", "/a/b/c", []string{rewrite("/a/b/", "/")}, "/c"},
		{"one slash more", "/a/b//c", []string{rewrite("/a/b/", "")}, "/c"},
		{"a root with one slash more", "//c", []string{rewrite("/", "/")}, "/c"},
		{"a prefix that has no slash", "/a/b", []string{rewrite("/a/b", "/")}, "/"},
		{"another new prefix", "/a/b", []string{rewrite("/a/b/", "/n")}, "/n"},
	} {
		trace, err := newTable(t, cilium, test.manifests...).Trace(ask(t, test.path))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(test.part, "/") {
			if got := trace.Outcome.Rewrite.Path.Apply(test.path); got != test.part {
				t.Errorf("%s: %s becomes %s, want %s", test.name, test.path, got, test.part)
			}
			continue
		}
		if got := trace.Outcome.key() + trace.String(); !strings.Contains(got, test.part) {
			t.Errorf("%s: got %s, want %s", test.name, got, test.part)
		}
	}
}

// TestCiliumCalls: of what matches alike, an HTTPRoute comes before a GRPCRoute, and trace gives that as the reason.
func TestCiliumCalls(t *testing.T) {
	cilium := by(t, validate.Policy{Mesh: mesh.FindProfile(mesh.Cilium)})
	table := newTable(t, cilium, http("shop/web", onCart+`, rules: [{`+toV1+`}]`), object("GRPCRoute shop/rpc", onCart+`, rules: [{`+toV1+`}]`))
	trace, err := table.Trace(ask(t, "grpc a.B/C"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "not taken: GRPCRoute shop/rpc rule[0]: a GRPCRoute comes after an HTTPRoute\n"; !strings.Contains(trace.String(), want) {
		t.Errorf("got %s, want %s", trace, want)
	}
}
