package validate

import (
	"testing"

	"github.com/gammaguard/gammaguard/mesh"
)

func TestFindingMessage(t *testing.T) {
	finding := Finding{Rule: "parent-headless", Field: "spec.parentRefs[0].name", Problem: "it is headless", Remedy: "use another"}
	const message = "it is headless; use another (parent-headless)"
	for _, test := range []struct {
		action, effect Action
		downgraded     DowngradeReason
		want           string
	}{
		{Deny, Deny, NotDowngraded, message},
		{Warn, Warn, NotDowngraded, message},
		{Audit, Audit, NotDowngraded, message},
		{Deny, Warn, DowngradedByUpdate, "existing problem, not denied: " + message},
		{Deny, Warn, DowngradedByMode, "would be denied: " + message},
		{Deny, Warn, DowngradedByDryRun, "would be denied: " + message},
		{Deny, Audit, DowngradedByExemption, "would be denied: " + message},
		{Deny, Warn, DowngradedByMutation, "not corrected here: " + message},
	} {
		finding.Action, finding.Effect, finding.Downgraded = test.action, test.effect, test.downgraded
		if got := finding.Message(); got != test.want {
			t.Errorf("%s to %s by %q: got %q, want %q", test.action, test.effect, test.downgraded, got, test.want)
		}
		if got, want := finding.Warning(), "spec.parentRefs[0].name: "+test.want; got != want {
			t.Errorf("%s to %s by %q: warning %q, want %q", test.action, test.effect, test.downgraded, got, want)
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
