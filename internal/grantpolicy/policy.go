package grantpolicy

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
	"github.com/gammaguard/gammaguard/validate/rules"
)

const (
	// Name is the name of the policy, and with a suffix of each binding.
	Name = "gammaguard-route-grants"
	// DigestAnnotation holds on each object a digest of what the configuration asks of all.
	DigestAnnotation = "gammaguard.dev/policy-digest"

	// ruleID is the rule that the policy is.
	ruleID = validate.RuleGrantMissing
)

// RouteVersions are the versions of routes that the webhooks and the policy match: all that
// any release of the Gateway API serves.
func RouteVersions() []string { return []string{"v1", "v1beta1", "v1alpha3", "v1alpha2"} }

// Set is the policy and its bindings.
type Set struct {
	Policy   *admissionv1.ValidatingAdmissionPolicy
	Bindings []*admissionv1.ValidatingAdmissionPolicyBinding
}

// New returns the policy and the bindings for what the engine judges by. Each field is set
// that the API server would fill in, so that what is stored compares equal.
func New(policy *validate.Policy) *Set {
	s := &Set{Policy: routePolicy(policy)}
	action := grantAction(policy)
	for _, mode := range mesh.Modes() {
		s.Bindings = append(s.Bindings, binding(string(mode), effect(mode, action), labeled(mode)))
	}
	unlabeled := metav1.LabelSelectorRequirement{Key: mesh.ModeLabel, Operator: metav1.LabelSelectorOpDoesNotExist}
	s.Bindings = append(s.Bindings, binding("unlabeled", effect(cmp.Or(policy.Mode, mesh.Enforce), action), unlabeled))
	s.annotate()
	return s
}

// grantAction returns the action of the rule by the configuration, or its default.
func grantAction(policy *validate.Policy) validate.Action {
	return cmp.Or(policy.Actions[ruleID], rules.Find(ruleID).Default)
}

func routePolicy(policy *validate.Policy) *admissionv1.ValidatingAdmissionPolicy {
	fail, forbidden, equivalent := admissionv1.Fail, metav1.StatusReasonForbidden, admissionv1.Equivalent
	p := &admissionv1.ValidatingAdmissionPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "ValidatingAdmissionPolicy"},
		ObjectMeta: metav1.ObjectMeta{Name: Name},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: &fail,
			MatchConstraints: &admissionv1.MatchResources{
				MatchPolicy: &equivalent, NamespaceSelector: &metav1.LabelSelector{}, ObjectSelector: &metav1.LabelSelector{},
				ResourceRules: resourceRules(),
			},
			MatchConditions: matchConditions(policy),
			Variables:       variables(policy),
			Validations: []admissionv1.Validation{{
				Expression:        "variables.missing.size() == 0 || variables.exempt",
				Message:           "the route's namespace lacks the grant for this route (" + ruleID + ")",
				MessageExpression: "variables.message",
				Reason:            &forbidden,
			}},
		},
	}
	if exempts(policy) {
		p.Spec.AuditAnnotations = []admissionv1.AuditAnnotation{{
			Key: "exempted", ValueExpression: "variables.exempt ? variables.message : ''",
		}}
	}
	return p
}

// resourceRules match the routes that need a grant, of each group.
func resourceRules() []admissionv1.NamedRuleWithOperations {
	var rules []admissionv1.NamedRuleWithOperations
	namespaced := admissionv1.NamespacedScope
	for _, kind := range mesh.GuardedKinds() {
		i := slices.IndexFunc(rules, func(r admissionv1.NamedRuleWithOperations) bool { return r.APIGroups[0] == kind.Group() })
		if i >= 0 {
			rules[i].Resources = append(rules[i].Resources, kind.Resource())
			continue
		}
		versions := []string{"*"}
		if kind.Group() == mesh.GatewayGroup {
			versions = RouteVersions()
		}
		rules = append(rules, admissionv1.NamedRuleWithOperations{RuleWithOperations: admissionv1.RuleWithOperations{
			Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
			Rule:       admissionv1.Rule{APIGroups: []string{kind.Group()}, APIVersions: versions, Resources: []string{kind.Resource()}, Scope: &namespaced},
		}})
	}
	return rules
}

// labeled selects the namespaces whose label sets the mode. An unknown value enforces.
func labeled(mode mesh.Mode) metav1.LabelSelectorRequirement {
	if mode != mesh.Enforce {
		return metav1.LabelSelectorRequirement{Key: mesh.ModeLabel, Operator: metav1.LabelSelectorOpIn, Values: []string{string(mode)}}
	}
	// This selects namespaces without the label too: binding adds that there is one.
	return metav1.LabelSelectorRequirement{Key: mesh.ModeLabel, Operator: metav1.LabelSelectorOpNotIn, Values: []string{string(mesh.Audit), string(mesh.Warn)}}
}

// effect returns what the API server does about a missing grant: the rule's action, and of a
// denial what the mode makes of it.
func effect(mode mesh.Mode, action validate.Action) admissionv1.ValidationAction {
	switch {
	case action == validate.Audit, action != validate.Warn && mode == mesh.Audit:
		return admissionv1.Audit
	case action == validate.Warn, mode == mesh.Warn:
		return admissionv1.Warn
	}
	return admissionv1.Deny
}

func binding(suffix string, action admissionv1.ValidationAction, selects metav1.LabelSelectorRequirement) *admissionv1.ValidatingAdmissionPolicyBinding {
	equivalent := admissionv1.Equivalent
	namespaces := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{selects}}
	if selects.Operator == metav1.LabelSelectorOpNotIn {
		exists := metav1.LabelSelectorRequirement{Key: selects.Key, Operator: metav1.LabelSelectorOpExists}
		namespaces.MatchExpressions = append(namespaces.MatchExpressions, exists)
	}
	return &admissionv1.ValidatingAdmissionPolicyBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "ValidatingAdmissionPolicyBinding"},
		ObjectMeta: metav1.ObjectMeta{Name: Name + "-" + suffix},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName:        Name,
			ValidationActions: []admissionv1.ValidationAction{action},
			MatchResources:    &admissionv1.MatchResources{MatchPolicy: &equivalent, NamespaceSelector: namespaces, ObjectSelector: &metav1.LabelSelector{}},
		},
	}
}

// StaticSuffix ends the names of policies that the API server reads from files at its start,
// and of no others.
const StaticSuffix = ".static.k8s.io"

// Static returns the set with the names that it must have in files that the API server reads at
// its start. Nobody can change these by the API.
func (s *Set) Static() *Set {
	static := &Set{Policy: s.Policy.DeepCopy()}
	static.Policy.Name += StaticSuffix
	for _, b := range s.Bindings {
		b = b.DeepCopy()
		b.Name += StaticSuffix
		b.Spec.PolicyName = static.Policy.Name
		static.Bindings = append(static.Bindings, b)
	}
	static.annotate()
	return static
}

// annotate writes the digest of all specs, and the label of what is installed, on each object.
func (s *Set) annotate() {
	specs := []any{s.Policy.Spec}
	objects := []metav1.Object{s.Policy}
	for _, b := range s.Bindings {
		specs, objects = append(specs, b.Spec), append(objects, b)
	}
	text, err := json.Marshal(specs)
	if err != nil {
		panic(err) // of strings
	}
	digest := sha256.Sum256(text)
	for _, object := range objects {
		object.SetAnnotations(map[string]string{DigestAnnotation: hex.EncodeToString(digest[:16])})
		object.SetLabels(map[string]string{"app.kubernetes.io/name": "gammaguard"})
	}
}

// Digest returns the digest that each object carries.
func (s *Set) Digest() string { return s.Policy.Annotations[DigestAnnotation] }
