package command

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestCheckSARIFFixOnce: what to write to a base that several overlays use is in one result: who applies all writes it once.
func TestCheckSARIFFixOnce(t *testing.T) {
	t.Chdir(written(t, map[string]string{
		"base/kustomization.yaml": "resources: [cart.yaml]\n",
		"base/cart.yaml": `{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: shop}, spec: {ports: [{port: 80}]}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: cart, namespace: shop}
spec:
  parentRefs:
  - kind: Service
    name: cart
    port: 80
  rules:
  - backendRefs: [{name: cart, port: 80}]
`,
		"a/kustomization.yaml": "namespace: a\nresources: [../base]\n", "b/kustomization.yaml": "namespace: b\nresources: [../base]\n", "c/kustomization.yaml": "namespace: c\nresources: [../base]\n",
	}))
	got := run(t, "", "check", "-o", "sarif")
	var log struct {
		Runs []struct {
			Results []struct {
				RuleID string
				Fixes  []json.RawMessage
			}
		}
	}
	if err := json.Unmarshal([]byte(got.stdout), &log); err != nil {
		t.Fatalf("%v: %+v", err, got)
	}
	results, fixes := 0, 0
	for _, result := range log.Runs[0].Results {
		if result.RuleID == "parent-group" {
			results, fixes = results+1, fixes+len(result.Fixes)
		}
	}
	if results != 3 || fixes != 1 {
		t.Errorf("%d results with %d fixes", results, fixes)
	}
}

// TestCheckBrokenWithAnyValues: a template that breaks with all values is broken in each set of its chart.
func TestCheckBrokenWithAnyValues(t *testing.T) {
	t.Chdir(written(t, map[string]string{
		"shop/Chart.yaml": "{apiVersion: v2, name: shop, version: 1.0.0}\n", "shop/templates/a.yaml": "a: {{ include \"nope\" . }}\n",
		"shop/values.yaml": "a: 1\n", "shop/values-a.yaml": "a: 2\n", "shop/values-b.yaml": "a: 3\n",
	}))
	got := run(t, "", "check")
	if !strings.Contains(got.stdout, "(broken-document) (in 3 sets)\n") || strings.Contains(got.stdout, "not checked") || got.code != ExitFindings {
		t.Errorf("%+v", got)
	}
	// Of one that needs values, the others show what it holds.
	put(t, "shop/templates/a.yaml", "a: {{ .Values.b.c }}\n")
	put(t, "shop/values-a.yaml", "b: {c: 1}\n")
	put(t, "shop/values-b.yaml", "b: {c: 1}\n")
	if got := run(t, "", "check"); strings.Contains(got.stdout, "broken") || got.code != ExitClean {
		t.Errorf("needs values: %+v", got)
	}
}
