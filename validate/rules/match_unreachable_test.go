package rules

import (
	"strings"
	"testing"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

func meshed(name mesh.ProfileName) *validate.Policy {
	return &validate.Policy{Mesh: mesh.FindProfile(name)}
}

func TestMatchUnreachable(t *testing.T) {
	cart := on(service("cart, port: 80"))
	rules := func(rules ...string) string {
		text := ", rules: ["
		for _, rule := range rules {
			text += "{matches: [" + rule + "]},"
		}
		return text + "]"
	}
	never := func(place, by, example string) string {
		return `Invalid spec.` + place + ` "": never receives requests: ` + by + ` takes them first, for example ` + example + `; remove it, or move it before the other match`
	}
	equal := func(place, by, example string) string {
		return strings.TrimSuffix(never(place, by, example), ", or move it before the other match")
	}
	alone := func(finding string) string { return strings.Replace(finding, "remove it", "remove the rule", 1) } // it is the only match of its rule
	expression := rules(`{path: {type: RegularExpression, value: "/items/[0-9]+"}}`, `{path: {value: /}}`)
	ranked := func(title, place, by, how, where string) string {
		return `Invalid spec.` + place + ` "": never receives requests: ` + by + ` takes them first, since ` + title + ` ranks a RegularExpression ` + how + `; use a PathPrefix or an Exact path ` + where
	}
	testRule(t, matchUnreachable(), []ruleCase{
		{name: "an expression below every path", spec: cart + expression},
		{name: "a mesh that ranks expressions somewhere", spec: cart + expression, policy: meshed(mesh.Linkerd)},
		{name: "a mesh that ranks expressions first", spec: cart + expression, policy: meshed(mesh.Cilium)},
		{
			name: "a mesh that ranks expressions last", spec: cart + expression, policy: meshed(mesh.Istio),
			want: []string{ranked("Istio", "rules[0].matches[0]", "rules[1].matches[0]", "after every prefix, the longer first", "instead")},
		},
		{
			name: "a newer release", spec: cart + expression, policy: meshed("istio@1.99"),
			want: []string{ranked("Istio", "rules[0].matches[0]", "rules[1].matches[0]", "after every prefix, the longer first, as of release "+mesh.FindProfile(mesh.Istio).Newest, "instead")},
		},
		{
			name: "an expression for every path, ranked first", spec: cart + rules(`{path: {value: /a}}`, `{path: {type: RegularExpression, value: "/.*"}}`), policy: meshed(mesh.Cilium),
			want: []string{ranked("Cilium", "rules[0].matches[0]", "rules[1].matches[0]", "before every prefix, the longer first", "in rules[1].matches[0]")},
		},
		{name: "one match", spec: cart + getOnly},
		{name: "different matches", spec: cart + rules(`{path: {value: /a}}, {path: {type: Exact, value: /a}}`, `{path: {value: /a}, method: GET}`, `{path: {value: /a}, headers: [{name: x, value: "1"}]}`, `{}`)},
		{name: "an equal match in another route", spec: cart + getOnly, routes: routeText(mesh.HTTPRoute, "shop", "old", cart+getOnly)},
		{name: "not on a Service", spec: on("name: edge") + rules(`{path: {value: /a}}`, `{path: {value: /a}}`)},
		{
			name: "equal matches, differently written", spec: cart + rules(`{method: POST}, {path: {value: /a}, headers: [{name: X, value: "1"}, {name: z, value: "2"}]}`, `{path: {value: /a/}, headers: [{name: Z, value: "2"}, {name: x, value: "1"}]}`),
			want: []string{alone(equal("rules[1].matches[0]", "rules[0].matches[1]", "GET /a with header Z: 2 and 1 more"))},
		},
		{
			name: "rules without matches", spec: cart + `, rules: [{}, {}]`,
			want: []string{alone(equal("rules[1]", "rules[0]", "GET /"))},
		},
		{
			name: "a regular expression includes the value", spec: cart + rules(`{headers: [{name: version, type: RegularExpression, value: "v[0-9]+"}]}`, `{headers: [{name: Version, value: v2}]}`),
			want: []string{alone(never("rules[1].matches[0]", "rules[0].matches[0]", "GET / with header Version: v2"))},
		},
		{name: "a regular expression that comes later", spec: cart + rules(`{headers: [{name: version, value: v2}]}`, `{headers: [{name: version, type: RegularExpression, value: "v[0-9]+"}]}`)},
		{name: "a regular expression for a part of the value", spec: cart + rules(`{headers: [{name: version, type: RegularExpression, value: "v"}]}`, `{headers: [{name: version, value: v2}]}`)},
		{name: "a regular expression that cannot be read", spec: cart + rules(`{headers: [{name: version, type: RegularExpression, value: "("}]}`, `{headers: [{name: version, value: v2}]}`)},
		{name: "a more specific match", spec: cart + rules(`{headers: [{name: version, type: RegularExpression, value: ".*"}]}`, `{headers: [{name: version, value: v2}, {name: tenant, value: gold}]}`)},
		{
			name: "query parameters", spec: cart + rules(`{queryParams: [{name: color, type: RegularExpression, value: "b.*"}]}`, `{queryParams: [{name: color, value: blue}]}, {queryParams: [{name: Color, value: blue}]}`),
			want: []string{never("rules[1].matches[0]", "rules[0].matches[0]", "GET / with query parameter color=blue")},
		},
		{name: "equal calls where the mesh gives them to both", kind: mesh.GRPCRoute, spec: cart + rules(`{method: {service: a.B}}`, `{method: {service: a.B}}`), policy: meshed(mesh.Cilium)},
		{
			name: "gRPC", kind: mesh.GRPCRoute, spec: cart + rules(`{method: {service: a.B, method: Do}}`, `{method: {type: Exact, service: a.B, method: Do}}, {method: {service: a.B}}`),
			want: []string{equal("rules[1].matches[0]", "rules[0].matches[0]", "a gRPC call of a.B/Do")},
		},
	})
}
