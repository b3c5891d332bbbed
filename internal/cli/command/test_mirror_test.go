package command

import (
	"strings"
	"testing"
)

// TestTestMirrors: a mirror is named as a backend is, and gets all requests where no part is given.
func TestTestMirrors(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "web.yaml", `{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {gammaguard.dev/grant: producer}}}
---
{apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop}, spec: {ports: [{port: 80}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: audit, namespace: shop}, spec: {ports: [{port: 80}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: web, namespace: shop}, spec: {parentRefs: [{group: "", kind: Service, name: web, port: 80}], rules: [{filters: [{type: RequestMirror, requestMirror: {PART backendRef: {name: audit, port: 80}}}], backendRefs: [{name: web, port: 80}]}]}}
`)
	route := contents(t, "web.yaml")
	for part, mirrors := range map[string]map[string]bool{
		"": {"backend: 'audit:80'": true, "backend: 'shop/audit:80'": true, "backend: Service shop/audit:80, parts: 100, of: 100": true, "backend: 'audit:80', parts: 1, of: 2": false, "backend: 'web:80'": false},
		"fraction: {numerator: 1, denominator: 2},": {"backend: 'audit:80', parts: 1, of: 2": true, "backend: 'audit:80', parts: 50, of: 100": true, "backend: 'audit:80'": false},
	} {
		put(t, "web.yaml", strings.Replace(route, "PART", part, 1))
		for mirror, passes := range mirrors {
			put(t, "gammaguard-test.yaml", "apiVersion: gammaguard.dev/v1alpha1\nkind: TrafficTest\ntests:\n- {name: copied, request: {service: shop/web, port: 80}, expect: {backend: 'web:80', effects: {mirrors: [{"+mirror+"}]}}}\n")
			want, rest, _ := strings.Cut(run(t, "", "test", "-f", "web.yaml").stdout, ", got mirrored to ")
			_, want, failed := strings.Cut(want, "want effects mirrored to ")
			rest, _, _ = strings.Cut(rest, "\n")
			if failed == passes || failed && want == rest {
				t.Errorf("%s, %s: want %q, got %q", part, mirror, want, rest)
			}
		}
	}
}
