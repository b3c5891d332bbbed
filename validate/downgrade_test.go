package validate_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/test/fixture"
	"github.com/gammaguard/gammaguard/validate"
)

// effects returns rule, action, effect and reason of each finding.
func effects(verdict validate.Verdict) []string {
	var lines []string
	for _, f := range verdict.Findings {
		line := f.Rule + " " + string(f.Action)
		if f.Effect != f.Action {
			line += " to " + string(f.Effect) + " by " + string(f.Downgraded)
		}
		lines = append(lines, line)
	}
	return lines
}

// modeWorld has namespace mine with a mode and no grant.
func modeWorld(t *testing.T, mode string) mesh.Reader {
	labels := `{}`
	if mode != "" {
		labels = `{gammaguard.dev/mode: ` + mode + `}`
	}
	return newWorld(t, cluster, `{apiVersion: v1, kind: Namespace, metadata: {name: mine, labels: `+labels+`}}`)
}

func TestModes(t *testing.T) {
	spec := on(service("headless, namespace: shop")) + `, hostnames: [a.example]`
	enforced := []string{"hostnames-ignored warn", "grant-missing deny"}
	warned := []string{"hostnames-ignored warn", "grant-missing deny to warn by mode"}
	audited := []string{"hostnames-ignored warn", "grant-missing deny to audit by mode"}
	for _, test := range []struct {
		label  string
		policy mesh.Mode
		want   []string
	}{
		{"", "", enforced},
		{"", mesh.Enforce, enforced},
		{"", mesh.Warn, warned},
		{"", mesh.Audit, audited},
		{"enforce", mesh.Audit, enforced},
		{"warn", mesh.Enforce, warned},
		{"warn", mesh.Audit, warned},
		{"audit", mesh.Enforce, audited},
		{"relaxed", mesh.Audit, enforced}, // an unknown value enforces
	} {
		verdict := judge(t, &validate.Policy{Mode: test.policy}, modeWorld(t, test.label), &validate.Request{Route: newRoute(t, mesh.HTTPRoute, "mine", spec)})
		if diff := cmp.Diff(test.want, effects(verdict)); diff != "" {
			t.Errorf("label %q, policy %q (-want +got):\n%s", test.label, test.policy, diff)
		}
	}
	verdict := judge(t, &validate.Policy{Mode: mesh.Warn}, newWorld(t, cluster), &validate.Request{Route: newRoute(t, mesh.HTTPRoute, "gone", spec)})
	if diff := cmp.Diff(warned, effects(verdict)); diff != "" {
		t.Errorf("a namespace that does not exist has the policy's mode (-want +got):\n%s", diff)
	}
}

// TestStored: an administrator who has stored routes judged sees what is behind a grant that
// is not enforced, and not behind one that is.
func TestStored(t *testing.T) {
	spec := on(service("headless, namespace: shop"))
	for mode, want := range map[string][]string{
		"enforce": {"grant-missing deny"},
		"warn":    {"grant-missing deny to warn by mode", "parent-headless deny to warn by mode"},
		"audit":   {"grant-missing deny to audit by mode", "parent-headless deny to audit by mode"},
	} {
		verdict := judge(t, nil, modeWorld(t, mode), &validate.Request{Route: newRoute(t, mesh.HTTPRoute, "mine", spec), Stored: true})
		if diff := cmp.Diff(want, effects(verdict)); diff != "" {
			t.Errorf("mode %s (-want +got):\n%s", mode, diff)
		}
	}
}

func TestExemptions(t *testing.T) {
	spec := on(service("headless, namespace: shop")) + `, hostnames: [a.example]`
	enforced := []string{"hostnames-ignored warn", "grant-missing deny"}
	exempt := []string{"hostnames-ignored warn", "grant-missing deny to audit by exemption"}
	exemptions := validate.Exemptions{Usernames: []string{"root", "system:serviceaccount:argo:sync"}, Groups: []string{"system:masters"}, Namespaces: []string{"mine"}}
	for _, test := range []struct {
		name, namespace string
		user            validate.User
		want            []string
	}{
		{"nobody", "lab", validate.User{}, enforced},
		{"somebody", "lab", validate.User{Name: "dev", Groups: []string{"system:authenticated", "root"}}, enforced},
		{"user", "lab", validate.User{Name: "root"}, exempt},
		{"service account", "lab", validate.User{Name: "system:serviceaccount:argo:sync"}, exempt},
		{"group", "lab", validate.User{Name: "dev", Groups: []string{"system:authenticated", "system:masters"}}, exempt},
		{"a user named like a group", "lab", validate.User{Name: "system:masters"}, enforced},
		{"namespace", "mine", validate.User{Name: "dev"}, exempt},
	} {
		verdict := judge(t, &validate.Policy{Exemptions: exemptions}, modeWorld(t, ""), &validate.Request{Route: newRoute(t, mesh.HTTPRoute, test.namespace, spec), User: test.user})
		if diff := cmp.Diff(test.want, effects(verdict)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
	verdict := judge(t, &validate.Policy{Exemptions: exemptions}, modeWorld(t, "warn"), &validate.Request{Route: newRoute(t, mesh.HTTPRoute, "mine", spec)})
	if diff := cmp.Diff(exempt, effects(verdict)); diff != "" {
		t.Errorf("exempt, and in mode warn (-want +got):\n%s", diff)
	}
}

func TestDryRun(t *testing.T) {
	spec := on(service("gone"), service("headless")) + to(`{name: gone, port: 80}`)
	for _, test := range []struct {
		name   string
		policy *validate.Policy
		want   []string
	}{
		{"by default", nil, []string{"parent-not-found deny to warn by dry-run", "parent-headless deny", "backend-not-found warn"}},
		{"set to audit", &validate.Policy{Actions: map[string]validate.Action{"parent-not-found": validate.Audit}}, []string{"parent-not-found audit", "parent-headless deny", "backend-not-found warn"}},
		{"set to warn", &validate.Policy{Actions: map[string]validate.Action{"parent-not-found": validate.Warn}}, []string{"parent-not-found warn", "parent-headless deny", "backend-not-found warn"}},
		{"in mode audit", &validate.Policy{Mode: mesh.Audit}, []string{"parent-not-found deny to audit by mode", "parent-headless deny to audit by mode", "backend-not-found warn"}},
	} {
		req := &validate.Request{Route: newRoute(t, mesh.HTTPRoute, "shop", spec), DryRun: true}
		if diff := cmp.Diff(test.want, effects(judge(t, test.policy, newWorld(t, cluster), req))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
	req := &validate.Request{Route: newRoute(t, mesh.HTTPRoute, "lab", spec), DryRun: true}
	want := []string{"grant-missing deny", "grant-missing deny"}
	if diff := cmp.Diff(want, effects(judge(t, nil, newWorld(t, cluster), req))); diff != "" {
		t.Errorf("a dry run without a grant (-want +got):\n%s", diff)
	}
}

func TestIgnoreAnnotation(t *testing.T) {
	spec := on(service("headless"), service("node"), service("cart, port: 80")) + `, hostnames: [a.example], rules: [{matches: [{method: GET}], backendRefs: [{group: a.example, kind: A, name: a}]}]`
	none := []string{"hostnames-ignored warn", "parent-headless deny", "parent-exposed-type audit", "no-catch-all warn", "no-catch-all warn"}
	silenced := func(ids ...string) []string {
		lines := slices.Clone(none)
		for i, line := range lines {
			for _, id := range ids {
				if line == id+" warn" || line == id+" audit" {
					lines[i] += " to off by annotation"
				}
			}
		}
		return lines
	}
	for _, test := range []struct {
		ignore  string
		want    []string
		unknown []string
	}{
		{"", none, nil},
		{"hostnames-ignored", silenced("hostnames-ignored"), nil},
		{" no-catch-all , hostnames-ignored,", silenced("hostnames-ignored", "no-catch-all"), nil},
		{"parent-exposed-type", silenced("parent-exposed-type"), nil},
		{"parent-headless,no-catch-all", silenced("no-catch-all"), []string{"parent-headless"}},
		{"No-Catch-All,zzz,aaa,zzz", none, []string{"No-Catch-All", "aaa", "zzz"}},
		{"route-overlap", none, nil},
		{"backend-not-permitted", none, nil}, // off: there is nothing to silence, and nothing wrong with that
		{",, ,", none, nil},
	} {
		route := newRoute(t, mesh.HTTPRoute, "shop", spec)
		route.Metadata.Annotations.Ignore = test.ignore
		verdict := judge(t, nil, newWorld(t, cluster), &validate.Request{Route: route})
		if diff := cmp.Diff(test.want, effects(verdict)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", test.ignore, diff)
		}
		if diff := cmp.Diff(test.unknown, names(verdict.UnknownIgnores)); diff != "" {
			t.Errorf("%q: what silences nothing (-want +got):\n%s", test.ignore, diff)
		}
	}
}

// names returns what the warnings about the annotation are about.
func names(findings []validate.Finding) (all []string) {
	for i := range findings {
		all = append(all, findings[i].Reference.Detail)
	}
	return all
}

// TestUnknownIgnoresSay: each name that silences nothing has its reason and its fix.
func TestUnknownIgnoresSay(t *testing.T) {
	route := newRoute(t, mesh.HTTPRoute, "shop", on(service("cart")))
	for ignore, want := range map[string]string{
		"backend-no-endpoint":            `"backend-no-endpoint" is not a rule; did you mean backend-no-endpoints?`,
		"parent-headless":                `"parent-headless" denies, so a route cannot ignore it; correct the route, and remove the ID`,
		"no-catch-all hostnames-ignored": `"no-catch-all hostnames-ignored" is not a rule; separate IDs by commas`,
		"service-becomes-external-name":  `"service-becomes-external-name" is about Services, so a route cannot ignore it; remove it`,
		"whatever":                       `"whatever" is not a rule; use the ID at the end of a warning`,
	} {
		route.Metadata.Annotations.Ignore = ignore
		unknown := judge(t, nil, newWorld(t, cluster), &validate.Request{Route: route}).UnknownIgnores
		want = "metadata.annotations[gammaguard.dev/ignore]: " + want + " (ignore-annotation)"
		if len(unknown) != 1 || unknown[0].Warning() != want {
			t.Errorf("got %+v, want %s", unknown, want)
		}
	}
}

// TestUnknownIgnoresOfWarnings: a rule that denies or warns is said not to be silenced where it denies.
func TestUnknownIgnoresOfWarnings(t *testing.T) {
	for parent, want := range map[string][]string{
		service("nowhere"): {"parent-not-found"},
		service("cart"):    nil,
		`{group: example.com, kind: Gone, name: gone}`: nil,
	} {
		route := newRoute(t, mesh.HTTPRoute, "shop", on(parent))
		route.Metadata.Annotations.Ignore = "parent-not-found"
		if diff := cmp.Diff(want, names(judge(t, nil, newWorld(t, cluster), &validate.Request{Route: route}).UnknownIgnores)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", parent, diff)
		}
	}
}

// What may be silenced goes by the action that is configured, not by the default;
// a rule that denies stays audible even where the mode lowers it.
func TestIgnoreAnnotationGoesByTheConfiguration(t *testing.T) {
	route := newRoute(t, mesh.HTTPRoute, "shop", on(service("headless"))+`, hostnames: [a.example]`)
	route.Metadata.Annotations.Ignore = "parent-headless,hostnames-ignored"
	policy := &validate.Policy{Mode: mesh.Warn, Actions: map[string]validate.Action{"parent-headless": validate.Warn, "hostnames-ignored": validate.Deny}}
	verdict := judge(t, policy, newWorld(t, cluster), &validate.Request{Route: route})
	want := []string{"hostnames-ignored deny to warn by mode", "parent-headless warn to off by annotation"}
	if diff := cmp.Diff(want, effects(verdict)); diff != "" {
		t.Errorf("effects (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"hostnames-ignored"}, names(verdict.UnknownIgnores)); diff != "" {
		t.Errorf("what silences nothing (-want +got):\n%s", diff)
	}
}

// What is confirmed is what the findings that would deny were read from, and nothing
// that only leads to warnings.
func TestReads(t *testing.T) {
	old := routeJSON(t, mesh.HTTPRoute, "shop", on(service("headless")))
	for _, test := range []struct {
		name, namespace, spec string
		policy                *validate.Policy
		old                   []byte
		want                  []string
	}{
		{"nothing wrong", "shop", on(service("cart")), nil, nil, nil},
		{"warnings only", "shop", on(service("cart")) + `, hostnames: [a.example]` + to(`{name: gone, port: 80}`), nil, nil, nil},
		{"a Service", "shop", on(service("headless")), nil, nil, []string{"Service shop/headless", "Namespace shop"}},
		{
			"two of one Service, and another", "shop", on(service("cart, port: 1"), service("cart, port: 2"), service("gone")), nil, nil,
			[]string{"Service shop/cart", "Namespace shop", "Service shop/gone"},
		},
		{"a grant", "lab", on(service("cart, namespace: shop")), nil, nil, []string{"Namespace lab"}},
		{
			"a refusal", "faces", on(service("vault, namespace: closed")), nil, nil,
			[]string{"Namespace closed", "Namespace faces", "Service closed/vault"},
		},
		{"downgraded by the mode", "shop", on(service("headless")), &validate.Policy{Mode: mesh.Audit}, nil, []string{"Service shop/headless", "Namespace shop"}},
		{
			"downgraded by an exemption", "shop", on(service("headless")), &validate.Policy{Exemptions: validate.Exemptions{Namespaces: []string{"shop"}}}, nil,
			[]string{"Service shop/headless", "Namespace shop"},
		},
		{"it was so before", "shop", on(service("headless")), nil, old, nil},
		{"a backend", "shop", on(service("cart")) + to(`{name: alias, port: 80}`), nil, nil, []string{"Service shop/alias", "Namespace shop"}},
		{
			"a kind", "shop", on(`{group: a.example, kind: B, name: c}`), &validate.Policy{AllowedParentKinds: []string{"Mesh.b.example"}}, nil,
			[]string{"Namespace shop"},
		},
		{
			"routes", "shop", on(service("cart, port: 80")) + getOnly, only(map[string]validate.Action{"no-catch-all": validate.Deny}), nil,
			[]string{"Service shop/cart", "routes in shop on Service shop/cart", "Namespace shop"},
		},
	} {
		cache := newWorld(t, cluster)
		confirming := fixture.NewConfirming(cache, cache)
		req := &validate.Request{Route: newRoute(t, mesh.HTTPRoute, test.namespace, test.spec), Old: test.old}
		if _, err := newEngine(t, test.policy).JudgeConfirmed(req, confirming); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, confirming.Order); diff != "" {
			t.Errorf("%s: reads (-want +got):\n%s", test.name, diff)
		}
	}
}
