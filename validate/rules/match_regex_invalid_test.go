package rules

import (
	"slices"
	"strings"
	"testing"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

// matching returns rules with one match.
func matching(match string) string { return `, rules: [{matches: [` + match + `]}]` }

func TestMatchRegexInvalid(t *testing.T) {
	cart := on(service("cart"))
	const envoy = "Envoy refuses all routes with it, and all later changes"
	path := func(text string) string { return matching(`{path: {type: RegularExpression, value: '` + text + `'}}`) }
	testRule(t, matchRegexInvalid(), []ruleCase{
		{name: "valid", spec: cart + path(`/v[0-9]+/.*`)},
		{name: "not an expression", spec: cart + matching(`{path: {value: "/[a"}, headers: [{name: a, value: "["}]}`)},
		{name: "on a Gateway", spec: on(`{name: edge}`) + path(`/[a`)},
		{
			name: "a missing bracket", spec: cart + path(`/[a`),
			want: []string{`Invalid spec.rules[0].matches[0].path.value "/[a": not valid RE2 (missing closing ] in "[a"): ` + envoy + `; correct the expression, or use a match without one`},
		},
		{
			name: "a wildcard", spec: cart + path(`*.example.com`),
			want: []string{`Invalid spec.rules[0].matches[0].path.value "*.example.com": not valid RE2 (missing argument to repetition operator in "*"): ` + envoy + `; write .* for any text, and \. for a dot`},
		},
		{
			name: "lookaround", spec: cart + matching(`{headers: [{name: a, value: b}, {name: tenant, type: RegularExpression, value: "(?!x).*"}]}`),
			want: []string{`Invalid spec.rules[0].matches[0].headers[1].value "(?!x).*": not valid RE2 (invalid or unsupported Perl syntax in "(?!"): ` + envoy + `; RE2 has no lookaround and no backreferences: use several matches`},
		},
		{
			name: "gRPC on Linkerd", kind: mesh.GRPCRoute, policy: &validate.Policy{Mesh: mesh.FindProfile(mesh.Linkerd)},
			spec: cart + matching(`{method: {type: RegularExpression, service: 'a{2000}', method: "("}}`),
			want: []string{`Invalid spec.rules[0].matches[0].method.method "(": not valid Rust's regex (missing closing ) in "("): Linkerd does not apply the route, and may keep its former version; correct the expression, or use a match without one`},
		},
		{
			name: "too many instructions", spec: cart + path(`((a{100}){100}){100}`),
			want: []string{`Invalid spec.rules[0].matches[0].path.value "((a{100}){100}){100}": not valid RE2 (invalid repeat count in "{100}"): ` + envoy + `; repeat at most 1000 times`},
		},
		{
			name: "costly", spec: cart + matching(`{headers: [{name: a, type: RegularExpression, value: "(?i)[`+strings.Repeat(`B-\U0001e942`, 8)+`]"},
				{name: b, type: RegularExpression, value: "(?i)[`+strings.Repeat(`B-\U0001e942`, 8)+`]"}, {name: c, type: RegularExpression, value: "["}]}`),
			want: []string{`Invalid spec.rules[0].matches[0].headers[1].value "": the regular expressions of the route up to here take too long to check; ` +
				`use fewer ranges of Unicode characters, or divide the route`},
		},
	})
}

// BenchmarkExpressions is what the rules about expressions and headers cost a route without
// either, in addition to the rest of the engine.
func BenchmarkExpressions(b *testing.B) {
	about := []string{"match-regex-invalid", "match-regex-nonportable", "filter-header-restricted", "filter-header-value", "filter-header-duplicate"}
	route := newRoute(b, mesh.HTTPRoute, "shop", on(service("cart"))+matching(`{path: {value: /v1}, headers: [{name: a, value: b}]}`))
	for name, action := range map[string]validate.Action{"without": validate.Off, "with": validate.Deny} {
		b.Run(name, func(b *testing.B) {
			policy := &validate.Policy{Actions: map[string]validate.Action{}}
			for _, rule := range Catalog() {
				policy.Actions[rule.ID] = validate.Off
				if slices.Contains(about, rule.ID) {
					policy.Actions[rule.ID] = action
				}
			}
			engine, err := validate.New(Catalog(), policy)
			if err != nil {
				b.Fatal(err)
			}
			world := newWorld(b)
			b.ReportAllocs()
			for b.Loop() {
				if verdict, err := engine.Judge(&validate.Request{Route: route}, world); err != nil || len(verdict.Findings) > 0 {
					b.Fatalf("%v, error %v", verdict, err)
				}
			}
		})
	}
}
