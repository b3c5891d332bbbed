package cluster

import (
	"context"
	"errors"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/internal/grantpolicy"
	"github.com/gammaguard/gammaguard/mesh"
)

// applyPolicies is how policies come to fit the configuration.
const applyPolicies = "apply what 'gammaguard policy' writes for the configuration, in the place of the component policies"

// policies checks whether the policies by which the API server refuses routes without a grant are those of the configuration.
func (i *installation) policies() {
	const check = "policies on routes without a grant"
	configuration := i.configuration
	if configuration == nil {
		configuration = config.Default() // the names of the objects are the same
	}
	switch sync, why, err := grantpolicy.New(configuration.Policy()).Compare(i.ctx, policySource{i}); {
	case err != nil:
		i.add(check, Unclear, "%s", err)
	case sync == grantpolicy.NotInstalled && configuration.Mode == mesh.Enforce && i.validating != nil && policyOf(i.validating.FailurePolicy) == admissionv1.Ignore:
		i.add(check, Warn, "none are installed, and the failurePolicy is Ignore: while gammaguard does not answer, the API server stores routes without a grant; "+
			"set the failurePolicy to Fail, or install the component policies; the component audit-only sets it to Ignore")
	case sync == grantpolicy.NotInstalled:
		i.add(check, OK, "none are installed: only the webhook can refuse these routes")
	case i.configuration == nil:
		i.add(check, Unclear, "are installed; the configuration that they must fit cannot be read")
	case sync == grantpolicy.InSync:
		i.add(check, OK, "the API server enforces those of the configuration")
	default:
		i.add(check, Fail, "%s; %s", why, applyPolicies)
	}
}

// statusNames reports names in status that the configuration sets and that the policies do not have: the API server refuses to write them.
func (i *installation) statusNames() {
	if i.configuration == nil {
		return
	}
	status := &i.configuration.Status
	for _, of := range []struct {
		policy, refuses string
		names           []string
	}{
		{accountPolicy, "what gammaguard writes into the status of routes", slices.Concat([]string{status.ControllerName}, status.FormerControllerNames)},
		{eventsPolicy, "gammaguard's Events", []string{status.ConflictReason}},
	} {
		var policy admissionv1.ValidatingAdmissionPolicy
		if result, _ := i.read(admissionv1.SchemeGroupVersion.WithResource("validatingadmissionpolicies"), "", of.policy, &policy); result != OK {
			continue // without it, nothing is refused
		}
		lacking := slices.DeleteFunc(slices.Clone(of.names), func(name string) bool {
			return slices.ContainsFunc(policy.Spec.Variables, func(v admissionv1.Variable) bool { return strings.Contains(v.Expression, "'"+name+"'") })
		})
		if len(lacking) > 0 {
			i.add("names in status", Fail, "ValidatingAdmissionPolicy %s does not have %s of the configuration, so the API server refuses %s: see Names in status in docs/configuration.md",
				of.policy, strings.Join(lacking, ", "), of.refuses)
		}
	}
}

// policySource reads policies of the cluster.
type policySource struct{ *installation }

// Policy implements grantpolicy.Source.
func (s policySource) Policy(_ context.Context, name string) (*admissionv1.ValidatingAdmissionPolicy, error) {
	policy := &admissionv1.ValidatingAdmissionPolicy{}
	exists, err := s.find("validatingadmissionpolicies", name, policy)
	if !exists {
		return nil, err
	}
	return policy, nil
}

// Binding implements grantpolicy.Source.
func (s policySource) Binding(_ context.Context, name string) (*admissionv1.ValidatingAdmissionPolicyBinding, error) {
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{}
	exists, err := s.find("validatingadmissionpolicybindings", name, binding)
	if !exists {
		return nil, err
	}
	return binding, nil
}

func (s policySource) find(resource, name string, object any) (exists bool, err error) {
	switch result, lack := s.read(admissionv1.SchemeGroupVersion.WithResource(resource), "", name, object); result {
	case OK:
		return true, nil
	case Fail:
		return false, nil // there is none
	default:
		return false, errors.New(lack)
	}
}
