package grantpolicy

import (
	"context"
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// Sync is how what the API server has compares with what the configuration asks for.
type Sync string

const (
	// InSync: the API server has the policy and the bindings of this configuration.
	InSync Sync = "in-sync"
	// Differs: it has others, or only some of them.
	Differs Sync = "differs"
	// NotInstalled: it has none of them.
	NotInstalled Sync = "not-installed"
)

// Source reads what the API server has, by name: nil if there is no such object.
type Source interface {
	Policy(ctx context.Context, name string) (*admissionv1.ValidatingAdmissionPolicy, error)
	Binding(ctx context.Context, name string) (*admissionv1.ValidatingAdmissionPolicyBinding, error)
}

// Compare compares the set with what the API server has. Where they differ, why names each
// object and the reason. The error is the failure of a read.
func (s *Set) Compare(ctx context.Context, source Source) (sync Sync, why string, err error) {
	var reasons, others []string
	found := 0
	note := func(kind, name string, exists bool, digest string, equal func() bool) {
		switch {
		case !exists:
			reasons = append(reasons, kind+" "+name+" is missing")
			return
		case digest != s.Digest():
			others = append(others, name)
		case !equal():
			reasons = append(reasons, kind+" "+name+" was edited")
		}
		found++
	}
	policy, err := source.Policy(ctx, s.Policy.Name)
	if err != nil {
		return "", "", err
	}
	digest := ""
	if policy != nil {
		digest = policy.Annotations[DigestAnnotation]
	}
	note(s.Policy.Kind, s.Policy.Name, policy != nil, digest, func() bool { return equality.Semantic.DeepEqual(policy.Spec, s.Policy.Spec) })
	for _, want := range s.Bindings {
		binding, err := source.Binding(ctx, want.Name)
		if err != nil {
			return "", "", err
		}
		digest := ""
		if binding != nil {
			digest = binding.Annotations[DigestAnnotation]
		}
		note(want.Kind, want.Name, binding != nil, digest, func() bool { return equality.Semantic.DeepEqual(binding.Spec, want.Spec) })
	}
	switch {
	case len(others) == 1:
		reasons = append(reasons, others[0]+" is of another configuration or version of gammaguard")
	case len(others) > 1:
		reasons = append(reasons, fmt.Sprintf("%d objects are of another configuration or version of gammaguard: %s", len(others), strings.Join(others, ", ")))
	}
	switch {
	case found == 0:
		return NotInstalled, "", nil
	case len(reasons) > 0:
		return Differs, strings.Join(reasons, "; "), nil
	}
	return InSync, "", nil
}
