package grantpolicy_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/internal/grantpolicy"
	"github.com/gammaguard/gammaguard/mesh"
)

// stored is what an API server has.
type stored struct {
	policy   *admissionv1.ValidatingAdmissionPolicy
	bindings []*admissionv1.ValidatingAdmissionPolicyBinding
	err      error
}

func (s *stored) Policy(_ context.Context, name string) (*admissionv1.ValidatingAdmissionPolicy, error) {
	if s.policy == nil || s.policy.Name != name {
		return nil, s.err
	}
	return s.policy, s.err
}

func (s *stored) Binding(_ context.Context, name string) (*admissionv1.ValidatingAdmissionPolicyBinding, error) {
	for _, b := range s.bindings {
		if b.Name == name {
			return b, s.err
		}
	}
	return nil, s.err
}

func TestCompare(t *testing.T) {
	of := func(mode mesh.Mode) *grantpolicy.Set {
		c := config.Default()
		c.Mode = mode
		return grantpolicy.New(c.Policy())
	}
	want := of(mesh.Enforce)
	for _, test := range []struct {
		name   string
		change func(*stored, *grantpolicy.Set)
		sync   grantpolicy.Sync
		why    string
	}{
		{"the same", func(*stored, *grantpolicy.Set) {}, grantpolicy.InSync, ""},
		{"none", func(s *stored, _ *grantpolicy.Set) { *s = stored{} }, grantpolicy.NotInstalled, ""},
		{"no policy", func(s *stored, _ *grantpolicy.Set) { s.policy = nil }, grantpolicy.Differs, "ValidatingAdmissionPolicy gammaguard-route-grants is missing"},
		{"no binding", func(s *stored, _ *grantpolicy.Set) { s.bindings = s.bindings[1:] }, grantpolicy.Differs, "ValidatingAdmissionPolicyBinding gammaguard-route-grants-enforce is missing"},
		{"no digest", func(s *stored, _ *grantpolicy.Set) { s.policy.Annotations = nil }, grantpolicy.Differs, "gammaguard-route-grants is of another configuration or version of gammaguard"},
		{"another configuration", func(s *stored, _ *grantpolicy.Set) {
			other := of(mesh.Warn)
			s.policy, s.bindings = other.Policy, other.Bindings
		}, grantpolicy.Differs, "5 objects are of another configuration or version of gammaguard: gammaguard-route-grants, gammaguard-route-grants-enforce, "},
		{"an edited policy", func(s *stored, _ *grantpolicy.Set) { s.policy.Spec.Validations[0].Expression = "true" }, grantpolicy.Differs, "ValidatingAdmissionPolicy gammaguard-route-grants was edited"},
		{"an excluded resource", func(s *stored, _ *grantpolicy.Set) {
			s.policy.Spec.MatchConstraints.ExcludeResourceRules = s.policy.Spec.MatchConstraints.ResourceRules
		}, grantpolicy.Differs, "was edited"},
		{"an edited binding", func(s *stored, _ *grantpolicy.Set) {
			s.bindings[3].Spec.ValidationActions = []admissionv1.ValidationAction{admissionv1.Audit}
		}, grantpolicy.Differs, "ValidatingAdmissionPolicyBinding gammaguard-route-grants-unlabeled was edited"},
		{"other metadata", func(s *stored, _ *grantpolicy.Set) { s.policy.Labels, s.policy.ResourceVersion = nil, "7" }, grantpolicy.InSync, ""},
	} {
		has := of(mesh.Enforce)
		s := &stored{policy: has.Policy, bindings: has.Bindings}
		test.change(s, has)
		sync, why, err := want.Compare(t.Context(), s)
		if err != nil || sync != test.sync || !strings.Contains(why, test.why) || (test.why == "") != (why == "") {
			t.Errorf("%s: %s, %q, %v; want %s, %q", test.name, sync, why, err, test.sync, test.why)
		}
	}
	failure := errors.New("no route to host")
	if _, _, err := want.Compare(t.Context(), &stored{err: failure}); !errors.Is(err, failure) {
		t.Errorf("got %v", err)
	}
}
