package command

import (
	"os"
	"strings"
	"testing"
)

// TestPathOfUsedFile: a PATH that is a file of kustomizations elsewhere in the repository stands for those that use it: a patch is no route by
// itself. So it is in a diff, where only one version uses the file or has it.
func TestPathOfUsedFile(t *testing.T) {
	t.Chdir(t.TempDir())
	const head = "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: cart}\nspec:\n"
	const patch = head + "  rules: [{backendRefs: [{name: cart-v3, port: 80}]}]\n"
	put(t, "base/service.yaml", "{apiVersion: v1, kind: Service, metadata: {name: cart}, spec: {ports: [{port: 80}]}}\n")
	put(t, "base/route.yaml", head+"  parentRefs: [{group: \"\", kind: Service, name: cart}]\n  rules: [{backendRefs: [{name: cart, port: 80}]}]\n")
	put(t, "base/kustomization.yaml", "resources: [route.yaml, service.yaml]\n")
	put(t, "stage/kustomization.yaml", "{resources: [../base], namespace: stage}\n")
	put(t, "prod/kustomization.yaml", "{resources: [../base], namespace: prod}\n")
	put(t, "other/kustomization.yaml", "resources: [service.yaml]\n")
	put(t, "other/service.yaml", "{apiVersion: v1, kind: Service, metadata: {name: other}, spec: {ports: [{port: 80}]}}\n")
	put(t, "plain/route.yaml", strings.ReplaceAll(patch, "  rules", "  parentRefs: [{group: \"\", kind: Service, name: cart}]\n  rules"))
	put(t, ".gitignore", "old/\n")
	put(t, "old/kustomization.yaml", "resources: [../base/route.yaml, ../base/service.yaml]\n")
	commit(t)
	put(t, "stage/kustomization.yaml", "{resources: [../base], namespace: stage, patches: [{path: patch.yaml}]}\n")
	put(t, "stage/patch.yaml", patch)
	for args, wants := range map[string][]string{
		"check --complete stage/patch.yaml":     {"kustomization stage: 1 route\n", "1 route in 2 files: "},
		"check base/route.yaml":                 {"kustomization prod: 1 route\n", "kustomization stage: 1 route\n", "2 routes in "},
		"check plain/route.yaml":                {"plain/route.yaml:5", "1 route in 1 file: "},
		"check other/service.yaml":              {"no routes: kustomization other\n"},
		"diff --base-ref HEAD stage/patch.yaml": {"cart-v3:80", "Service stage/cart"},
	} {
		got := run(t, "", strings.Fields(args)...)
		for _, want := range wants {
			if !strings.Contains(got.stdout, want) || got.stderr != "" {
				t.Errorf("%s: want %q\n%+v", args, want, got)
			}
		}
		if strings.Contains(got.stdout, "kustomization old") || strings.Contains(got.stdout, "directory stage") || strings.Contains(got.stdout, "removed") {
			t.Errorf("%s: %+v", args, got)
		}
	}
	t.Run("below", func(t *testing.T) {
		t.Chdir("stage")
		if got := run(t, "", "check", "patch.yaml"); !strings.Contains(got.stdout, "kustomization .: 1 route\n") {
			t.Errorf("%+v", got)
		}
	})
	commit(t)
	if err := os.WriteFile("stage/kustomization.yaml", []byte("{resources: [../base], namespace: stage}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := run(t, "", "diff", "--base-ref", "HEAD", "stage/patch.yaml"); !strings.Contains(got.stdout, "Service stage/cart") || !strings.Contains(got.stdout, "cart-v3:80") {
		t.Errorf("no longer used: %+v", got)
	}
}

// TestShownPaths: a path is shown from the working directory, whatever the set above it.
func TestShownPaths(t *testing.T) {
	const route = "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: cart, namespace: shop}\nspec: {parentRefs: [{group: \"\", kind: Service, name: cart}], rules: [{backendRefs: [{name: nowhere, port: 80}]}]}\n"
	t.Chdir(written(t, map[string]string{
		".gammaguard.yaml":           projectHeader + "sets: [{files: [plain]}, {chart: chart}, {kustomization: stage}]\n",
		"plain/pay/route.yaml":       route,
		"chart/Chart.yaml":           "{apiVersion: v2, name: shop, version: 1.0.0}\n",
		"chart/templates/route.yaml": route,
		"stage/kustomization.yaml":   "resources: [routes/route.yaml]\n",
		"stage/routes/route.yaml":    route,
	}))
	for folder, args := range map[string]string{
		"plain/pay": "check --complete", "chart/templates": "check --complete", "stage/routes": "check --complete", "plain": "check --complete -f ../plain/pay/route.yaml",
	} {
		want := map[bool]string{true: "pay/route.yaml\n", false: "route.yaml\n"}[folder == "plain"]
		if got := runIn(t, folder, strings.Fields(args)...); !strings.HasPrefix(got.stdout, want) {
			t.Errorf("%s: %+v", folder, got)
		}
	}
}

// TestMissingInput: what a file of tests names and does not exist is said as of .gammaguard.yaml, and fails the test alone.
func TestMissingInput(t *testing.T) {
	t.Chdir(written(t, map[string]string{
		"tests/gammaguard-test.yaml": "apiVersion: gammaguard.dev/v1alpha1\nkind: TrafficTest\ninput: {files: [manifest]}\ntests: [{name: a, request: {service: shop/cart, port: 80}, expect: {backend: 'cart:80'}}]\n",
	}))
	got := run(t, "", "test")
	if got.code != ExitFindings || !strings.Contains(got.stdout, "input.files[0]: manifest does not exist; paths are relative to the directory of gammaguard-test.yaml\n") || strings.Contains(got.stdout, "lstat") {
		t.Errorf("%+v", got)
	}
}

// TestExplainNotChecked: what outputs call not-checked is explained, though it is no rule.
func TestExplainNotChecked(t *testing.T) {
	if got := run(t, "", "explain", "not-checked"); got.code != ExitClean || !strings.Contains(got.stdout, "--strict fails") {
		t.Errorf("%+v", got)
	}
	if got := run(t, "", "explain"); strings.Contains(got.stdout, "not-checked") {
		t.Errorf("%+v", got)
	}
}
