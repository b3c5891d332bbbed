package command

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
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
	folder := t.TempDir()
	for name, text := range map[string]string{
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
- patch: |-
    apiVersion: gateway.networking.k8s.io/v1
    kind: HTTPRoute
    metadata:
      name: cart
    spec:
      hostnames: [UPPER]
`,
	} {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r, got := checkJSON(t, "", "-k", filepath.Join(folder, "top"))
	if len(r.Routes) != 1 {
		t.Fatalf("%+v", got)
	}
	type place struct {
		Field, File string
		Line        int
	}
	places := map[place]bool{}
	for _, f := range r.Routes[0].Findings {
		file := f.File
		if file != "" {
			file, _ = filepath.Rel(folder, file)
		}
		places[place{f.Field, file, f.Line}] = true
	}
	want := map[place]bool{
		{"metadata.labels", "top/kustomization.yaml", 1}:                      true,
		{"spec.hostnames[0]", "top/kustomization.yaml", 19}:                   true,
		{"spec.hostnames", "top/kustomization.yaml", 19}:                      true,
		{"spec.parentRefs[0]", "top/port.yaml", 7}:                            true,
		{"spec.parentRefs[0].port", "top/port.yaml", 10}:                      true,
		{"spec.rules[0].backendRefs[0].weight", "top/kustomization.yaml", 10}: true,
		{"spec.rules[0].matches[0].path", "", 8}:                              true,
	}
	if diff := cmp.Diff(want, places); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
