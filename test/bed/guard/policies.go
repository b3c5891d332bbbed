package guard

import (
	"context"
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gammaguard/gammaguard/internal/grantpolicy"
	"github.com/gammaguard/gammaguard/test/bed"
	"github.com/gammaguard/gammaguard/validate"
)

// InstallPolicies stores what 'gammaguard policy' writes for what the engine judges by, in the
// place of what was there, and waits until the API server enforces it. It does not apply to the
// exempt users.
func InstallPolicies(ctx context.Context, cp *bed.ControlPlane, policy *validate.Policy, exempt ...string) error {
	set := grantpolicy.New(policy)
	for _, user := range exempt {
		condition := admissionv1.MatchCondition{Name: "not-exempt", Expression: isNot(user)}
		set.Policy.Spec.MatchConditions = append(set.Policy.Spec.MatchConditions, condition)
	}
	if err := RemovePolicies(ctx, cp); err != nil {
		return err
	}
	objects := []client.Object{set.Policy}
	for _, b := range set.Bindings {
		objects = append(objects, b)
	}
	c, err := cp.Client(admissionv1.AddToScheme, corev1.AddToScheme)
	if err != nil {
		return err
	}
	// What is stored after them is enforced after them.
	for _, object := range append(objects, probe(set.Policy.Name)...) {
		if err := c.Create(ctx, object); err != nil {
			return err
		}
	}
	return awaitProbe(ctx, c, true)
}

// RemovePolicies removes what InstallPolicies stored, and waits until the API server enforces
// none of it.
func RemovePolicies(ctx context.Context, cp *bed.ControlPlane) error {
	c, err := cp.Client(admissionv1.AddToScheme, corev1.AddToScheme)
	if err != nil {
		return err
	}
	set := grantpolicy.New(&validate.Policy{})
	objects := []client.Object{set.Policy}
	for _, b := range set.Bindings {
		objects = append(objects, b)
	}
	for _, object := range append(objects, probe("")...) {
		if err := client.IgnoreNotFound(c.Delete(ctx, object)); err != nil {
			return err
		}
	}
	return awaitProbe(ctx, c, false)
}

// probed names a policy that refuses a ConfigMap of that name.
const probed = "gammaguard-route-grants-probe"

func probe(of string) []client.Object {
	fail := admissionv1.Fail
	policy := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: probed, Annotations: map[string]string{"of": of}}}
	policy.Spec = admissionv1.ValidatingAdmissionPolicySpec{
		FailurePolicy: &fail,
		MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
			ResourceNames: []string{probed},
			RuleWithOperations: admissionv1.RuleWithOperations{
				Operations: []admissionv1.OperationType{admissionv1.Create},
				Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
			},
		}}},
		Validations: []admissionv1.Validation{{Expression: "false", Message: probed}},
	}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: probed}}
	binding.Spec.PolicyName, binding.Spec.ValidationActions = probed, []admissionv1.ValidationAction{admissionv1.Deny}
	return []client.Object{policy, binding}
}

// awaitProbe waits until the API server refuses the probe, or admits it.
func awaitProbe(ctx context.Context, c client.Client, refused bool) error {
	var answer error
	err := poll(ctx, func(ctx context.Context) (bool, error) {
		answer = c.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: probed}}, client.DryRunAll)
		return (answer != nil && strings.Contains(answer.Error(), "'"+probed+"'")) == refused, nil
	})
	if err != nil {
		return fmt.Errorf("wait until the policies on routes are enforced, or not any more: %w (%w)", err, answer)
	}
	return nil
}
