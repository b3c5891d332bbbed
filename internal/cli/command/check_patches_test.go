package command

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/internal/cli/report"
)

// TestCheckPatches: what a patch sets is blamed on the patch, what kustomize itself
// changes on the kustomization, and all else on the source.
func TestCheckPatches(t *testing.T) {
	const base = `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: cart}
spec:
  parentRefs:
  - {group: "", kind: Service, name: cart, port: 80}
  rules:
  - matches: [{path: {value: nowhere}}]
    backendRefs: [{name: cart, port: 80, weight: 1}]
`
	folder := written(t, map[string]string{
		"base/cart.yaml":          base,
		"base/services.yaml":      "{apiVersion: v1, kind: Service, metadata: {name: cart}, spec: {ports: [{port: 80}]}}\n",
		"base/kustomization.yaml": "resources: [cart.yaml, services.yaml]\n",
		"top/port.yaml":           "# only here\napiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: cart}\nspec:\n  parentRefs:\n  - group: \"\"\n    kind: Service\n    name: cart\n    port: 81\n",
		"top/kustomization.yaml": `resources: [../base]
labels: [{pairs: {team: "a b"}}]
patches:
- path: port.yaml
- target: {kind: HTTPRoute}
  patch: |-
    - op: test
      path: /kind
      value: HTTPRoute
    - op: add
      path: /spec/rules/0/backendRefs/0/weight
      value: -1
    - op: add
      path: /spec/rules/0/backendRefs/-
      value: {name: cart, port: 80, weight: 2}
    - op: add
      path: /spec/rules/0/backendRefs/-
      value: {name: cart, port: 80, weight: -2}
- patch: |-
    apiVersion: gateway.networking.k8s.io/v1
    kind: HTTPRoute
    metadata:
      name: cart
    spec:
      hostnames: [UPPER]
`,
	})
	t.Chdir(folder) // the root, where there is no .git
	r, got := checkJSON(t, "", "-k", filepath.Join(folder, "top"))
	if len(r.Routes) != 1 {
		t.Fatalf("%+v", got)
	}
	want := map[place]bool{
		{"metadata.labels", "top/kustomization.yaml", 1}:                      true,
		{"spec.hostnames[0]", "top/kustomization.yaml", 25}:                   true,
		{"spec.hostnames", "top/kustomization.yaml", 25}:                      true,
		{"spec.parentRefs[0]", "top/port.yaml", 7}:                            true,
		{"spec.parentRefs[0].port", "top/port.yaml", 10}:                      true,
		{"spec.rules[0].backendRefs[0].weight", "top/kustomization.yaml", 10}: true,
		{"spec.rules[0].backendRefs[2].weight", "top/kustomization.yaml", 16}: true,
		{"spec.rules[0].matches[0].path", "", 8}:                              true,
	}
	if diff := cmp.Diff(want, places(folder, &r.Routes[0]), cmp.AllowUnexported(place{})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// written writes the files into a new folder.
func written(t *testing.T, files map[string]string) (folder string) {
	t.Helper()
	folder = t.TempDir()
	for name, text := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// place is that of a finding: the file is empty for the route's own.
type place struct {
	field, file string
	line        int
}

// places returns where the findings of the route are, in the folder.
func places(folder string, route *report.Route) map[place]bool {
	all := map[place]bool{}
	for _, f := range route.Findings {
		file := f.File
		if file != "" {
			file, _ = filepath.Rel(folder, file)
		}
		all[place{f.Field, filepath.ToSlash(file), f.Line}] = true
	}
	return all
}

// TestCheckJSON6902InComponent: an operation of patchesJson6902 is blamed on the line in the component that has it.
func TestCheckJSON6902InComponent(t *testing.T) {
	folder := written(t, map[string]string{
		"base/cart.yaml":          orphan,
		"base/kustomization.yaml": "resources: [cart.yaml]\n",
		"top/kustomization.yaml":  "resources: [../base]\ncomponents: [../part]\n",
		"part/kustomization.yaml": `apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
patchesJson6902:
- target: {kind: HTTPRoute, name: a}
  patch: |-
    - op: replace
      path: /spec/rules/0/filters/0/requestRedirect/port
      value: 0
`,
	})
	t.Chdir(folder)
	r, got := checkJSON(t, "", "-k", filepath.Join(folder, "top"))
	if len(r.Routes) != 2 || !places(folder, &r.Routes[0])[place{"spec.rules[0].filters[0].requestRedirect.port", "part/kustomization.yaml", 6}] {
		t.Errorf("%+v %+v", r.Routes, got)
	}
}

// TestCheckPatchBelow: a finding at a field is blamed on the operation that sets a part of it, unless what it is about is missing there.
func TestCheckPatchBelow(t *testing.T) {
	folder := written(t, map[string]string{
		"cart.yaml": `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: cart}
spec:
  parentRefs: [{group: "", kind: Service, name: cart, port: 80}]
  rules:
  - matches: [{path: {value: /cart}}]
    backendRefs: [{name: cart, port: 80, weight: 1}]
`,
		"lacks.yaml": `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: lacks}
spec:
  rules:
  - matches: [{path: {value: /cart}}]
    backendRefs: [{port: 80, weight: 1}]
`,
		"services.yaml": "{apiVersion: v1, kind: Service, metadata: {name: cart}, spec: {ports: [{port: 80}]}}\n",
		"kustomization.yaml": `resources: [cart.yaml, lacks.yaml, services.yaml]
patches:
- {target: {kind: HTTPRoute}, path: patch.yaml}
`,
		"patch.yaml": `- {op: replace, path: /spec/rules/0/matches/0/path/value, value: cart}
- {op: replace, path: /spec/rules/0/backendRefs/0/weight, value: 0}
- {op: add, path: /spec/rules/0/timeouts, value: {request: 1s}}
- {op: add, path: /spec/rules/0/timeouts/backendRequest, value: 2s}
`,
	})
	t.Chdir(folder)
	r, got := checkJSON(t, "", "-k", folder)
	if len(r.Routes) != 2 {
		t.Fatalf("%+v", got)
	}
	want := map[place]bool{
		{"spec.parentRefs[0]", "", 5}:                      true,
		{"spec.rules", "", 6}:                              true, // of which no operation sets more than a part of a part
		{"spec.rules[0].matches[0].path", "patch.yaml", 1}: true,
		{"spec.rules[0].backendRefs", "patch.yaml", 2}:     true,
		{"spec.rules[0].timeouts", "patch.yaml", 4}:        true,
	}
	if diff := cmp.Diff(want, places(folder, &r.Routes[0]), cmp.AllowUnexported(place{})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if lacks := places(folder, &r.Routes[1]); !lacks[place{"spec.rules[0].backendRefs[0].name", "", 7}] {
		t.Errorf("%+v", lacks)
	}
}

// TestCheckPatchOfSameValue: a patch of a list is blamed for what it sets, also where the source has the same value of another element.
func TestCheckPatchOfSameValue(t *testing.T) {
	const route = "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: cart}\nspec:\n"
	folder := written(t, map[string]string{
		"base/cart.yaml": route + "  parentRefs: [{group: \"\", kind: Service, name: cart, port: 80}]\n  rules:\n  - backendRefs:\n    - {name: v1, port: 8080}\n",
		"base/services.yaml": "{apiVersion: v1, kind: Service, metadata: {name: cart}, spec: {ports: [{port: 80}]}}\n---\n" +
			"{apiVersion: v1, kind: Service, metadata: {name: v1}, spec: {ports: [{port: 8080}]}}\n---\n{apiVersion: v1, kind: Service, metadata: {name: v2}, spec: {ports: [{port: 8081}]}}\n",
		"base/kustomization.yaml": "resources: [cart.yaml, services.yaml]\n",
		"top/kustomization.yaml":  "resources: [../base]\npatches: [{path: v2.yaml}]\n",
		"top/v2.yaml":             route + "  rules:\n  - backendRefs:\n    - {name: v2, port: 8080}\n",
	})
	t.Chdir(folder)
	r, got := checkJSON(t, "", "-k", filepath.Join(folder, "top"))
	if len(r.Routes) != 1 || !places(folder, &r.Routes[0])[place{"spec.rules[0].backendRefs[0].port", "top/v2.yaml", 7}] {
		t.Errorf("%+v %+v", r.Routes, got)
	}
}
