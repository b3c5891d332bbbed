package command

import (
	"os"
	"strings"
	"testing"
)

const (
	granted = "{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {gammaguard.dev/grant: producer}}}\n---\n"
	canary  = granted + `apiVersion: flagger.app/v1beta1
kind: Canary
metadata: {name: cart, namespace: shop}
spec:
  targetRef: {apiVersion: apps/v1, kind: Deployment, name: cart}
  service:
    port: 80
    gatewayRefs: [{group: GROUP, kind: Service, name: cart, port: 80}]
`
	rolled = granted + `{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: shop}, spec: {ports: [{port: 80}]}}
---
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: cart, namespace: shop}
spec:
  strategy:
    canary:
      stableService: stable
      canaryService: canary
      trafficRouting: {plugins: {argoproj-labs/gatewayAPI: {httpRoute: cart, namespace: shop}}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: cart, namespace: shop}
spec:
  parentRefs: [{group: "", kind: Service, name: cart, port: 80}]
  rules: [{backendRefs: [{name: stable, port: 80, weight: STABLE}, {name: canary, port: 80, weight: CANARY}]}]
`
)

// TestCanary: check judges the route that Flagger writes, trace follows it, and test takes it for today's.
func TestCanary(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("canary.yaml", []byte(strings.Replace(canary, "GROUP", `""`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := run(t, "", "check", "--strict"); got.code != ExitUsage && got.code != ExitClean || !strings.Contains(got.stdout, "1 route in 1 file") {
		t.Errorf("%+v", got)
	}
	for text, want := range map[string]string{
		strings.Replace(canary, "GROUP", "core", 1): "canary.yaml\n    10  warn     HTTPRoute shop/cart  set spec.parentRefs[0].group to \"\" in Canary shop/cart, which writes this route: Service is in the core group (parent-group)\n" +
			"    10  deny     HTTPRoute shop/cart  spec.parentRefs[0].group: Invalid value: \"core\": kind Service is in the core group (\"\"); set group: \"\" in Canary shop/cart, which writes this route (parent-group-invalid)\n",
		strings.Replace(canary, "GROUP", `"", rewrite: {}`, 1): "",
	} {
		if err := os.WriteFile("other.yaml", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := run(t, "", "check", "-f", "other.yaml"); !strings.Contains(strings.ReplaceAll(got.stdout, "other.yaml", "canary.yaml"), want) {
			t.Errorf("%+v", got)
		}
		if fixed := run(t, "", "check", "-f", "other.yaml", "--fix"); fixed.code == ExitUsage {
			t.Errorf("--fix fails where there is nothing to fix: %+v", fixed)
		}
		if after, err := os.ReadFile("other.yaml"); err != nil || string(after) != text {
			t.Errorf("--fix writes into a Canary: %v\n%s", err, after)
		}
	}
	if err := os.Remove("other.yaml"); err != nil {
		t.Fatal(err)
	}
	want := "HTTPRoute shop/cart rule[0] match[0]  (producer)\n  → Service cart-primary:80 100 %\n"
	if got := run(t, "", "trace", "service/cart:80", "-n", "shop", "-f", "canary.yaml"); got.stdout != want {
		t.Errorf("%+v", got)
	}
	if got := run(t, "", "test", "--init"); got.code != ExitClean {
		t.Errorf("%+v", got)
	}
	if got := run(t, "", "test"); got.code != ExitClean || !strings.HasSuffix(got.stdout, "1 test in 1 file: 1 passed\n") {
		t.Errorf("%+v", got)
	}
	unknown := strings.Replace(canary, "GROUP, kind: Service, name: cart, port: 80}]", `"", kind: Service, name: cart}]`+"\n    primary: {backendRef: {name: a}}", 1)
	if got := run(t, unknown, "check", "-f", "-"); got.code != ExitClean || !strings.Contains(got.stdout, "note: <stdin>: Canary shop/cart: what its controller writes is not known: a backendRef of spec.service.primary or spec.service.canary is not supported here\n") {
		t.Errorf("%+v", got)
	}
	if got := run(t, unknown, "check", "-f", "-", "--strict"); got.code != ExitUsage {
		t.Errorf("a strict check passes over a Canary: %+v", got)
	}
	if err := os.WriteFile("unknown.yaml", []byte(unknown), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, versions := range [][]string{{"canary.yaml", "unknown.yaml"}, {"unknown.yaml", "canary.yaml"}} {
		got := run(t, "", "diff", "--base", versions[0], "-f", versions[1])
		if got.code != ExitClean || !strings.HasSuffix(got.stdout, "no change; 1 request class unchanged\n") || !strings.Contains(got.stdout+got.stderr, "is not known") {
			t.Errorf("%s, of which one is not known, are compared: %+v", versions, got)
		}
	}
}

// TestPlacesOfCanaries: a finding on the route of a Canary is where that has the field, in a base, a patch, or a template.
func TestPlacesOfCanaries(t *testing.T) {
	t.Chdir(t.TempDir())
	wrong := strings.Replace(canary, "GROUP", "core", 1)
	chart := "kind: ConfigMap\napiVersion: v1\nmetadata: {name: x}\n---\n{{- if true }}\n" + strings.TrimPrefix(wrong, granted) + "{{- end }}\n"
	for path, text := range map[string]string{
		"base/kustomization.yaml": "resources: [canary.yaml]\n", "base/canary.yaml": wrong, "own/kustomization.yaml": "resources: [canary.yaml]\n", "own/canary.yaml": wrong,
		"as/kustomization.yaml":   "resources: [../own]\n",
		"over/kustomization.yaml": "resources: [../base]\npatches: [{path: patch.yaml}]\n",
		"over/patch.yaml":         "apiVersion: flagger.app/v1beta1\nkind: Canary\nmetadata: {name: cart, namespace: shop}\nspec:\n  service:\n    gatewayRefs:\n    - {group: core, kind: Service, name: cart}\n",
		"chart/Chart.yaml":        "{apiVersion: v2, name: c, version: 1.0.0}\n", "chart/templates/all.yaml": chart,
	} {
		put(t, path, text)
	}
	for path, want := range map[string]string{"as": "own/canary.yaml\n    10  warn", "over": "over/patch.yaml\n     7  warn", "chart": "chart/templates/all.yaml\n    13  warn"} {
		if got := run(t, "", "check", path); !strings.Contains(got.stdout, want) {
			t.Errorf("want %q: %+v", want, got)
		}
	}
}

// TestRolloutWeights: diff leaves out the weights that a Rollout sets, unless it is asked for them, and nothing else; a note says so where they differ.
func TestRolloutWeights(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"before": strings.NewReplacer("STABLE", "100", "CANARY", "0").Replace(rolled), "after": strings.NewReplacer("STABLE", "70", "CANARY", "30").Replace(rolled),
		"renamed": strings.NewReplacer("STABLE", "100", "CANARY", "0", "name: canary, port: 80", "name: next, port: 80", "canaryService: canary", "canaryService: next").Replace(rolled),
		"other":   strings.NewReplacer("STABLE", "70", "CANARY", "30", "name: stable, port: 80", "name: stable, port: 81").Replace(rolled),
	} {
		if err := os.WriteFile(name+".yaml", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for args, want := range map[string]string{
		"-f before.yaml":                  "",
		"-f renamed.yaml":                 "",
		"-f after.yaml":                   "",
		"-f other.yaml":                   "  any  stable:80 100 %  →  stable:81 100 %\n",
		"-f after.yaml --rollout-weights": "  any  stable:80 100 %  →  stable:80 70 %, canary:80 30 %\n",
	} {
		got := run(t, "", append([]string{"diff", "--base", "before.yaml"}, strings.Fields(args)...)...)
		if left := args == "-f after.yaml" || args == "-f other.yaml"; strings.Contains(got.stdout, "HTTPRoute shop/cart has other weights now, which a Rollout sets: they are left out, unless you add --rollout-weights\n") != left {
			t.Errorf("%s: is it noted that weights are left out (%v)? %+v", args, left, got)
		}
		if code := map[bool]int{true: ExitClean, false: ExitFindings}[want == ""]; got.code != code || !strings.Contains(got.stdout, want) || strings.Count(got.stdout, " → ") != strings.Count(want, " → ") {
			t.Errorf("%s: %+v", args, got)
		}
	}
}

// TestCanaryAlone: a rule that has only the canary of a Rollout fails while that is at rest, whatever weight is written: the remedy names the Rollout.
func TestCanaryAlone(t *testing.T) {
	text := strings.NewReplacer("STABLE", "100", "CANARY", "0").Replace(rolled)
	text = strings.Replace(text, "rules: [", "rules: [{matches: [{path: {value: /v2}}], backendRefs: [{name: canary, port: 80, weight: 5}]}, "+
		"{matches: [{path: {value: /v3}}], backendRefs: [{name: other, port: 80, weight: 0}]}, ", 1)
	const want = "every backendRef has weight 0, so requests that match this rule fail; add Service stable, since Rollout shop/cart sets these weights while it is at rest (backend-weights-zero)"
	if got := run(t, text, "check", "-f", "-"); strings.Count(got.stdout, want) != 1 || strings.Count(got.stdout, "fail; set a weight above 0 ") != 1 {
		t.Errorf("%+v", got)
	}
	if got := run(t, text, "check", "-f", "-", "--mesh", "cilium"); strings.Contains(got.stdout, "weight 0") {
		t.Errorf("on Cilium, which does not count it: %+v", got)
	}
}
