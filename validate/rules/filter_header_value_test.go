package rules

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

// setting returns rules that set a header to the value, a YAML scalar.
func setting(value string) string {
	return `, rules: [{filters: [{responseHeaderModifier: {set: [{name: x, value: ` + value + `}]}}]}]`
}

func TestFilterHeaderValue(t *testing.T) {
	cart := on(service("cart"))
	const path = `Invalid spec.rules[0].filters[0].responseHeaderModifier.set[0].value `
	const envoy = "Envoy refuses all routes with it, and all later changes; "
	const oneLine = "write it in one line (in YAML, >- in place of | or >)"
	istio := &validate.Policy{Mesh: mesh.FindProfile(mesh.Istio)}
	testRule(t, filterHeaderValue(), []ruleCase{
		{name: "valid", spec: cart + setting(`"a\tb ü 100%"`)},
		{name: "on a Gateway", spec: on(`{name: edge}`) + setting(`"a\nb"`)},
		{name: "an escaped percent sign", spec: cart + setting(`"100%%"`), policy: istio},
		{
			name: "a newline", spec: cart + setting(`"a\nb"`),
			want: []string{path + `"a\nb": the value has the control character U+000A: ` + envoy + oneLine},
		},
		{
			name: "NUL on Linkerd", spec: cart + setting(`"\0"`), policy: &validate.Policy{Mesh: mesh.FindProfile(mesh.Linkerd)},
			want: []string{path + `"\x00": the value has the control character U+0000: Linkerd does not apply the route, and may keep its former version; ` + oneLine},
		},
		{
			name: "a command", spec: cart + setting(`"%REQ(x-b)%"`), policy: istio,
			want: []string{path + `"%REQ(x-b)%": Envoy reads a percent sign as the start of a command such as %REQ(x-id)%, ` +
				`and refuses one that is not valid; leave it out, or make sure that the mesh escapes it`},
		},
	})
}

// TestHeaderValueCorpus: values as charts, documentation, and manifests have them are
// admitted, by Envoy's meshes too.
func TestHeaderValueCorpus(t *testing.T) {
	data, err := os.ReadFile("testdata/header_values.txt")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	if len(lines) < 90 {
		t.Fatalf("%d values", len(lines))
	}
	for _, profile := range append(mesh.Profiles(), nil) {
		for _, value := range lines {
			c := ruleCase{kind: mesh.HTTPRoute, namespace: "shop", spec: on(service("cart")) + setting(strconv.Quote(value)), policy: &validate.Policy{Mesh: profile}}
			found, _, err := c.run(t, filterHeaderValue(), newWorld(t))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range found {
				t.Errorf("%s: %s", value, findingText(f))
			}
		}
	}
}
