package rules

import "testing"

func TestFilterHeaderDuplicate(t *testing.T) {
	cart := on(service("cart"))
	const path = `Duplicate spec.rules[0].filters[0].requestHeaderModifier.`
	const rest = ` too; which of them counts differs among implementations; keep one of them`
	request := func(modifier string) string {
		return `, rules: [{filters: [{requestHeaderModifier: ` + modifier + `}]}]`
	}
	testRule(t, filterHeaderDuplicate(), []ruleCase{
		{name: "different ones", spec: cart + request(`{set: [{name: a, value: b}], add: [{name: b, value: c}], remove: [c]}`)},
		{name: "in two modifiers", spec: cart + `, rules: [{filters: [{requestHeaderModifier: {remove: [a]}}, {responseHeaderModifier: {remove: [a]}}]}]`},
		{name: "on a Gateway", spec: on(`{name: edge}`) + request(`{remove: [a, A]}`)},
		{
			name: "in another case", spec: cart + request(`{set: [{name: x-a, value: b}, {name: X-A, value: c}]}`),
			want: []string{path + `set[1].name "X-A": the modifier names the header in set[0]` + rest},
		},
		{
			name: "set and removed", spec: cart + request(`{set: [{name: x-a, value: b}], remove: [b, X-A]}`),
			want: []string{path + `remove[1] "X-A": the modifier names the header in set[0]` + rest},
		},
	})
}
