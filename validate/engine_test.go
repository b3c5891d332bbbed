package validate

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/mesh/manifest"
)

// judge returns the verdict of the engine for the policy, and fails the test on an
// error.
func judge(t *testing.T, policy *Policy, world mesh.Reader, req *Request) Verdict {
	t.Helper()
	verdict, err := newEngine(t, policy).Judge(req, world)
	if err != nil {
		t.Fatal(err)
	}
	return verdict
}

// with returns the findings of the given effect.
func with(verdict Verdict, effect Action) []Finding {
	var found []Finding
	for _, f := range verdict.Findings {
		if f.Effect == effect {
			found = append(found, f)
		}
	}
	return found
}

func TestNewRefuses(t *testing.T) {
	for want, actions := range map[string]map[string]Action{
		`unknown rule "parent-headles"`:               {"parent-headles": Warn},
		`rule parent-headless: unknown action "Deny"`: {"parent-headless": "Deny"},
		`rule parent-headless: unknown action ""`:     {"parent-headless": ""},
	} {
		if engine, err := New(&Policy{Actions: actions}); err == nil || err.Error() != want || engine != nil {
			t.Errorf("New with %v: %v, %v; want the error %s", actions, engine, err, want)
		}
	}
	policy := &Policy{Actions: map[string]Action{"parent-headless": Off}}
	if engine := newEngine(t, policy); engine.Policy() != policy {
		t.Error("the engine has another policy than it was made for")
	}
}

// The action of every rule can be set, whatever its default.
func TestActionsOfThePolicy(t *testing.T) {
	tried := map[string]bool{}
	for _, c := range ruleCases() {
		if len(c.want) == 0 || tried[c.rule] {
			continue
		}
		tried[c.rule] = true
		for _, action := range Actions() {
			policy := only(map[string]Action{c.rule: action})
			if c.policy != nil {
				c.policy.Actions, policy = policy.Actions, c.policy
			}
			got := map[Action]int{}
			for _, f := range judge(t, policy, newWorld(t, cluster, c.routes), &Request{Route: newRoute(t, c.kind, c.namespace, c.spec)}).Findings {
				if f.Rule != c.rule || f.Action != f.Effect || f.Downgraded != NotDowngraded {
					t.Errorf("%s set to %s: %+v", c.rule, action, f)
				}
				got[f.Effect]++
			}
			want := map[Action]int{}
			if action != Off {
				want[action] = len(c.want)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s set to %s: findings by effect (-want +got):\n%s", c.rule, action, diff)
			}
		}
	}
	for _, rule := range Catalogue() {
		if !tried[rule.ID] {
			t.Errorf("%s has no case in which it fires", rule.ID)
		}
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
		world := &witness{Reader: newWorld(t, cluster)}
		if verdict := judge(t, nil, world, &Request{Route: route}); !cmp.Equal(verdict, Verdict{}) || world.asked != nil {
			t.Errorf("%s: verdict %+v, asked %q", name, verdict, world.asked)
		}
	}
	if verdict := judge(t, nil, newWorldWith(t, manifest.Options{}, cluster), &Request{Route: newRoute(t, mesh.HTTPRoute, "lab", foreign+faulty)}); len(verdict.Findings) > 0 {
		t.Errorf("another implementation: %+v", verdict)
	}
	verdict := judge(t, &Policy{AllowedParentKinds: []string{"MeshService.kuma.io"}}, newWorld(t, cluster), &Request{Route: newRoute(t, mesh.HTTPRoute, "lab", foreign+faulty)})
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
		req  *Request
		want bool
	}{
		"its spec stays":    {&Request{Route: route, Object: raw, Old: raw}, false},
		"its spec changes":  {&Request{Route: route, Object: raw, Old: routeJSON(t, mesh.HTTPRoute, "lab", on())}, true},
		"it is created so":  {&Request{Route: route}, true},
		"old is unreadable": {&Request{Route: route, Object: raw, Old: []byte("{")}, true},
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
	verdict := judge(t, nil, newWorld(t, cluster), &Request{Route: newRoute(t, mesh.HTTPRoute, "shop", spec)})
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
	if !verdict.Denied() || len(with(verdict, Deny)) != 6 || len(with(verdict, Warn)) != 3 || with(verdict, Audit) != nil {
		t.Errorf("denied %v, %d denials, %d warnings", verdict.Denied(), len(with(verdict, Deny)), len(with(verdict, Warn)))
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
			got := comparePaths(a, b)
			if (got < 0) != (i < j) || (got == 0) != (i == j) {
				t.Errorf("comparePaths(%q, %q) = %d", a, b, got)
			}
		}
	}
}
