package command

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// definition is a CustomResourceDefinition of TCPRoute, which demands the field color.
const definition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: tcproutes.gateway.networking.k8s.io}
spec:
  group: gateway.networking.k8s.io
  scope: Namespaced
  names: {kind: TCPRoute, plural: tcproutes}
  versions:
  - name: v9
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties: {spec: {type: object, required: [color], x-kubernetes-preserve-unknown-fields: true}}
`

// TestCheckDefinitions: a route is subject to the definitions of the channel, of files, and
// of the input.
func TestCheckDefinitions(t *testing.T) {
	crds := filepath.Join(t.TempDir(), "crds.json")
	text, err := yaml.YAMLToJSON([]byte(definition))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(crds, text, 0o600); err != nil {
		t.Fatal(err)
	}
	route := func(version string) string {
		return fmt.Sprintf("apiVersion: gateway.networking.k8s.io/%s\nkind: TCPRoute\nmetadata: {name: a}\nspec:\n"+
			"  parentRefs: [{kind: Service, name: cart}]\n  rules: [{backendRefs: [{name: cart, port: 80}]}]\n", version)
	}
	notServed := func(version, served string) []string {
		return []string{fmt.Sprintf(`apiVersion 1 no matches for kind "TCPRoute" in version "gateway.networking.k8s.io/%s"; `+
			`use one of the versions that are served: %s (version-not-served)`, version, served)}
	}
	for _, test := range []struct {
		name, input string
		args        []string
		want        []string
	}{
		{"standard", route("v1"), nil, nil},
		{"not in the standard channel", route("v1alpha2"), nil, []string{strings.Replace(notServed("v1alpha2", "v1")[0], " (version", "; or, if your cluster has the experimental channel of the Gateway API, use --channel experimental (version", 1)}},
		{"experimental", route("v1alpha2"), []string{"--channel", "experimental"}, nil},
		{
			"a field of the experimental channel", route("v1") + "  useDefaultGateways: All\n", nil,
			[]string{`spec.useDefaultGateways 7 unknown field "spec.useDefaultGateways"; if your cluster has the experimental channel of the Gateway API, use --channel experimental (schema)`},
		},
		{"a field of the experimental channel, of other definitions", route("v9") + "  useDefaultGateways: All\n", []string{"--crds", crds}, []string{"spec.color 4 Required value (schema)"}},
		{"definitions in files", route("v9"), []string{"--crds", crds}, []string{"spec.color 4 Required value (schema)"}},
		{"definitions in files replace those of the channel", route("v1"), []string{"--crds", crds}, notServed("v1", "v9")},
		{"definitions in the input", route("v9") + "---\n" + definition, nil, []string{"spec.color 4 Required value (schema)"}},
		{
			"an unknown field, and what the webhook says", route("v1") + "  color: red\n",
			[]string{"--complete"},
			[]string{`spec.color 7 unknown field "spec.color" (schema)`, "spec.parentRefs[0] 5 grant-missing"},
		},
		{
			"a list without dashes, and a misspelled field", strings.Replace(route("v1"), "[{backendRefs: [{name: cart, port: 80}]}]", "[{backendRef: [], backendRefs: {name: cart, port: 80}}]", 1), nil,
			[]string{
				`spec.rules[0].backendRef 6 unknown field "spec.rules[0].backendRef"; did you mean "backendRefs"? (schema)`,
				"spec.rules[0].backendRefs 6 must be a list; begin each entry with - (schema)",
			},
		},
		{
			"a variable that is substituted before it is applied", strings.Replace(route("v1"), "port: 80", "port: \"${port}\"", 1), nil,
			[]string{`spec.rules[0].backendRefs[0].port 6 Invalid value: "string": spec.rules[0].backendRefs[0].port in body must be of type integer: "string"; substitute the variable before the check (schema)`},
		},
		{
			"a type, with which the webhook cannot judge", strings.Replace(route("v1"), "port: 80", "port: http", 1),
			[]string{"--complete"},
			[]string{`spec.rules[0].backendRefs[0].port 6 Invalid value: "string": spec.rules[0].backendRefs[0].port in body must be of type integer: "string" (schema)`},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, got := checkJSON(t, test.input, append([]string{"-f", "-"}, test.args...)...)
			var found []string
			for _, f := range r.Routes[0].Findings {
				switch {
				case f.Unknown:
				case f.Rule == "schema", f.Rule == "version-not-served":
					found = append(found, fmt.Sprintf("%s %d %s", f.Field, f.Line, f.Message))
				default:
					found = append(found, fmt.Sprintf("%s %d %s", f.Field, f.Line, f.Rule))
				}
			}
			if diff := cmp.Diff(test.want, found); diff != "" || (got.code == ExitFindings) != (test.want != nil) {
				t.Errorf("exit code %d (-want +got)\n%s", got.code, diff)
			}
		})
	}
	for args, want := range map[string]string{
		"--crds testdata/shop": "error: no CustomResourceDefinition of a route kind in testdata/shop\n",
		"--crds missing":       "error: --crds missing: no such file or directory\nSee 'gammaguard check --help' for usage\n",
		"--channel nightly":    `error: invalid argument "nightly" for "--channel" flag: must be one of standard, experimental` + "\nSee 'gammaguard check --help' for usage\n",
	} {
		if got := run(t, route("v1"), append([]string{"check", "-f", "-"}, strings.Fields(args)...)...); got.code != ExitUsage || got.stderr != want {
			t.Errorf("%s: %+v", args, got)
		}
	}
}

// TestCheckPrecedence: the definitions that --crds names count before those of --channel, and these before those of the input.
// One of the input that comes with the binary, in either channel, is used whole, and needs no note.
func TestCheckPrecedence(t *testing.T) {
	generated, err := filepath.Abs("../../definitions/generated")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	put(t, "shop/route.yaml", "{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: a}, spec: {parentRefs: [{name: gateway}], rules: [{retry: {attempts: 2}}]}}\n---\n"+
		"{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: b}, spec: {parentRefs: [{name: gateway}], rules: [{matches: [{path: {value: //}}]}]}}\n")
	for _, test := range []struct {
		// input is the channel of the definition in the input, if any, and args has those of other definitions.
		input, args string
		// retry: the route may have the field, as in the experimental channel.
		retry bool
	}{
		{"", "", false},
		{"", "--channel experimental", true},
		{"", "--crds experimental", true},
		{"standard", "", false},
		{"experimental", "", true},
		{"experimental", "--channel standard", false},
		{"experimental", "--crds standard", false},
		{"standard", "--channel experimental", true},
		{"standard", "--crds experimental --channel standard", true},
		{"", "--crds standard --channel experimental", false},
		{"", "--base experimental", true},
		{"standard", "--base experimental", false},
		{"", "--base experimental --channel standard", false},
		{"", "--base experimental --crds standard", false},
	} {
		args := append([]string{"check", "--strict", "-f", "shop"}, strings.Fields(strings.NewReplacer("--crds ", "--crds "+generated+"/", "--base ", "--base "+generated+"/").Replace(test.args))...)
		if test.input != "" {
			args = append(args, "-f", filepath.Join(generated, test.input, "HTTPRoute.json"))
		}
		got := run(t, "", args...)
		if refused := strings.Contains(got.stdout, `unknown field "spec.rules[0].retry"`); refused == test.retry || !strings.Contains(got.stdout, "must not contain '//'") || strings.Contains(got.stdout+got.stderr, "CEL") {
			t.Errorf("definition of %q, %s: %+v", test.input, test.args, got)
		}
	}
}

// TestCheckDuplicateKeys: a key that is there twice is a finding with its line, and the
// last one counts for the rest, as for kubectl.
func TestCheckDuplicateKeys(t *testing.T) {
	const text = `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: a}
spec:
  parentRefs: [{group: "", kind: Service, name: cart}]
  rules:
  - backendRefs: [{name: cart, port: 80}]
  rules:
  - backendRefs: [{name: cart, port: 80, weight: -1}]
`
	r, got := checkJSON(t, text, "-f", "-")
	if len(r.Broken) != 1 || r.Broken[0].Line != 8 || !strings.Contains(r.Broken[0].Message, `duplicate key "rules"`) || got.code != ExitFindings {
		t.Errorf("exit code %d: %+v", got.code, r.Broken)
	}
	if len(r.Routes) != 1 || r.Routes[0].Findings[0].Field != "spec.rules[0].backendRefs[0].weight" {
		t.Errorf("%+v", r.Routes)
	}
}

// TestCheckAge: files have no age, so check does not say which of two routes with one
// match is older; a route that is there already is older than one of the input.
func TestCheckAge(t *testing.T) {
	const route = "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: %s}\nspec: {parentRefs: [{group: \"\", kind: Service, name: cart}], rules: [{backendRefs: [{name: cart, port: 80}]}]}\n"
	const service = "apiVersion: v1\nkind: Service\nmetadata: {name: cart}\nspec: {ports: [{port: 80}]}\n---\n"
	base := filepath.Join(t.TempDir(), "base.yaml")
	if err := os.WriteFile(base, fmt.Appendf(nil, service+route, "first"), 0o600); err != nil {
		t.Fatal(err)
	}
	for input, want := range map[string]string{
		service + fmt.Sprintf(route, "first") + "---\n" + fmt.Sprintf(route, "second"): "on port 80 of Service default/cart too; the older one wins, or if both are as old, the first by name",
		fmt.Sprintf(route, "second"): "on port 80 of Service default/cart and is older, so it wins",
	} {
		args := []string{"check", "-f", "-"}
		if !strings.Contains(input, "first") {
			args = append(args, "--base", base)
		}
		if got := run(t, input, args...); !strings.Contains(got.stdout, "HTTPRoute default/first has this match "+want) {
			t.Errorf("want %q in %s%s", want, got.stdout, got.stderr)
		}
	}
}
