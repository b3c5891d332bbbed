package grantpolicy_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	celplugin "k8s.io/apiserver/pkg/admission/plugin/cel"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/internal/grantpolicy"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/test/grants"
	"github.com/gammaguard/gammaguard/validate"
)

// TestWebhooksHaveTheSameConditions: what the webhooks and the policy match comes from one
// place.
func TestWebhooksHaveTheSameConditions(t *testing.T) {
	set := grantpolicy.New(config.Default().Policy())
	var rules []admissionv1.RuleWithOperations
	for _, rule := range set.Policy.Spec.MatchConstraints.ResourceRules {
		rules = append(rules, rule.RuleWithOperations)
	}
	check := func(name string, conditions []admissionv1.MatchCondition, got, want []admissionv1.RuleWithOperations) {
		for i, text := range []string{grantpolicy.ChangesWhatCounts(), grantpolicy.HasMeshParent()} {
			if diff := cmp.Diff(strings.Fields(text), strings.Fields(conditions[i].Expression)); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", name, conditions[i].Name, diff)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s, rules (-policy +webhook):\n%s", name, diff)
		}
	}
	var validating admissionv1.ValidatingWebhookConfiguration
	read(t, "webhook/validating.yaml", &validating)
	had, want := strings.Fields(validating.Webhooks[3].MatchConditions[2].Expression), strings.Fields(strings.ReplaceAll(grantpolicy.HasMeshParent(), "object.spec", "oldObject.spec"))
	if diff := cmp.Diff(want, had); diff != "" {
		t.Errorf("deletions (-want +got):\n%s", diff)
	}
	check("validating", validating.Webhooks[0].MatchConditions, validating.Webhooks[0].Rules, rules)
	var mutating admissionv1.MutatingWebhookConfiguration
	read(t, "webhook/mutating.yaml", &mutating)
	check("mutating", mutating.Webhooks[0].MatchConditions, mutating.Webhooks[0].Rules, rules[:1])
	if conditions := set.Policy.Spec.MatchConditions; strings.Contains(conditions[0].Expression, mesh.IgnoreAnnotation) ||
		conditions[1].Expression != grantpolicy.HasMeshParent() || len(conditions) != 2 {
		t.Errorf("the policy matches by %v", conditions)
	}
}

func read(t *testing.T, path string, into any) {
	t.Helper()
	data, err := config.Manifests.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}

// TestDigest: what changes a decision changes the digest on every object, and what does not
// leaves it.
func TestDigest(t *testing.T) {
	load := func(text string) *grantpolicy.Set {
		c, err := config.Load([]byte("apiVersion: gammaguard.dev/v1alpha1\nkind: GuardConfiguration\n" + text))
		if err != nil {
			t.Fatal(err)
		}
		return grantpolicy.New(c.Policy())
	}
	same := load("").Digest()
	for text, differs := range map[string]bool{
		"rules: {parent-not-found: warn}": false,
		"mutations: {backend-port: off}":  false,
		"mesh: istio":                     false,
		"preview: true":                   false,
		"grants: {consumerRoutes: deny}":  false,
		"mode: warn":                      true,
		"rules: {grant-missing: warn}":    true,
		"rules: {grant-missing: off}":     true,
		"grants: {default: producer}":     true,
		"grants: {parentKinds: []}":       true,
		"grants: {contact: '#mesh'}":      true,
		"grants: {selectors: [{namespaceSelector: {}, roles: [producer]}]}": true,
		"exemptions: {groups: [ops]}":                                       true,
	} {
		set := load(text)
		if (set.Digest() != same) != differs {
			t.Errorf("%s: digest %s, that of the default is %s", text, set.Digest(), same)
		}
		for _, b := range set.Bindings {
			if b.Annotations[grantpolicy.DigestAnnotation] != set.Digest() || b.Spec.PolicyName != set.Policy.Name {
				t.Errorf("%s: binding %s has digest %v and policy %s", text, b.Name, b.Annotations, b.Spec.PolicyName)
			}
		}
	}
}

// TestActions: the rule's action and the mode say what each binding does. Its names are the
// same for all configurations, so that applying another one leaves none.
func TestActions(t *testing.T) {
	actions := func(mode mesh.Mode, action validate.Action) string {
		var all []string
		for _, b := range grantpolicy.New(&validate.Policy{Mode: mode, Actions: map[string]validate.Action{"grant-missing": action}}).Bindings {
			all = append(all, strings.TrimPrefix(b.Name, grantpolicy.Name+"-")+" "+string(b.Spec.ValidationActions[0]))
		}
		return strings.Join(all, ", ")
	}
	for _, test := range []struct {
		mode   mesh.Mode
		action validate.Action
		want   string
	}{
		{mesh.Enforce, validate.Deny, "enforce Deny, warn Warn, audit Audit, unlabeled Deny"},
		{"", validate.Deny, "enforce Deny, warn Warn, audit Audit, unlabeled Deny"},
		{mesh.Warn, validate.Deny, "enforce Deny, warn Warn, audit Audit, unlabeled Warn"},
		{mesh.Audit, validate.Deny, "enforce Deny, warn Warn, audit Audit, unlabeled Audit"},
		{mesh.Audit, validate.Warn, "enforce Warn, warn Warn, audit Warn, unlabeled Warn"},
		{mesh.Enforce, validate.Audit, "enforce Audit, warn Audit, audit Audit, unlabeled Audit"},
	} {
		if got := actions(test.mode, test.action); got != test.want {
			t.Errorf("mode %q, action %s: %s, want %s", test.mode, test.action, got, test.want)
		}
	}
}

// TestCost: for the largest route that the definitions allow, the policy costs less than a
// tenth of what the API server allows, and so do its match conditions.
func TestCost(t *testing.T) {
	c := config.Default()
	policy := c.Policy()
	longest := strings.Repeat("a", 63)
	for n := range 20 { // selectors that come to nothing, and many exempt
		c.Exemptions.Usernames = append(c.Exemptions.Usernames, fmt.Sprintf("%s%d", longest, n))
		c.Exemptions.Groups = append(c.Exemptions.Groups, fmt.Sprintf("%s%d", longest, n))
		c.Grants.Selectors = append(c.Grants.Selectors, config.GrantSelector{
			NamespaceSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: longest, Operator: metav1.LabelSelectorOpIn, Values: []string{longest, "b"}}}},
			Roles:             []mesh.Role{mesh.Producer, mesh.Consumer},
		})
	}
	large := c.Policy()
	refs := make([]any, 32)
	for i := range refs { // neither role, of the longest names, each of them of another group
		refs[i] = map[string]any{"group": strings.Repeat("g.", 126) + "g", "kind": longest, "namespace": longest, "name": longest, "sectionName": strings.Repeat("s", 253), "port": int64(i)}
	}
	refs[31] = map[string]any{"group": "", "kind": "Service", "name": "cart", "namespace": "other"}
	route := func(last string) map[string]any {
		rules := make([]any, 16)
		for i := range rules {
			rules[i] = map[string]any{"matches": []any{map[string]any{"path": map[string]any{"value": "/" + strings.Repeat("p", 90_000) + last}}}}
		}
		labels := map[string]any{}
		for i := range 100 {
			labels[fmt.Sprintf("%sx%03d.example.com/%s", strings.Repeat("a.", 100), i, longest)] = longest + last
		}
		return map[string]any{
			"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute",
			"metadata": map[string]any{"name": "cart", "namespace": "shop", "labels": labels, "annotations": labels},
			"spec":     map[string]any{"parentRefs": refs, "rules": rules},
		}
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: map[string]string{longest: "x", mesh.GrantLabel: "Producer"}}}
	groups := slices.Repeat([]string{longest}, 50)
	for name, test := range map[string]struct {
		policy *validate.Policy
		old    map[string]any
	}{"create": {policy, nil}, "update": {policy, route("b")}, "create, many selectors": {large, nil}} {
		compiled := compile(t, grantpolicy.New(test.policy))
		r := &grants.Request{Kind: mesh.HTTPRoute, Route: route("a"), Old: test.old, Namespace: namespace, User: validate.User{Name: "jane", Groups: groups}}
		if got := compiled.ask(t, r); got.Effect != validate.Deny {
			t.Errorf("%s: %+v", name, got)
		}
		if cost := compiled.cost(t, r, compiled.conditions, celconfig.RuntimeCELCostBudgetMatchConditions); cost > celconfig.RuntimeCELCostBudgetMatchConditions/10 {
			t.Errorf("%s: the match conditions cost %d of %d", name, cost, celconfig.RuntimeCELCostBudgetMatchConditions)
		} else {
			t.Logf("%s: match conditions %d of %d", name, cost, celconfig.RuntimeCELCostBudgetMatchConditions)
		}
		cost := compiled.cost(t, r, compiled.validations, celconfig.RuntimeCELCostBudget) + compiled.cost(t, r, compiled.messages, celconfig.RuntimeCELCostBudget)
		if cost > celconfig.RuntimeCELCostBudget/10 {
			t.Errorf("%s: it costs %d of %d", name, cost, celconfig.RuntimeCELCostBudget)
		}
		t.Logf("%s: %d of %d", name, cost, celconfig.RuntimeCELCostBudget)
	}
	// Where only metadata changes, the specs are compared in full.
	unchanged := route("a")
	unchanged["metadata"] = map[string]any{"name": "cart", "namespace": "shop"}
	r := &grants.Request{Kind: mesh.HTTPRoute, Route: route("a"), Old: unchanged, Namespace: namespace}
	compiled := compile(t, grantpolicy.New(policy))
	if cost := compiled.cost(t, r, compiled.conditions, celconfig.RuntimeCELCostBudgetMatchConditions); cost > celconfig.RuntimeCELCostBudgetMatchConditions/10 {
		t.Errorf("metadata changes: the match conditions cost %d", cost)
	}
	if got := compiled.ask(t, r); got.Effect != validate.Off {
		t.Errorf("metadata changes: %+v", got)
	}
}

func (c *compiled) cost(t *testing.T, r *grants.Request, evaluator celplugin.ConditionEvaluator, budget int64) int64 {
	t.Helper()
	v := attributes(r)
	asked := celplugin.CreateAdmissionRequest(v.Attributes, metav1.GroupVersionResource(v.GetResource()), metav1.GroupVersionKind(v.VersionedKind))
	results, left, err := evaluator.ForInput(context.Background(), v, asked, celplugin.OptionalVariableBindings{}, celplugin.CreateNamespaceObject(r.Namespace), budget)
	if err != nil {
		t.Fatal(err)
	}
	for _, result := range results {
		if result.Error != nil {
			t.Fatal(result.Error)
		}
	}
	return budget - left
}
