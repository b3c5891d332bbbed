package validate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/mesh"
)

func TestFindingMessage(t *testing.T) {
	finding := Finding{Rule: "parent-headless", Field: "spec.parentRefs[0].name", Problem: "it is headless", Remedy: "use another"}
	const message = "it is headless; use another (parent-headless)"
	for _, test := range []struct {
		action, effect Action
		lowered        DowngradeReason
		want           string
	}{
		{Deny, Deny, NotDowngraded, message},
		{Warn, Warn, NotDowngraded, message},
		{Audit, Audit, NotDowngraded, message},
		{Deny, Warn, DowngradedByUpdate, "existing problem: " + message},
		{Deny, Warn, DowngradedByMode, "would be denied: " + message},
		{Deny, Warn, DowngradedByDryRun, "would be denied: " + message},
		{Deny, Audit, DowngradedByExemption, "would be denied: " + message},
		{Deny, Warn, DowngradedByMutation, "not corrected here: " + message},
	} {
		finding.Action, finding.Effect, finding.Downgraded = test.action, test.effect, test.lowered
		if got := finding.Message(); got != test.want {
			t.Errorf("%s to %s by %q: got %q, want %q", test.action, test.effect, test.lowered, got, test.want)
		}
		if got, want := finding.Warning(), "spec.parentRefs[0].name: "+test.want; got != want {
			t.Errorf("%s to %s by %q: warning %q, want %q", test.action, test.effect, test.lowered, got, want)
		}
	}
}

func TestFieldError(t *testing.T) {
	for _, test := range []struct {
		fault FaultType
		value any
		want  string
	}{
		{InvalidValue, "cart", `spec.a: Invalid value: "cart": wrong; fix it (some-rule)`},
		{InvalidValue, int32(81), `spec.a: Invalid value: 81: wrong; fix it (some-rule)`},
		{InvalidValue, nil, `spec.a: Invalid value: wrong; fix it (some-rule)`},
		{NotFound, "cart", `spec.a: Not found: "cart": wrong; fix it (some-rule)`},
		{Duplicate, "cart", `spec.a: Duplicate value: "cart": wrong; fix it (some-rule)`},
		{Forbidden, nil, `spec.a: Forbidden: wrong; fix it (some-rule)`},
	} {
		finding := Finding{Rule: "some-rule", Field: "spec.a", Type: test.fault, Value: test.value, Problem: "wrong", Remedy: "fix it", Action: Deny, Effect: Deny}
		if got := finding.FieldError().Error(); got != test.want {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
}

// longest is the maximum length of a warning: kubectl and the API server cut longer ones.
const longest = 256

// A warning is not cut, even with the longest valid names. If a rule names several
// objects, or a command, its warnings fit with names of a realistic length.
func TestWarningsFit(t *testing.T) {
	realistic := map[string]int{
		"backend-external-name":  49, // in a mirror of a backendRef
		"backend-has-routes":     14,
		"backend-not-found":      57, // in a mirror
		"backend-not-permitted":  22,
		"backend-port-not-found": 60,
		"consumer-refused":       18,
		"grant-missing":          22,
		"no-catch-all":           42,
		"parent-app-protocol":    43,
		"parent-headless":        56,
		"parent-port-not-found":  57,
		"route-conflict":         13,
		"route-overlap":          14,
	}
	const names = "shop faces lab closed some cart headless alias alias-none node balanced one vault nothing cards gone " +
		"loose portless many syslog plain secure own old lost probe smiley far shy unsure"
	fired := map[string]bool{}
	for _, c := range ruleCases() {
		length := realistic[c.rule]
		if length == 0 {
			length = 63
		}
		long := func(text string) string {
			for _, name := range strings.Fields(names) {
				text = replaceName(text, name, name+strings.Repeat("x", length-len(name)))
			}
			return text
		}
		c.spec, c.namespace, c.routes = long(c.spec), long(c.namespace), long(c.routes)
		for _, f := range c.look(t, newWorld(t, long(cluster), c.routes)).findings {
			fired[c.rule] = true
			f.Action, f.Effect, f.Downgraded = Deny, Deny, NotDowngraded
			if warning := f.Warning(); len(warning) > longest {
				t.Errorf("%s, %s: %d characters with names of %d:\n%s", c.rule, c.name, len(warning), length, warning)
			}
		}
	}
	for _, rule := range Catalogue() {
		if !fired[rule.ID] {
			t.Errorf("%s did not fire", rule.ID)
		}
	}
}

// replaceName replaces the name where it is a namespace's or an object's.
func replaceName(text, name, long string) string {
	if text == name {
		return long
	}
	for _, field := range []string{"name: ", "namespace: ", "service-name: "} {
		for _, end := range []string{",", "}"} {
			text = strings.ReplaceAll(text, field+name+end, field+long+end)
		}
	}
	return text
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
		if diff := cmp.Diff([]string{test.list, test.portsNamed}, []string{shortList(test.names), portsNamed(test.names)}); diff != "" {
			t.Errorf("%v (-want +got):\n%s", test.names, diff)
		}
	}
}

// The identity of a finding across an update is its rule and its reference, and
// nothing else of it.
func TestSameFault(t *testing.T) {
	cart := mesh.ServiceKey{Kind: "Service", Namespace: "shop", Name: "cart"}
	finding := Finding{Rule: "parent-headless", Field: "spec.parentRefs[0].name", Reference: Reference{Service: cart, Detail: "80/"}}
	for name, test := range map[string]struct {
		change func(*Finding)
		want   bool
	}{
		"nothing":   {func(*Finding) {}, true},
		"the place": {func(f *Finding) { f.Field, f.Value, f.Effect = "spec.parentRefs[3].name", "cart", Warn }, true},
		"the words": {func(f *Finding) { f.Problem, f.Remedy = "a", "b" }, true},
		"the rule":  {func(f *Finding) { f.Rule = "parent-not-found" }, false},
		"Service":   {func(f *Finding) { f.Reference.Service.Name = "one" }, false},
		"namespace": {func(f *Finding) { f.Reference.Namespace = "shop" }, false},
		"detail":    {func(f *Finding) { f.Reference.Detail = "81/" }, false},
	} {
		other := finding
		test.change(&other)
		if got := finding.fault() == other.fault(); got != test.want {
			t.Errorf("%s changed: the same fault = %v", name, got)
		}
	}
}
