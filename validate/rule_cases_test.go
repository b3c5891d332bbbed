package validate

import (
	"cmp"
	"slices"
	"sync"

	"github.com/gammaguard/gammaguard/mesh"
)

// ruleCase is a route, and what one rule finds in it. The cases of a rule stand in
// its own test file.
type ruleCase struct {
	rule, name string
	kind       mesh.RouteKind // of the route; HTTPRoute if it is left out
	namespace  string         // of the route; shop if it is left out
	spec       string
	// routes are manifests of the other routes in the world.
	routes string
	policy *Policy
	// want are the findings, as told by findingText.
	want []string
}

// caseLists are the cases of each rule, as its test file adds them.
var caseLists = map[string]func() []ruleCase{}

// addCases adds the cases of a rule, and returns them.
func addCases(rule string, cases func() []ruleCase) func() []ruleCase { //nolint:unparam // a package variable needs a value
	caseLists[rule] = sync.OnceValue(cases)
	return caseLists[rule]
}

// ruleCases returns the cases of all rules.
func ruleCases() []ruleCase {
	var all []ruleCase
	for _, rule := range Catalogue() {
		if cases := caseLists[rule.ID]; cases != nil {
			for _, c := range slices.Clone(cases()) {
				c.rule, c.kind, c.namespace = rule.ID, cmp.Or(c.kind, mesh.HTTPRoute), cmp.Or(c.namespace, "shop")
				if c.policy != nil {
					policy := *c.policy // tests set actions in it
					c.policy = &policy
				}
				all = append(all, c)
			}
		}
	}
	return all
}

// Specs and parts of them that cases share.
const (
	getOnly  = `, rules: [{matches: [{method: GET}]}]`
	catchAll = `, rules: [{}]`
)

// to returns rules with one rule that has these backendRefs.
func to(backendRefs string) string { return `, rules: [{backendRefs: [` + backendRefs + `]}]` }

// mirrorTo returns rules that mirror to the backend, once for the rule and once
// for a backendRef.
func mirrorTo(backendRef string) string {
	mirror := `filters: [{type: RequestMirror, requestMirror: {backendRef: ` + backendRef + `}}]`
	return `, rules: [{` + mirror + `, backendRefs: [{name: cart, port: 80, ` + mirror + `}]}]`
}
