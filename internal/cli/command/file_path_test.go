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

// TestPathOfUsedKustomization: a PATH with a base, or a component, stands for the kustomizations of the repository that use it, as its files do, in
// check and in both versions of a diff, with sets in .gammaguard.yaml and without.
func TestPathOfUsedKustomization(t *testing.T) {
	t.Chdir(t.TempDir())
	const head = "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: cart}\nspec:\n"
	put(t, "base/service.yaml", "{apiVersion: v1, kind: Service, metadata: {name: cart}, spec: {ports: [{port: 80}]}}\n")
	put(t, "base/route.yaml", head+"  parentRefs: [{group: \"\", kind: Service, name: cart}]\n  rules: [{backendRefs: [{name: cart, port: 80}]}]\n")
	put(t, "base/kustomization.yaml", "resources: [route.yaml, service.yaml]\n")
	put(t, "parts/canary/kustomization.yaml", "{kind: Component, apiVersion: kustomize.config.k8s.io/v1alpha1, patches: [{path: canary.yaml}]}\n")
	put(t, "parts/canary/canary.yaml", head+"  rules: [{backendRefs: [{name: cart-v1, port: 80}]}]\n")
	put(t, "parts/idle/kustomization.yaml", "{kind: Component, apiVersion: kustomize.config.k8s.io/v1alpha1, patches: [{path: canary.yaml}]}\n")
	put(t, "parts/idle/canary.yaml", head+"  rules: [{backendRefs: [{name: cart-v9, port: 80}]}]\n")
	put(t, "stage/kustomization.yaml", "{resources: [../base], namespace: stage, patches: [{path: labels.yaml, target: {kind: HTTPRoute}}]}\n")
	put(t, "stage/labels.yaml", "- {op: add, path: /metadata/labels, value: {team: shop}}\n")
	put(t, "prod/kustomization.yaml", "{resources: [../base], namespace: prod, components: [../parts/canary]}\n")
	commit(t)
	put(t, "base/route.yaml", strings.ReplaceAll(contents(t, "base/route.yaml"), "name: cart, port", "name: new, port"))
	put(t, "parts/canary/canary.yaml", strings.ReplaceAll(contents(t, "parts/canary/canary.yaml"), "cart-v1", "cart-v2"))
	const both = "kustomization prod: 1 route\nkustomization stage: 1 route\n"
	diffs := map[string]string{
		both: "service prod/cart port 80, producer (kustomization prod)\n  any  cart-v1:80 100 %  →  cart-v2:80 100 %\n" +
			"service stage/cart port 80, producer (kustomization stage)\n  any  cart:80 100 %  →  new:80 100 %\n",
		"kustomization prod: 1 route\n":  "service prod/cart port 80, producer\n  any  cart-v1:80 100 %  →  cart-v2:80 100 %\n",
		"kustomization stage: 1 route\n": "service stage/cart port 80, producer\n  any  cart:80 100 %  →  new:80 100 %\n",
	}
	for _, project := range []string{"", projectHeader + "sets: [{kustomization: prod}, {kustomization: stage}]\n"} {
		if project != "" {
			put(t, ".gammaguard.yaml", project)
		}
		for path, want := range map[string]string{
			"base": both, "base/kustomization.yaml": both, "base/route.yaml": both, "base/service.yaml": both, "stage/labels.yaml": "kustomization stage: 1 route\n",
			"parts/canary": "kustomization prod: 1 route\n", "parts/canary/kustomization.yaml": "kustomization prod: 1 route\n", "parts/canary/canary.yaml": "kustomization prod: 1 route\n",
		} {
			got := run(t, "", "check", path)
			if got.code != ExitClean || got.stderr != "" || strings.Count(got.stdout, "kustomization ") != strings.Count(want, "\n") || !strings.Contains(got.stdout, want) || strings.Contains(got.stdout, "not checked") {
				t.Errorf("check %s with %q: %+v", path, project, got)
			}
			if got := run(t, "", "diff", "--base-ref", "HEAD", path); got.code != ExitFindings || !strings.HasPrefix(got.stdout, diffs[want]) || strings.Count(got.stdout, "\nservice ") != strings.Count(diffs[want], "\nservice ") || strings.Contains(got.stdout, "not compared") {
				t.Errorf("diff %s with %q: %+v", path, project, got)
			}
		}
	}
	if err := os.Remove(".gammaguard.yaml"); err != nil {
		t.Fatal(err)
	}
	if got := runIn(t, "base", "check"); !strings.Contains(got.stdout, "kustomization ../prod: 1 route\nkustomization ../stage: 1 route\n") {
		t.Errorf("in the base: %+v", got)
	}
	if got := run(t, "", "check", "--strict", "parts/idle/canary.yaml"); got.code != ExitUsage || !strings.Contains(got.stdout, "not checked: parts/idle/canary.yaml: holds routes that no set has") {
		t.Errorf("a file of a component that nothing uses: %+v", got)
	}
	if got := run(t, "", "check", "parts"); !strings.Contains(got.stdout, "kustomization prod: 1 route\n") || !strings.Contains(got.stdout, "not checked: parts/idle: a kustomize component that no checked kustomization uses\n") || strings.Contains(got.stdout, "parts/canary:") {
		t.Errorf("components: %+v", got)
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

// TestExplainUnlisted: what outputs call not-checked or traffic-test is explained, though it is no rule.
func TestExplainUnlisted(t *testing.T) {
	all := run(t, "", "explain")
	for id, says := range map[string]string{"not-checked": "--strict fails", "traffic-test": "By the routes in the manifests, this request meets something else."} {
		if got := run(t, "", "explain", id); got.code != ExitClean || !strings.Contains(strings.Join(strings.Fields(got.stdout), " "), says) {
			t.Errorf("%+v", got)
		}
		if strings.Contains(all.stdout, id) {
			t.Errorf("%+v", all)
		}
	}
}
