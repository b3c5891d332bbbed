package validate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/mesh"
)

// findingText tells all of a finding that a user can see.
func findingText(f Finding) string {
	types := map[FaultType]string{InvalidValue: "Invalid", NotFound: "NotFound", Duplicate: "Duplicate", Forbidden: "Forbidden"}
	value := `""`
	if f.Value != nil {
		value = fmt.Sprintf("%#v", f.Value)
	}
	return fmt.Sprintf("%s %s %s: %s; %s", types[f.Type], f.Field, value, f.Problem, f.Remedy)
}

// look runs one rule, and nothing of the engine, over the route.
func (c *ruleCase) look(t testing.TB, world mesh.Reader) *Pass {
	t.Helper()
	rule := Find(c.rule)
	if rule == nil {
		t.Fatalf("no rule %q", c.rule)
	}
	policy := c.policy
	if policy == nil {
		policy = &Policy{}
	}
	pass := newEngine(t, policy).newPass(newRoute(t, c.kind, c.namespace, c.spec), world)
	pass.run(activeRule{rule, Deny, true})
	return pass
}

func TestRules(t *testing.T) {
	tested := map[string]bool{}
	for _, c := range ruleCases() {
		t.Run(c.rule+"/"+c.name, func(t *testing.T) {
			pass := c.look(t, newWorld(t, cluster, c.routes))
			if pass.err != nil || len(pass.unknown) > 0 {
				t.Fatalf("in a world that knows everything: error %v, unknown %v", pass.err, pass.unknown)
			}
			var got []string
			for _, f := range pass.findings {
				if f.Rule != c.rule {
					t.Errorf("a finding says it is of rule %q", f.Rule)
				}
				got = append(got, findingText(f))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
		tested[c.rule] = true
	}
	for _, rule := range Catalogue() {
		if !tested[rule.ID] {
			t.Errorf("rule %s has no case", rule.ID)
		}
	}
}

// A parent with which nothing is wrong hides no fault of those after it.
func TestParentRulesLookAtEveryParent(t *testing.T) {
	for _, c := range ruleCases() {
		if !strings.HasPrefix(c.rule, "parent-") {
			continue
		}
		good := service("plain, namespace: shop, port: 82")
		if c.kind == mesh.UDPRoute {
			good = service("syslog, namespace: shop, port: 514")
		}
		c.spec = strings.Replace(c.spec, "parentRefs: [", "parentRefs: [{name: edge}, "+good+", ", 1)
		if got := c.look(t, newWorld(t, cluster, c.routes)).findings; len(got) != len(c.want) {
			t.Errorf("%s, %s: %d findings behind a good parent, want %d", c.rule, c.name, len(got), len(c.want))
		}
	}
}

// A rule has nothing to say about routes with Gateways, or parents of other
// implementations, alone, whatever else is wrong with them.
func TestRulesLeaveOtherRoutesAlone(t *testing.T) {
	const faulty = `, hostnames: [a.example], rules: [{matches: [{path: {value: /a}}], backendRefs: [
		{name: alias, port: 1, weight: 0}, {name: nowhere, namespace: faces, port: 1, weight: 0}, {name: one, port: 1, weight: 0}]}]`
	for name, parents := range map[string]string{
		"gateway":      on(`{name: edge}`, `{group: gateway.networking.k8s.io, kind: ListenerSet, name: edge}`),
		"foreign":      on(`{group: networking.istio.io, kind: ServiceEntry, name: edge}`),
		"none":         on(),
		"no such kind": on(`{group: serving.knative.dev, kind: Service, name: edge}`),
	} {
		for _, kind := range mesh.RouteKinds() {
			for _, rule := range Catalogue() {
				c := ruleCase{rule: rule.ID, kind: kind, namespace: "lab", spec: parents + faulty}
				if pass := c.look(t, newWorld(t, cluster)); len(pass.findings) > 0 {
					t.Errorf("%s with a %s parent: %s finds %q", kind, name, rule.ID, pass.findings[0].Warning())
				}
			}
		}
	}
}
