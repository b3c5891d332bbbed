package rules

import "testing"

func TestMatchRegexNonportable(t *testing.T) {
	cart := on(service("cart"))
	query := func(text string) string {
		return matching(`{queryParams: [{name: a, type: RegularExpression, value: '` + text + `'}]}`)
	}
	testRule(t, matchRegexNonportable(), []ruleCase{
		{name: "portable", spec: cart + query(`^(v1|v2)$`)},
		{name: "on a Gateway", spec: on(`{name: edge}`) + query(`(?i)v1`)},
		{
			name: "a flag", spec: cart + query(`(?i)v1`),
			want: []string{`Invalid spec.rules[0].matches[0].queryParams[0].value "(?i)v1": implementations read "(?i" in a regular expression in different ways; ` +
				`use the subset of GEP-4359`},
		},
	})
}
