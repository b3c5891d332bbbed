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
		split   = ": Istio does not merge routes whose parentRef has a port with routes whose parentRef has none"
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
