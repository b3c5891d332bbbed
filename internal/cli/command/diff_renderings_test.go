package command

import (
	"strings"
	"testing"
)

// TestDiffNotesRenderings: a note, and a route that is left out, name the values files where they hold in some renderings of a chart only.
func TestDiffNotesRenderings(t *testing.T) {
	t.Chdir(t.TempDir())
	const manifests = `{apiVersion: v1, kind: Namespace, metadata: {name: quotes, labels: {gammaguard.dev/grant: producer}}}
---
{apiVersion: v1, kind: Service, metadata: {name: quote, namespace: quotes}, spec: {ports: [{name: http, port: 80}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: quote, namespace: quotes}, spec: {parentRefs: [{group: "", kind: Service, name: quote}], rules: [{matches: [{path: {value: PATH}}], backendRefs: [{name: quote, port: 80}]}]}}
`
	put(t, "chart/Chart.yaml", "{apiVersion: v2, name: quotes, version: 1.0.0}")
	put(t, "chart/values.yaml", "path: /own\n")
	put(t, "chart/values-live.yaml", "path: /live\n")
	put(t, "chart/values-qa.yaml", "path: qa\n")
	put(t, "chart/templates/all.yaml", strings.Replace(manifests, "PATH", "/quote", 1))
	commit(t)
	put(t, "chart/templates/all.yaml", strings.Replace(manifests, "PATH", "{{ .Values.path }}", 1))
	const (
		route = "HTTPRoute quotes/quote"
		note  = route + " stays as it was, because the API server rejects its new version: run gammaguard check for details"
	)
	for format, want := range map[string][]string{
		"text":     {"note: " + note + " (with values-qa.yaml)\n", "; 1 route left out\n"},
		"markdown": {"> `" + note + " (with values-qa.yaml)`\n"},
		"json":     {"\"leftOut\": [\n    \"" + route + " (with values-qa.yaml)\"\n  ]"},
	} {
		got := run(t, "", "diff", "--base-ref", "HEAD", "-o", format)
		for _, want := range want {
			if !strings.Contains(got.stdout, want) || got.stderr != "" {
				t.Errorf("%s: want %q in\n%s%s", format, want, got.stdout, got.stderr)
			}
		}
	}
	put(t, "chart/values-live.yaml", "path: live\n")
	put(t, "chart/values.yaml", "path: own\n")
	if got := run(t, "", "diff", "--base-ref", "HEAD"); !strings.Contains(got.stdout, "note: "+note+"\n") || strings.Contains(got.stdout, "(with") {
		t.Errorf("in all renderings: %+v", got)
	}
}
