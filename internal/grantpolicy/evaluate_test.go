package grantpolicy_test

import (
	"context"
	"errors"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/admission"
	celplugin "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/gammaguard/gammaguard/internal/grantpolicy"
	"github.com/gammaguard/gammaguard/test/grants"
	"github.com/gammaguard/gammaguard/validate"
)

// compiled is a set as the oldest supported API server compiles it.
type compiled struct {
	set                                            *grantpolicy.Set
	validations, conditions, annotations, messages celplugin.ConditionEvaluator
	validator                                      validating.Validator
}

func compile(t testing.TB, set *grantpolicy.Set) *compiled {
	t.Helper()
	compiler, err := celplugin.NewCompositedCompiler(environment.MustBaseEnvSet(version.MajorMinor(1, 30)))
	if err != nil {
		t.Fatal(err)
	}
	spec := &set.Policy.Spec
	with, without := celplugin.OptionalVariableDeclarations{HasAuthorizer: true}, celplugin.OptionalVariableDeclarations{}
	for i := range spec.Variables {
		v := &validating.Variable{Name: spec.Variables[i].Name, Expression: spec.Variables[i].Expression}
		if result := compiler.CompileAndStoreVariable(v, with, environment.NewExpressions); result.Error != nil {
			t.Fatalf("variable %s: %v\n%s", v.Name, result.Error, v.Expression)
		}
	}
	accept := func(accessors []celplugin.ExpressionAccessor, options celplugin.OptionalVariableDeclarations) celplugin.ConditionEvaluator {
		evaluator := compiler.CompileCondition(accessors, options, environment.NewExpressions)
		if errs := evaluator.CompilationErrors(); len(errs) > 0 {
			t.Fatalf("does not compile on Kubernetes 1.30: %v", errors.Join(errs...))
		}
		return evaluator
	}
	var conditions, validations, annotations, messages []celplugin.ExpressionAccessor
	for i := range spec.MatchConditions {
		conditions = append(conditions, (*matchconditions.MatchCondition)(&spec.MatchConditions[i]))
	}
	for _, v := range spec.Validations {
		validations = append(validations, &validating.ValidationCondition{Expression: v.Expression, Message: v.Message, Reason: v.Reason})
		messages = append(messages, &validating.MessageExpressionCondition{MessageExpression: v.MessageExpression})
	}
	for _, a := range spec.AuditAnnotations {
		annotations = append(annotations, &validating.AuditAnnotationCondition{Key: a.Key, ValueExpression: a.ValueExpression})
	}
	c := &compiled{
		set: set, conditions: accept(conditions, with), validations: accept(validations, with),
		annotations: accept(annotations, with), messages: accept(messages, without),
	}
	matcher := matchconditions.NewMatcher(c.conditions, spec.FailurePolicy, "policy", "validate", set.Policy.Name)
	c.validator = validating.NewValidator(c.validations, matcher, c.annotations, c.messages, spec.FailurePolicy, nil)
	return c
}

// attributes are those of the request.
func attributes(r *grants.Request) *admission.VersionedAttributes {
	kind := schema.GroupVersionKind{Group: r.Kind.Group(), Version: "v1", Kind: r.Kind.Name()}
	object := &unstructured.Unstructured{Object: r.Route}
	v := &admission.VersionedAttributes{VersionedKind: kind, VersionedObject: object}
	operation := admission.Create
	if r.Old != nil {
		operation, v.VersionedOldObject = admission.Update, &unstructured.Unstructured{Object: r.Old}
	}
	who := &user.DefaultInfo{Name: r.User.Name, Groups: r.User.Groups}
	v.Attributes = admission.NewAttributesRecord(object, v.VersionedOldObject, kind, r.Namespace.Name, object.GetName(),
		kind.GroupVersion().WithResource(r.Kind.Resource()), "", operation, nil, false, who)
	return v
}

// ask evaluates the bindings and the policy as the API server does.
func (c *compiled) ask(t testing.TB, r *grants.Request) grants.Answer {
	t.Helper()
	v := attributes(r)
	var actions []admissionv1.ValidationAction
	for _, b := range c.set.Bindings {
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.MatchResources.NamespaceSelector)
		if err != nil {
			t.Fatal(err)
		}
		if selector.Matches(labels.Set(r.Namespace.Labels)) {
			actions = append(actions, b.Spec.ValidationActions...)
		}
	}
	if len(actions) != 1 {
		t.Fatalf("namespace %v has the actions %v", r.Namespace.Labels, actions)
	}
	result := c.validator.Validate(context.Background(), v.GetResource(), v, nil, r.Namespace, celconfig.RuntimeCELCostBudget, nil)
	for _, a := range result.AuditAnnotations {
		switch a.Action {
		case validating.AuditAnnotationActionPublish:
			return grants.Answer{Effect: validate.Audit, Message: a.Value}
		case validating.AuditAnnotationActionError:
			t.Fatalf("audit annotation: %s", a.Error)
		}
	}
	for _, d := range result.Decisions {
		switch {
		case d.Evaluation == validating.EvalError:
			t.Fatalf("evaluation: %s", d.Message)
		case d.Evaluation == validating.EvalDeny && d.Reason != metav1.StatusReasonForbidden:
			t.Fatalf("reason %s", d.Reason)
		case d.Evaluation == validating.EvalDeny:
			effects := map[admissionv1.ValidationAction]validate.Action{admissionv1.Deny: validate.Deny, admissionv1.Warn: validate.Warn, admissionv1.Audit: validate.Audit}
			return grants.Answer{Effect: effects[actions[0]], Message: d.Message}
		}
	}
	return grants.Answer{Effect: validate.Off}
}
