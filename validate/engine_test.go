package validate_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/test/fixture"
	"github.com/gammaguard/gammaguard/validate"
	"github.com/gammaguard/gammaguard/validate/rules"
)

// judge returns the verdict of the engine for the policy, and fails the test on an
// error.
func judge(t *testing.T, policy *validate.Policy, world mesh.Reader, req *validate.Request) validate.Verdict {
	t.Helper()
	verdict, err := newEngine(t, policy).Judge(req, world)
	if err != nil {
		t.Fatal(err)
	}
	return verdict
}

// with returns the findings of the given effect.
func with(verdict validate.Verdict, effect validate.Action) []validate.Finding {
	var found []validate.Finding
	for _, f := range verdict.Findings {
		if f.Effect == effect {
			found = append(found, f)
		}
	}
	return found
}

// A catalog that would leave the engine without words for something makes none.
func TestNewRefusesCatalogs(t *testing.T) {
	without := func(id string) []*validate.Rule {
		return slices.DeleteFunc(rules.Catalog(), func(r *validate.Rule) bool { return r.ID == id })
	}
	changed := func(id string, change func(*validate.Rule)) []*validate.Rule {
		all := rules.Catalog()
		change(all[slices.IndexFunc(all, func(r *validate.Rule) bool { return r.ID == id })])
		return all
	}
	for name, test := range map[string]struct {
		catalog []*validate.Rule
		want    string
	}{
		"none":               {nil, "no rule is about fault 1"},
		"a fault is missing": {without("route-conflict"), "no rule is about fault 8"},
		"words are missing":  {without(validate.RuleMeshUnsupported), "no rule mesh-unsupported describes parentRefs"},
		"a rule lost them":   {changed(validate.RuleParentGroupInvalid, func(r *validate.Rule) { r.Describe = nil }), "no rule parent-group-invalid describes parentRefs"},
		"a fault lost them":  {changed("parent-headless", func(r *validate.Rule) { r.Describe = nil }), "rule parent-headless: another one is about its fault, or it does not describe it"},
		"one fault, twice":   {changed("parent-not-found", func(r *validate.Rule) { r.Fault = validate.ParentHeadless }), "rule parent-not-found: another one is about its fault, or it does not describe it"},
		"one reads unasked":  {changed("hostnames-ignored", func(r *validate.Rule) { r.Parent = func(*validate.Pass, *validate.Parent) {} }), "rule hostnames-ignored: Route runs without a grant, and so no other function of the rule may read"},
		"one ID, twice":      {changed("no-catch-all", func(r *validate.Rule) { r.ID = "backend-missing" }), "two rules are backend-missing"},
	} {
		if engine, err := validate.New(test.catalog, &validate.Policy{}); err == nil || err.Error() != test.want || engine != nil {
			t.Errorf("%s: %v, %v; want the error %s", name, engine, err, test.want)
		}
	}
}

// In which order a catalog lists the rules makes no difference.
func TestOrderOfTheCatalog(t *testing.T) {
	reversed := rules.Catalog()
	slices.Reverse(reversed)
	req := &validate.Request{Route: newRoute(t, mesh.HTTPRoute, "shop", on(service("headless"), service("cart, port: 80"))+`, hostnames: [a.example], rules: [{backendRefs: [{name: gone, port: 1}]}]`)}
	var verdicts []validate.Verdict
	for _, catalog := range [][]*validate.Rule{rules.Catalog(), reversed} {
		engine, err := validate.New(catalog, &validate.Policy{})
		if err != nil {
			t.Fatal(err)
		}
		verdict, err := engine.Judge(req, newWorld(t, cluster))
		if err != nil || len(verdict.Findings) < 3 {
			t.Fatalf("%v, error %v", told(verdict), err)
		}
		verdicts = append(verdicts, verdict)
	}
	if diff := cmp.Diff(told(verdicts[0]), told(verdicts[1])); diff != "" {
		t.Errorf("findings (-sorted +reversed):\n%s", diff)
	}
}

func TestNewRefuses(t *testing.T) {
	for want, actions := range map[string]map[string]validate.Action{
		`unknown rule "parent-headles"`:               {"parent-headles": validate.Warn},
		`rule parent-headless: unknown action "Deny"`: {"parent-headless": "Deny"},
		`rule parent-headless: unknown action ""`:     {"parent-headless": ""},
	} {
		if engine, err := validate.New(rules.Catalog(), &validate.Policy{Actions: actions}); err == nil || err.Error() != want || engine != nil {
			t.Errorf("New with %v: %v, %v; want the error %s", actions, engine, err, want)
		}
	}
	policy := &validate.Policy{Actions: map[string]validate.Action{"parent-headless": validate.Off}}
	if engine := newEngine(t, policy); engine.Policy() != policy {
		t.Error("the engine has another policy than it was made for")
	}
}

// What does not concern a mesh is not looked at, and asks nothing of the world.
func TestOfNoConcern(t *testing.T) {
	const faulty = `, hostnames: [a.example], rules: [{backendRefs: [{name: alias, port: 1, weight: 0}]}]`
	foreign := on(`{group: networking.istio.io, kind: ServiceEntry, name: a}`, `{name: edge}`)
	for name, route := range map[string]*mesh.Route{
		"a Gateway":     newRoute(t, mesh.HTTPRoute, "lab", on(`{name: edge}`)+faulty),
		"a ListenerSet": newRoute(t, mesh.HTTPRoute, "lab", on(`{kind: ListenerSet, name: edge}`)+faulty),
		"no parent":     newRoute(t, mesh.HTTPRoute, "lab", on()+faulty),
	} {
		route.Metadata.Annotations.Ignore = "no-such-rule"
		world := &fixture.Witness{Reader: newWorld(t, cluster)}
		if verdict := judge(t, nil, world, &validate.Request{Route: route}); !cmp.Equal(verdict, validate.Verdict{}) || world.Asked != nil {
			t.Errorf("%s: verdict %+v, asked %q", name, verdict, world.Asked)
		}
	}
	if verdict := judge(t, nil, newWorldWith(t, manifest.Options{}, cluster), &validate.Request{Route: newRoute(t, mesh.HTTPRoute, "lab", foreign+faulty)}); len(verdict.Findings) > 0 {
		t.Errorf("another implementation: %+v", verdict)
	}
	verdict := judge(t, &validate.Policy{AllowedParentKinds: []string{"MeshService.kuma.io"}}, newWorld(t, cluster), &validate.Request{Route: newRoute(t, mesh.HTTPRoute, "lab", foreign+faulty)})
	if diff := cmp.Diff([]string{"deny spec.parentRefs[0].kind parent-kind-not-allowed"}, inShort(verdict)); diff != "" {
		t.Errorf("another implementation's parent where kinds are listed (-want +got):\n%s", diff)
	}
}

// A route that is being deleted is judged like any other where its spec changes, as
// meshes go on programming it; a finalizer may go.
func TestDeleted(t *testing.T) {
	route, raw := newRoute(t, mesh.HTTPRoute, "lab", on(service("headless"))), routeJSON(t, mesh.HTTPRoute, "lab", on(service("headless")))
	route.Metadata.DeletionTimestamp = &time.Time{}
	for name, test := range map[string]struct {
		req  *validate.Request
		want bool
	}{
		"its spec stays":    {&validate.Request{Route: route, Object: raw, Old: raw}, false},
		"its spec changes":  {&validate.Request{Route: route, Object: raw, Old: routeJSON(t, mesh.HTTPRoute, "lab", on())}, true},
		"it is created so":  {&validate.Request{Route: route}, true},
		"old is unreadable": {&validate.Request{Route: route, Object: raw, Old: []byte("{")}, true},
	} {
		if verdict := judge(t, nil, newWorld(t, cluster), test.req); verdict.Denied() != test.want {
			t.Errorf("%s: denied %t, want %t", name, verdict.Denied(), test.want)
		}
	}
}

// All faults are told at once, in the order of the fields, indices as numbers;
// beside mesh parents all others are left alone.
func TestAllFindingsAtOnce(t *testing.T) {
	refs := []string{`{name: edge}`, service("headless"), `{group: networking.istio.io, kind: ServiceEntry, name: a}`, service("cart, port: 81"), `{kind: Service, name: cart}`}
	for len(refs) < 10 {
		refs = append(refs, `{name: edge}`)
	}
	refs = append(refs, service("alias"), service("gone"))
	spec := on(refs...) + `, hostnames: [a.example], rules: [{backendRefs: [{name: cart, port: 80}, {name: gone, port: 80}]}, {matches: [{method: GET}], backendRefs: [{name: alias, port: 80, weight: 0}]}]`
	verdict := judge(t, nil, newWorld(t, cluster), &validate.Request{Route: newRoute(t, mesh.HTTPRoute, "shop", spec)})
	want := []string{
		"warn spec.hostnames hostnames-ignored",
		"deny spec.parentRefs[1].name parent-headless",
		"deny spec.parentRefs[3].port parent-port-not-found",
		"deny spec.parentRefs[4].group parent-group-invalid",
		"deny spec.parentRefs[10].name parent-external-name",
		"deny spec.parentRefs[11].name parent-not-found",
		"warn spec.rules[0].backendRefs[1].name backend-not-found",
		"warn spec.rules[1].backendRefs backend-weights-zero",
		"deny spec.rules[1].backendRefs[0].name backend-external-name",
	}
	if diff := cmp.Diff(want, inShort(verdict)); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	if !verdict.Denied() || len(with(verdict, validate.Deny)) != 6 || len(with(verdict, validate.Warn)) != 3 || with(verdict, validate.Audit) != nil {
		t.Errorf("denied %v, %d denials, %d warnings", verdict.Denied(), len(with(verdict, validate.Deny)), len(with(verdict, validate.Warn)))
	}
}

func TestComparePaths(t *testing.T) {
	sorted := []string{
		"", "metadata.name", "spec", "spec.hostnames", "spec.parentRefs[0]", "spec.parentRefs[0].group", "spec.parentRefs[0].name",
		"spec.parentRefs[2]", "spec.parentRefs[10]", "spec.rules", "spec.rules[0].backendRefs[9].name", "spec.rules[0].backendRefs[10].name",
		"spec.rules[0].filters[0].requestMirror.backendRef.name", "spec.rules[10]", "spec.x[0]", "spec.x[y]",
	}
	for i, a := range sorted {
		for j, b := range sorted {
			got := validate.ComparePaths(a, b)
			if (got < 0) != (i < j) || (got == 0) != (i == j) {
				t.Errorf("comparePaths(%q, %q) = %d", a, b, got)
			}
		}
	}
}

func TestActions(t *testing.T) {
	want := []validate.Action{validate.Deny, validate.Warn, validate.Audit, validate.Off} // the strictest first: lowering relies on it
	if diff := cmp.Diff(want, validate.Actions()); diff != "" {
		t.Errorf("actions (-want +got):\n%s", diff)
	}
}
