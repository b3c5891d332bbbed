package validate

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/gammaguard/gammaguard/mesh"
)

// setting returns rules that set a header to the value, a YAML scalar.
func setting(value string) string {
	return `, rules: [{filters: [{responseHeaderModifier: {set: [{name: x, value: ` + value + `}]}}]}]`
}

var _ = addCases("filter-header-value", func() []ruleCase {
	cart := on(service("cart"))
	const path = `Invalid spec.rules[0].filters[0].responseHeaderModifier.set[0].value `
	const envoy = "Envoy refuses all routes with it, and all later changes; "
	const oneLine = "write it in one line (in YAML, >- in place of | or >)"
	istio := &Policy{Mesh: mesh.FindProfile(mesh.Istio)}
	return []ruleCase{
		{name: "valid", spec: cart + setting(`"a\tb ü 100%"`)},
		{name: "on a Gateway", spec: on(`{name: edge}`) + setting(`"a\nb"`)},
		{name: "an escaped percent sign", spec: cart + setting(`"100%%"`), policy: istio},
		{
			name: "a newline", spec: cart + setting(`"a\nb"`),
			want: []string{path + `"a\nb": the value has the control character U+000A: ` + envoy + oneLine},
		},
		{
			name: "NUL on Linkerd", spec: cart + setting(`"\0"`), policy: &Policy{Mesh: mesh.FindProfile(mesh.Linkerd)},
			want: []string{path + `"\x00": the value has the control character U+0000: Linkerd does not apply the route, and may keep its former version; ` + oneLine},
		},
		{
			name: "a command", spec: cart + setting(`"%REQ(x-b)%"`), policy: istio,
			want: []string{path + `"%REQ(x-b)%": Envoy reads a percent sign as the start of a command such as %REQ(x-id)%, ` +
				`and refuses one that is not valid; leave it out, or make sure that the mesh escapes it`},
		},
	}
})

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
			c := ruleCase{rule: "filter-header-value", kind: mesh.HTTPRoute, namespace: "shop", spec: on(service("cart")) + setting(strconv.Quote(value)), policy: &Policy{Mesh: profile}}
			for _, f := range c.look(t, newWorld(t)).findings {
				t.Errorf("%s: %s", value, findingText(f))
			}
		}
	}
}
