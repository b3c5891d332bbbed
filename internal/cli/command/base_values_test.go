package command

import (
	"os"
	"strings"
	"testing"
)

// TestBaseValues: a chart of the base is rendered with the base's own values files, also with those outside of the chart, and what is not
// rendered with them is noted.
func TestBaseValues(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "was/pay/chart/Chart.yaml", "{apiVersion: v2, name: pay, version: 1.0.0}")
	put(t, "was/pay/chart/values.yaml", "port: 80")
	put(t, "was/pay/chart/values-prod.yaml", "port: 80")
	put(t, "was/env/prod.yaml", "port: 80")
	put(t, "was/pay/chart/templates/pay.yaml", `{apiVersion: v1, kind: Service, metadata: {name: pay, namespace: pay}, spec: {ports: [{port: 80}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: pay, namespace: pay}, spec: {parentRefs: [{group: "", kind: Service, name: pay, port: {{ .Values.port }}}]}}
`)
	for _, folder := range []string{"is", "less"} {
		if err := os.CopyFS(folder, os.DirFS("was")); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.CopyFS("deeper/alone/chart", os.DirFS("was/pay/chart")); err != nil {
		t.Fatal(err)
	}
	put(t, "is/pay/chart/values-prod.yaml", "port: 8081")
	put(t, "is/env/prod.yaml", "port: 8081")
	put(t, "is/env/new/sa.yaml", "port: 8081")
	for _, file := range []string{"less/pay/chart/values-prod.yaml", "less/env/prod.yaml"} {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	put(t, "less/env/dev.yaml", "port: 80")
	const denied = "Invalid value: 8081: Service pay/pay has no port 8081"
	for _, test := range []struct{ command, want, note string }{
		{"check --helm is/pay/chart --values is/pay/chart/values-prod.yaml --base was/pay/chart", denied, ""},
		{"check --helm is/pay/chart --values is/env/prod.yaml --base was/pay/chart", denied, ""},
		{"check is/pay --base was/pay/chart", denied, ""},
		{"check --helm is/pay/chart --values is/pay/chart/values-prod.yaml --base less/pay/chart", denied, "note: less/pay/chart: compared as new: the base does not have less/pay/chart/values-prod.yaml\n"},
		{"check --helm is/pay/chart --values is/env/prod.yaml --base less/pay/chart", denied, "note: less/pay/chart: compared as new: the base does not have less/env/prod.yaml\n"},
		{"check --helm is/pay/chart --values is/env/prod.yaml --base deeper/alone/chart", denied, "note: deeper/alone/chart: compared as new: the base does not have deeper/env/prod.yaml\n"},
		{"diff --helm is/pay/chart --values is/pay/chart/values-prod.yaml --base was/pay/chart", denied, ""},
		{"diff --helm is/pay/chart --values is/env/prod.yaml --base was/pay/chart", denied, ""},
		{"diff --helm is/pay/chart --values is/env/prod.yaml --base deeper/alone/chart", denied, "note: deeper/alone/chart: compared as new: the base does not have deeper/env/prod.yaml\n"},
		{"check --helm is/pay/chart --values is/env/new/sa.yaml --base was/pay/chart", denied, "note: was/pay/chart: compared as new: the base does not have was/env/new/sa.yaml\n"},
		{"diff --helm is/pay/chart --values is/env/prod.yaml --values is/env/new/sa.yaml --base was/pay/chart", denied, "note: was/pay/chart: rendered without was/env/new/sa.yaml, which the base does not have\n"},
	} {
		got := run(t, "", strings.Fields(test.command)...)
		if !strings.Contains(got.stdout, test.want) || !strings.Contains(got.stdout, test.note) || test.note == "" && strings.Contains(got.stdout, "note: was") || got.stderr != "" {
			t.Errorf("%s: %+v", test.command, got)
		}
	}
}

// TestBaseNotBuilt: a base that is not built, where the input is, is an error; it may be named by the file of its kustomization.
func TestBaseNotBuilt(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, version := range []string{"was", "is"} {
		put(t, version+"/prod/kustomization.yaml", "{resources: [web.yaml], namespace: prod}")
		put(t, version+"/prod/web.yaml", orphan)
		put(t, version+"/chart/Chart.yaml", "{apiVersion: v2, name: pay, version: 1.0.0}")
		put(t, version+"/chart/templates/pay.yaml", orphan)
	}
	put(t, "plain/web.yaml", strings.ReplaceAll(orphan, "metadata: {", "metadata: {namespace: prod, "))
	put(t, "was/more/weights.yaml", "- {op: remove, path: /spec}") // a patch is no object
	const build = "error: --base was: its kustomizations and charts are not built: was/chart, was/prod; name the one of the input with --base"
	const beside = ", or add what is deployed beside the input to it with -k or --helm\n"
	for _, test := range []struct {
		command, want string
		code          int
	}{
		{"diff -k is/prod --base was", build + "\n", ExitUsage},
		{"check -k is/prod --base was", build + beside, ExitUsage},
		{"diff --helm is/chart --base was", build + "\n", ExitUsage},
		{"check --helm is/chart --base was", build + beside, ExitUsage},
		{"check --helm is/chart -k was/prod", "4 routes in 2 files", ExitClean},
		{"diff -f plain --base was", "error: the base cannot be read: was/more/weights.yaml:1: ", ExitUsage},
		{"diff -k is/prod/kustomization.yaml --base was/prod/kustomization.yaml", "no change", ExitClean},
		{"diff -k is/prod --base was/prod", "no change", ExitClean},
		{"diff -k is/prod --base plain", "no change", ExitClean},
		{"diff -f plain --base was/prod", "to build one, name it with --base, and the input with -k", ExitFindings}, // a note
	} {
		if got := run(t, "", strings.Fields(test.command)...); got.code != test.code || !strings.Contains(got.stdout+got.stderr, test.want) {
			t.Errorf("%s: %+v", test.command, got)
		}
	}
}
