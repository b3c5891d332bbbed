package config

import (
	"cmp"
	"context"
	"strconv"
	"testing"

	"github.com/google/cel-go/cel"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	celplugin "k8s.io/apiserver/pkg/admission/plugin/cel"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/cel/environment"
)

func requester() user.Info { return &user.DefaultInfo{Name: "jane"} }

// question is what a policy asks the authorizer.
type question struct{ User, Verb, Group, Resource, Namespace, Name string }

// fakeAuthorizer says yes or no, and keeps what it was asked.
type fakeAuthorizer struct {
	// grants and namespaces report whether the user may update these, and serves whether
	// gammaguard has served.
	grants, namespaces, serves bool
	asked                      []question
}

func (f *fakeAuthorizer) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	f.asked = append(f.asked, question{a.GetUser().GetName(), a.GetVerb(), a.GetAPIGroup(), a.GetResource(), a.GetNamespace(), a.GetName()})
	serve := question{"system:serviceaccount:gammaguard-system:gammaguard-webhook", "serve", "gammaguard.dev", "webhooks", "", ""}
	if f.serves && f.asked[len(f.asked)-1] == serve {
		return authorizer.DecisionAllow, "", nil
	}
	if a.GetResource() == "grants" && f.grants || a.GetResource() == "namespaces" && f.namespaces {
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionNoOpinion, "", nil
}

// labelPolicy is policy/grants.yaml, compiled, with what the last judgment cost.
type labelPolicy struct {
	validations, messages celplugin.ConditionEvaluator
	cost                  int64
}

func compilePolicy(t *testing.T, policy *admissionv1.ValidatingAdmissionPolicy) *labelPolicy {
	t.Helper()
	compiler := compileVariables(t, policy)
	var validations, messages []celplugin.ExpressionAccessor
	for _, v := range policy.Spec.Validations {
		validations = append(validations, &expression{text: v.Expression, result: cel.BoolType})
		messages = append(messages, &expression{text: cmp.Or(v.MessageExpression, strconv.Quote(v.Message)), result: cel.StringType})
	}
	for _, a := range policy.Spec.AuditAnnotations {
		compile(t, compiler, celplugin.OptionalVariableDeclarations{HasAuthorizer: true}, []celplugin.ExpressionAccessor{&expression{text: a.ValueExpression, result: cel.StringType}})
	}
	return &labelPolicy{
		validations: compile(t, compiler, celplugin.OptionalVariableDeclarations{HasAuthorizer: true}, validations),
		messages:    compile(t, compiler, celplugin.OptionalVariableDeclarations{}, messages),
	}
}

// compileVariables returns a compiler that knows the variables of a policy.
func compileVariables(t *testing.T, policy *admissionv1.ValidatingAdmissionPolicy) celplugin.ConditionCompiler {
	t.Helper()
	compiler, err := celplugin.NewCompositedCompiler(oldestServer())
	if err != nil {
		t.Fatal(err)
	}
	with := celplugin.OptionalVariableDeclarations{HasAuthorizer: true}
	for _, v := range policy.Spec.Variables {
		result := compiler.CompileAndStoreVariable(&expression{v.Name, v.Expression, cel.AnyType}, with, environment.NewExpressions)
		if result.Error != nil {
			t.Fatalf("variable %s does not compile on Kubernetes 1.30: %v", v.Name, result.Error)
		}
	}
	return compiler
}

// judge returns the messages of the validations that fail, as the API server
// works them out.
func (p *labelPolicy) judge(t *testing.T, namespace, old *unstructured.Unstructured, authz authorizer.Authorizer) []string {
	t.Helper()
	attributes := versioned(namespace, old, corev1.SchemeGroupVersion.WithKind("Namespace"), "namespaces")
	request := celplugin.CreateAdmissionRequest(attributes.Attributes,
		metav1.GroupVersionResource(attributes.GetResource()), metav1.GroupVersionKind(attributes.VersionedKind))
	left := int64(celconfig.RuntimeCELCostBudget)
	defer func() { p.cost = celconfig.RuntimeCELCostBudget - left }()
	evaluate := func(evaluator celplugin.ConditionEvaluator, vars celplugin.OptionalVariableBindings) (results []celplugin.EvaluationResult) {
		var err error
		if results, left, err = evaluator.ForInput(context.Background(), attributes, request, vars, nil, left); err != nil {
			t.Fatal(err)
		}
		return results
	}
	var failed []string
	var messages []celplugin.EvaluationResult
	for i, result := range evaluate(p.validations, celplugin.OptionalVariableBindings{Authorizer: authz}) {
		if result.Error != nil {
			t.Fatalf("validation %d: %v", i, result.Error)
		}
		if result.EvalResult.Value() == true {
			continue
		}
		if messages == nil {
			messages = evaluate(p.messages, celplugin.OptionalVariableBindings{})
		}
		if messages[i].Error != nil {
			t.Fatalf("message %d: %v", i, messages[i].Error)
		}
		failed = append(failed, messages[i].EvalResult.Value().(string))
	}
	return failed
}
