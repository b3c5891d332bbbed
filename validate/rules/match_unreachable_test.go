package rules

import (
	"testing"

	"github.com/gammaguard/gammaguard/mesh"
)

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
	testRule(t, matchUnreachable(), []ruleCase{
		{name: "one match", spec: cart + getOnly},
		{name: "different matches", spec: cart + rules(`{path: {value: /a}}, {path: {type: Exact, value: /a}}`, `{path: {value: /a}, method: GET}`, `{path: {value: /a}, headers: [{name: x, value: "1"}]}`, `{}`)},
		{name: "an equal match in another route", spec: cart + getOnly, routes: routeText(mesh.HTTPRoute, "shop", "old", cart+getOnly)},
		{name: "not on a Service", spec: on("name: edge") + rules(`{path: {value: /a}}`, `{path: {value: /a}}`)},
		{
			name: "equal matches, differently written", spec: cart + rules(`{method: POST}, {path: {value: /a}, headers: [{name: X, value: "1"}, {name: z, value: "2"}]}`, `{path: {value: /a/}, headers: [{name: Z, value: "2"}, {name: x, value: "1"}]}`),
			want: []string{never("rules[1].matches[0]", "rules[0].matches[1]", "GET /a with header Z: 2 and 1 more")},
		},
		{
			name: "rules without matches", spec: cart + `, rules: [{}, {}]`,
			want: []string{never("rules[1]", "rules[0]", "GET /")},
		},
		{
			name: "a regular expression includes the value", spec: cart + rules(`{headers: [{name: version, type: RegularExpression, value: "v[0-9]+"}]}`, `{headers: [{name: Version, value: v2}]}`),
			want: []string{never("rules[1].matches[0]", "rules[0].matches[0]", "GET / with header Version: v2")},
		},
		{name: "a regular expression that comes later", spec: cart + rules(`{headers: [{name: version, value: v2}]}`, `{headers: [{name: version, type: RegularExpression, value: "v[0-9]+"}]}`)},
		{name: "a regular expression for a part of the value", spec: cart + rules(`{headers: [{name: version, type: RegularExpression, value: "v"}]}`, `{headers: [{name: version, value: v2}]}`)},
		{name: "a regular expression that cannot be read", spec: cart + rules(`{headers: [{name: version, type: RegularExpression, value: "("}]}`, `{headers: [{name: version, value: v2}]}`)},
		{name: "a more specific match", spec: cart + rules(`{headers: [{name: version, type: RegularExpression, value: ".*"}]}`, `{headers: [{name: version, value: v2}, {name: tenant, value: gold}]}`)},
		{
			name: "query parameters", spec: cart + rules(`{queryParams: [{name: color, type: RegularExpression, value: "b.*"}]}`, `{queryParams: [{name: color, value: blue}]}, {queryParams: [{name: Color, value: blue}]}`),
			want: []string{never("rules[1].matches[0]", "rules[0].matches[0]", "GET / with query parameter color=blue")},
		},
		{
			name: "gRPC", kind: mesh.GRPCRoute, spec: cart + rules(`{method: {service: a.B, method: Do}}`, `{method: {type: Exact, service: a.B, method: Do}}, {method: {service: a.B}}`),
			want: []string{never("rules[1].matches[0]", "rules[0].matches[0]", "a gRPC call of a.B/Do")},
		},
	})
}
