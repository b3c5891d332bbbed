package command

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/internal/cli/explain"
	"github.com/gammaguard/gammaguard/validate"
)

// nameReferences is the file of docs/check-limits.md that has kustomize change references too.
func nameReferences(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../../docs/check-limits.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "# name-references.yaml\n")
	text, _, found := strings.Cut(text, "```")
	if !found {
		t.Fatal("docs/check-limits.md has no name-references.yaml")
	}
	return text
}

// TestCheckNameReferences: names that kustomize changes, and those that it changes once it has the configurations of docs/check-limits.md.
func TestCheckNameReferences(t *testing.T) {
	const base = `
{apiVersion: v1, kind: Service, metadata: {name: cart}, spec: {ports: [{port: 80}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: canary}, spec: {ports: [{port: 80}]}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: cart}
spec:
  parentRefs: [{group: "", kind: Service, name: cart, port: 80}]
  rules:
  - filters: [{type: RequestMirror, requestMirror: {backendRef: {name: canary, port: 80}}}]
    backendRefs: [{name: cart, port: 80}, {name: other, port: 80}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: GRPCRoute
metadata: {name: canary}
spec:
  parentRefs: [{group: "", kind: Service, name: canary, port: 80}]
  rules: [{backendRefs: [{name: canary, port: 80}]}]
`
	for name, test := range map[string]struct {
		kustomization string
		want          []string
	}{
		"prefix": {"namePrefix: prod-", []string{
			"spec.parentRefs[0].name: Service shop/cart is not in the set, which has prod-cart: namePrefix does not change parentRefs",
			"spec.rules[0].filters[0].requestMirror.backendRef.name: Service shop/canary is not in the set, which has prod-canary: namePrefix does not change backendRefs",
			"spec.rules[0].backendRefs[0].name: Service shop/cart is not in the set, which has prod-cart: namePrefix does not change backendRefs",
			"spec.parentRefs[0].name: Service shop/canary is not in the set, which has prod-canary: namePrefix does not change parentRefs",
			"spec.rules[0].backendRefs[0].name: Service shop/canary is not in the set, which has prod-canary: namePrefix does not change backendRefs",
		}},
		"suffix": {"nameSuffix: \"-2\"", []string{
			"spec.parentRefs[0].name: Service shop/cart is not in the set, which has cart-2: nameSuffix does not change parentRefs",
			"spec.rules[0].filters[0].requestMirror.backendRef.name: Service shop/canary is not in the set, which has canary-2: nameSuffix does not change backendRefs",
			"spec.rules[0].backendRefs[0].name: Service shop/cart is not in the set, which has cart-2: nameSuffix does not change backendRefs",
			"spec.parentRefs[0].name: Service shop/canary is not in the set, which has canary-2: nameSuffix does not change parentRefs",
			"spec.rules[0].backendRefs[0].name: Service shop/canary is not in the set, which has canary-2: nameSuffix does not change backendRefs",
		}},
		"neither":              {"", nil},
		"both as told":         {"namePrefix: prod-\nnameSuffix: \"-2\"\nconfigurations: [name-references.yaml]", nil},
		"suffix as told":       {"nameSuffix: \"-2\"\nconfigurations: [name-references.yaml]", nil},
		"only for other kinds": {"commonAnnotations: {a: b}", nil},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			for path, text := range map[string]string{
				"base/kustomization.yaml": "resources: [cart.yaml]\n",
				"base/cart.yaml":          base,
				"kustomization.yaml":      "namespace: shop\nresources: [base]\n" + test.kustomization + "\n",
				"name-references.yaml":    nameReferences(t),
			} {
				path = filepath.Join(folder, path)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			r, _ := checkJSON(t, "", "-k", folder)
			if len(r.Routes) != 2 {
				t.Fatalf("%d routes", len(r.Routes))
			}
			var got, lost []string
			for i := range r.Routes {
				for _, f := range r.Routes[i].Findings {
					switch f.Rule {
					case explain.NameReference:
						got = append(got, f.Field+": "+f.Problem)
						if f.Effect != validate.Warn || f.Line == 0 || !strings.HasSuffix(r.Routes[i].File, "cart.yaml") {
							t.Errorf("%+v", f)
						}
					case "parent-not-found", "backend-not-found": // which would have another advice
						lost = append(lost, f.Field)
					}
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" || !slices.Equal(lost, []string{"spec.rules[0].backendRefs[1].name"}) {
				t.Errorf("%q (-want +got)\n%s", lost, diff)
			}
			strict, _ := checkJSON(t, "", "-k", folder, "--strict")
			for i := range strict.Routes {
				for _, f := range strict.Routes[i].Findings {
					if f.Rule == explain.NameReference && f.Effect != validate.Deny {
						t.Errorf("--strict: %+v", f)
					}
				}
			}
			const granted = "{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {gammaguard.dev/grant: producer}}}"
			complete, _ := checkJSON(t, granted, "-k", folder, "-f", "-", "--complete") // which knows that there is none
			for i := range complete.Routes {
				for _, f := range complete.Routes[i].Findings {
					denies := strings.HasPrefix(f.Field, "spec.parentRefs")
					if f.Rule == explain.NameReference && (f.Effect == validate.Deny) != denies {
						t.Errorf("--complete: %+v", f)
					}
					if strings.HasSuffix(f.Rule, "-not-found") && f.Field != "spec.rules[0].backendRefs[1].name" {
						t.Errorf("--complete: %+v", f) // another advice
					}
				}
			}
		})
	}
}

// TestCheckParentKindOmitted: a parentRef without a kind is to a Gateway, and a Service of its name may
// be meant.
func TestCheckParentKindOmitted(t *testing.T) {
	const service = "{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: shop}, spec: {ports: [{port: 80}]}}\n---\n"
	route := func(ref string) string {
		return "{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: cart, namespace: shop}, spec: {parentRefs: [" + ref + "], rules: [{backendRefs: [{name: cart, port: 80}]}]}}\n---\n"
	}
	for name, test := range map[string]struct {
		input string
		want  validate.Action // empty: nothing is found
	}{
		"beside a Service":        {service + route("{name: cart, port: 80}"), validate.Warn},
		"in the core group":       {service + route(`{group: "", name: cart}`), validate.Warn},
		"which may be a Gateway":  {service + route("{name: cart}"), validate.Audit},
		"beside a Gateway too":    {service + route("{name: cart}") + "{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: cart, namespace: shop}}", ""},
		"a Gateway by its kind":   {service + route("{kind: Gateway, name: cart}"), ""},
		"a Service by its kind":   {service + route(`{group: "", kind: Service, name: cart, port: 80}`), ""},
		"another name":            {service + route("{name: edge}"), ""},
		"another namespace":       {service + route("{name: cart, namespace: edge}"), ""},
		"a group of another mesh": {service + route("{group: example.com, name: cart}"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			r, got := checkJSON(t, test.input, "-f", "-")
			var effect validate.Action
			for _, f := range r.Routes[0].Findings {
				if f.Rule != explain.ParentKindOmitted {
					continue
				}
				effect = f.Effect
				const want = `without a kind, this is Gateway shop/cart, which is not in the input; Service shop/cart is; if the Service is meant, set group: "" and kind: Service (parent-kind-omitted)`
				if f.Message != want || f.Field != "spec.parentRefs[0]" || f.Line == 0 {
					t.Errorf("%+v", f)
				}
			}
			if effect != test.want {
				t.Errorf("%q, want %q: %s", effect, test.want, got.stdout)
			}
		})
	}
}

// TestCheckPatchedNames: what a patch says of names that kustomize changes later is in the build, and is its own.
func TestCheckPatchedNames(t *testing.T) {
	const of = "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: cart, namespace: shop}\nspec:\n"
	for _, affix := range []string{"", "namePrefix: p-\n", "nameSuffix: -s\n"} {
		folder := written(t, map[string]string{
			"base/kustomization.yaml": "resources: [all.yaml]\n",
			"base/all.yaml": "{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: shop}, spec: {ports: [{port: 80}]}}\n---\n" +
				of + "  parentRefs: [{group: \"\", kind: Service, name: cart}]\n  rules: [{backendRefs: [{name: cart, port: 80}]}]\n",
			"prod/kustomization.yaml":   "namespace: shop\nresources: [../base]\npatches: [{path: port.yaml}, {path: split.yaml}]\nconfigurations: [name-references.yaml]\n" + affix,
			"prod/name-references.yaml": nameReferences(t),
			"prod/port.yaml":            of + "  parentRefs: [{group: \"\", kind: Service, name: cart, port: 81}]\n",
			"prod/split.yaml":           of + "  rules:\n  - backendRefs:\n    - {name: cart, port: 80}\n    - {name: cart, weight: 2}\n",
		})
		got := runIn(t, folder, "check", "--fix", "--strict", "--complete")
		for _, want := range []string{"prod/port.yaml\n     5  deny ", "not fixed  prod/split.yaml:8 ", "it is set here, not in base/all.yaml"} {
			if !strings.Contains(got.stdout, want) || strings.Contains(got.stdout, "no set has") || got.stderr != "" {
				t.Errorf("%s: no %q in %+v", affix, want, got)
			}
		}
	}
}
