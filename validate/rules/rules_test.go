package rules

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/test/fixture"
	"github.com/gammaguard/gammaguard/validate"
)

// ruleCase is a route, and what a rule finds in it.
type ruleCase struct {
	name      string
	kind      mesh.RouteKind // of the route; HTTPRoute if it is left out
	namespace string         // of the route; shop if it is left out
	created   time.Time      // of the route; that of one that is just being created if it is left out
	spec      string
	// routes are manifests of the other routes in the world.
	routes string
	policy *validate.Policy
	// want are the findings, as told by findingText.
	want []string
}

// testRule runs the rule over each route, and holds it to what is true of every rule.
func testRule(t *testing.T, rule *validate.Rule, cases []ruleCase) {
	t.Helper()
	var firing []*ruleCase
	long := false
	for i := range cases {
		c := &cases[i]
		c.kind, c.namespace = cmp.Or(c.kind, mesh.HTTPRoute), cmp.Or(c.namespace, "shop")
		if len(c.want) > 0 {
			firing = append(firing, c)
		}
		t.Run(c.name, func(t *testing.T) {
			c.testFindings(t, rule)
			c.testBehindAnother(t, rule)
			long = c.testLength(t, rule) || long
			c.testReads(t)
		})
	}
	if len(firing) == 0 || len(firing) == len(cases) {
		t.Fatalf("the rule fires in %d of %d cases: want one at least in which it does, and one in which it does not", len(firing), len(cases))
	}
	if !long {
		t.Error("it does not fire with long names")
	}
	firing[0].testActions(t, rule)
	testLag(t, rule, firing)
}

func (c *ruleCase) route(t testing.TB) *mesh.Route {
	t.Helper()
	route := newRoute(t, c.kind, c.namespace, c.spec)
	route.Metadata.CreationTimestamp = c.created
	return route
}

// run runs one rule, and nothing of the engine, over the route.
func (c *ruleCase) run(t testing.TB, rule *validate.Rule, world mesh.Reader) (found, unknown []validate.Finding, err error) {
	t.Helper()
	return rule.Run(cmp.Or(c.policy, &validate.Policy{}), c.route(t), world)
}

// findingText tells all of a finding that a user can see.
func findingText(f validate.Finding) string {
	types := map[validate.FaultType]string{validate.InvalidValue: "Invalid", validate.NotFound: "NotFound", validate.Duplicate: "Duplicate", validate.Forbidden: "Forbidden"}
	value := `""`
	if f.Value != nil {
		value = fmt.Sprintf("%#v", f.Value)
	}
	return fmt.Sprintf("%s %s %s: %s; %s", types[f.Type], f.Field, value, f.Problem, f.Remedy)
}

// testFindings: the rule finds what the case says.
func (c *ruleCase) testFindings(t *testing.T, rule *validate.Rule) {
	found, unknown, err := c.run(t, rule, newWorld(t, cluster, c.routes))
	if err != nil || len(unknown) > 0 {
		t.Fatalf("in a world that knows everything: error %v, unknown %v", err, unknown)
	}
	var got []string
	for _, f := range found {
		if f.Rule != rule.ID {
			t.Errorf("a finding says it is of rule %q", f.Rule)
		}
		got = append(got, findingText(f))
	}
	if diff := gocmp.Diff(c.want, got); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

// testBehindAnother: a parent with which nothing is wrong hides no fault of those after it.
func (c *ruleCase) testBehindAnother(t *testing.T, rule *validate.Rule) {
	if !strings.HasPrefix(rule.ID, "parent-") {
		return
	}
	good := service("plain, namespace: shop, port: 82")
	if c.kind == mesh.UDPRoute {
		good = service("syslog, namespace: shop, port: 514")
	}
	behind := *c
	behind.spec = strings.Replace(c.spec, "parentRefs: [", "parentRefs: [{name: edge}, "+good+", ", 1)
	if found, _, _ := behind.run(t, rule, newWorld(t, cluster, c.routes)); len(found) != len(c.want) {
		t.Errorf("%d findings behind a good parent, want %d", len(found), len(c.want))
	}
}

// maxWarning is the maximum length of a warning: kubectl and the API server cut longer ones.
const maxWarning = 256

// realistic is the length of names with which the warnings of a rule fit that names several
// objects, or a command. All others fit with the longest valid names.
var realistic = map[string]int{
	"backend-external-name":    49, // in a mirror of a backendRef
	"backend-has-routes":       14,
	"backend-not-found":        30, // in a mirror
	"backend-not-permitted":    12,
	"backend-port-not-found":   60,
	"consumer-refused":         10,
	"grant-missing":            10,
	"no-catch-all":             31,
	"parent-app-protocol":      43,
	"parent-headless":          56,
	"parent-not-found":         44,
	"parent-port-not-found":    55,
	"producer-routes-replaced": 10,
	"service-not-enrolled":     40,
	"service-overridden":       12,
	"route-conflict":           13,
	"route-overlap":            14,
}

// testLength: no warning is cut. It reports whether there are any with long names.
func (c *ruleCase) testLength(t *testing.T, rule *validate.Rule) bool {
	const names = "shop faces lab closed some cart headless alias alias-none node balanced one vault nothing cards gone " +
		"loose portless many syslog plain secure own old lost probe smiley far shy unsure"
	length := cmp.Or(realistic[rule.ID], 63)
	long := func(text string) string {
		for _, name := range strings.Fields(names) {
			text = replaceName(text, name, name+strings.Repeat("x", length-len(name)))
		}
		return text
	}
	longer := *c
	longer.spec, longer.namespace, longer.routes = long(c.spec), long(c.namespace), long(c.routes)
	found, _, err := longer.run(t, rule, newWorld(t, long(cluster), longer.routes))
	if err != nil {
		t.Error(err)
	}
	for _, f := range found {
		f.Action, f.Effect, f.Downgraded = validate.Deny, validate.Deny, validate.NotDowngraded
		if warning := f.Warning(); len(warning) > maxWarning {
			t.Errorf("%d characters with names of %d:\n%s", len(warning), length, warning)
		}
	}
	return len(found) > 0
}

// replaceName replaces the name where it is a namespace's or an object's, or part of a Service's
// qualified one.
func replaceName(text, name, long string) string {
	if text == name {
		return long
	}
	text = strings.ReplaceAll(text, "name: "+name+".", "name: "+long+".")
	text = strings.ReplaceAll(text, "."+name+".svc.", "."+long+".svc.")
	for _, field := range []string{"name: ", "namespace: ", "service-name: "} {
		for _, end := range []string{",", "}"} {
			text = strings.ReplaceAll(text, field+name+end, field+long+end)
		}
	}
	return text
}

// testReads: over this route too, no rule takes a read that failed for an answer, and what
// runs without a grant reads nothing.
func (c *ruleCase) testReads(t *testing.T) {
	route, all := c.route(t), newWorld(t, cluster, c.routes)
	policy := cmp.Or(c.policy, &validate.Policy{AllowedParentKinds: []string{"MeshService.kuma.io"}})
	for _, rule := range Catalog() {
		for failing, name := range fixture.ReadNames {
			world := &fixture.Witness{Reader: all, Failing: map[mesh.ReadKind]bool{failing: true}}
			_, _, err := rule.Run(policy, route, world)
			if asked := world.Reads[failing]; asked != errors.Is(err, fixture.ErrAsked) {
				t.Fatalf("%s, where %s cannot be read: error %v after asking for %q", rule.ID, name, err, world.Asked)
			}
			if rule.Route != nil && len(world.Asked) > 0 {
				t.Fatalf("%s asks for %q", rule.ID, world.Asked)
			}
		}
	}
}

// under returns an engine under which no rule runs but this one, with this action.
func (c *ruleCase) under(t *testing.T, rule *validate.Rule, action validate.Action) *validate.Engine {
	t.Helper()
	policy := *cmp.Or(c.policy, &validate.Policy{})
	policy.Actions = map[string]validate.Action{}
	for _, other := range Catalog() {
		policy.Actions[other.ID] = validate.Off
	}
	policy.Actions[rule.ID] = action
	engine, err := validate.New(Catalog(), &policy)
	if err != nil {
		t.Fatal(err)
	}
	return engine
}

// testActions: the action of the rule can be set, whatever its default.
func (c *ruleCase) testActions(t *testing.T, rule *validate.Rule) {
	for _, action := range validate.Actions() {
		verdict, err := c.under(t, rule, action).Judge(&validate.Request{Route: c.route(t)}, newWorld(t, cluster, c.routes))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range verdict.Findings {
			if f.Rule != rule.ID || f.Action != action || f.Effect != action || f.Downgraded != validate.NotDowngraded {
				t.Errorf("set to %s: %+v", action, f)
			}
		}
		want := len(c.want)
		if action == validate.Off {
			want = 0
		}
		if len(verdict.Findings) != want {
			t.Errorf("set to %s: %d findings, want %d", action, len(verdict.Findings), want)
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
			for _, rule := range Catalog() {
				c := ruleCase{kind: kind, namespace: "lab", spec: parents + faulty}
				if found, _, err := c.run(t, rule, newWorld(t, cluster)); len(found) > 0 || err != nil {
					t.Errorf("%s with a %s parent: %s finds %+v, error %v", kind, name, rule.ID, found, err)
				}
			}
		}
	}
}

func TestShortLists(t *testing.T) {
	for _, test := range []struct {
		names            []string
		list, portsNamed string
	}{
		{[]string{"80"}, "80", "port 80"},
		{[]string{"80", "443"}, "80, 443", "ports 80, 443"},
		{[]string{"1", "2", "3", "4", "5", "6"}, "1, 2, 3, 4, 5, 6", "ports 1, 2, 3, 4, 5, 6"},
		{[]string{"1", "2", "3", "4", "5", "6", "7"}, "1, 2, 3, 4, 5, 6 and 1 more", "ports 1, 2, 3, 4, 5, 6 and 1 more"},
	} {
		if diff := gocmp.Diff([]string{test.list, test.portsNamed}, []string{shortList(test.names), portsNamed(test.names)}); diff != "" {
			t.Errorf("%v (-want +got):\n%s", test.names, diff)
		}
	}
}
