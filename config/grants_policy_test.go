package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gammaguard/gammaguard/mesh"
)

func TestGrantsPolicyCoversNamespaces(t *testing.T) {
	policy := manifest[admissionv1.ValidatingAdmissionPolicy](t, "policy/labels/grants.yaml", 0)
	want := admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
		RuleWithOperations: admissionv1.RuleWithOperations{
			Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
			Rule: admissionv1.Rule{
				APIGroups: []string{""}, APIVersions: []string{"v1"},
				Resources: []string{"namespaces", "namespaces/status", "namespaces/finalize"},
				Scope:     ptr(admissionv1.ClusterScope),
			},
		},
	}}}
	if diff := cmp.Diff(&want, policy.Spec.MatchConstraints); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if policy.Spec.FailurePolicy == nil || *policy.Spec.FailurePolicy != admissionv1.Fail {
		t.Errorf("failurePolicy is %v", policy.Spec.FailurePolicy)
	}
	binding := manifest[admissionv1.ValidatingAdmissionPolicyBinding](t, "policy/labels/grants.yaml", 1)
	wantBinding := admissionv1.ValidatingAdmissionPolicyBindingSpec{
		PolicyName: policy.Name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
	}
	if diff := cmp.Diff(wantBinding, binding.Spec); diff != "" {
		t.Errorf("binding (-want +got):\n%s", diff)
	}
}

func TestGrantsPolicy(t *testing.T) {
	const (
		bare     = "metadata: {name: shop}"
		other    = "metadata: {name: shop, labels: {team: cart}}"
		granted  = "metadata: {name: shop, labels: {team: cart, gammaguard.dev/grant: producer}}"
		wider    = "metadata: {name: shop, labels: {gammaguard.dev/grant: all}}"
		unknown  = "metadata: {name: shop, labels: {gammaguard.dev/grant: some}}"
		trusting = "metadata: {name: shop, annotations: {team: cart, gammaguard.dev/consumer-routes-from: a=b}}"
		labeled  = "metadata: {name: shop, labels: {gammaguard.dev/grant: none, gammaguard.dev/mode: audit, gammaguard.dev/consumer-routes: deny}}"
	)
	refusal := func(labels string) string {
		return `user "jane" may not change ` + labels + ` of namespace "shop"; this needs a ClusterRoleBinding to a ClusterRole ` +
			`with the verb update on grants.gammaguard.dev "shop", such as gammaguard-mesh-admin`
	}
	const unknownGrant = `namespace "shop" has labels of unknown value; gammaguard.dev/grant is "some", known are none, producer, consumer, all`
	policy := compilePolicy(t, manifest[admissionv1.ValidatingAdmissionPolicy](t, "policy/labels/grants.yaml", 0))
	for _, test := range []struct {
		name, old, new string // no old: CREATE
		// other are the messages for others than mesh admins, admin those for them.
		other, admin []string
		// free: it does not matter who may grant. others: it changes what is not ours.
		free, others bool
	}{
		{name: "create", new: bare, free: true},
		{name: "create with other labels", new: other, free: true},
		{name: "create labeled", new: granted, other: []string{refusal("gammaguard.dev/grant")}},
		{
			name: "create with all labels", new: labeled,
			other: []string{refusal("gammaguard.dev/grant, gammaguard.dev/mode, gammaguard.dev/consumer-routes")},
		},
		{
			name: "create with an unknown value", new: unknown,
			other: []string{refusal("gammaguard.dev/grant"), unknownGrant}, admin: []string{unknownGrant},
		},
		{name: "add another label", old: bare, new: other, free: true, others: true},
		{name: "remove another label", old: other, new: bare, free: true, others: true},
		{name: "edit beside a label", old: wider, new: wider, free: true},
		{name: "edit beside an unknown value", old: unknown, new: unknown, free: true},
		{name: "add", old: bare, new: granted, other: []string{refusal("gammaguard.dev/grant")}, others: true},
		{name: "change", old: granted, new: wider, other: []string{refusal("gammaguard.dev/grant")}, others: true},
		{name: "remove", old: granted, new: other, other: []string{refusal("gammaguard.dev/grant")}},
		{name: "remove the last label", old: granted, new: bare, other: []string{refusal("gammaguard.dev/grant")}, others: true},
		{name: "correct an unknown value", old: unknown, new: granted, other: []string{refusal("gammaguard.dev/grant")}, others: true},
		{name: "remove an unknown value", old: unknown, new: bare, other: []string{refusal("gammaguard.dev/grant")}},
		{
			name: "keep one, add two", old: wider, new: "metadata: {name: shop, labels: {gammaguard.dev/grant: all, gammaguard.dev/mode: warn, gammaguard.dev/consumer-routes: allow}}",
			other: []string{refusal("gammaguard.dev/mode, gammaguard.dev/consumer-routes")},
		},
		{name: "create with an annotation", new: trusting, other: []string{refusal("gammaguard.dev/consumer-routes-from")}},
		{name: "add an annotation", old: bare, new: trusting, other: []string{refusal("gammaguard.dev/consumer-routes-from")}, others: true},
		{name: "remove an annotation", old: trusting, new: bare, other: []string{refusal("gammaguard.dev/consumer-routes-from")}, others: true},
		{
			name: "change an annotation", old: trusting,
			new:   "metadata: {name: shop, annotations: {gammaguard.dev/consumer-routes-from: a=c}}",
			other: []string{refusal("gammaguard.dev/consumer-routes-from")}, others: true,
		},
		{
			name: "edit beside an annotation", old: trusting,
			new: "metadata: {name: shop, labels: {team: cart}, annotations: {team: shop, gammaguard.dev/consumer-routes-from: a=b}}", free: true, others: true,
		},
		{
			name: "a label and both annotations", old: trusting,
			new: "metadata: {name: shop, labels: {gammaguard.dev/mode: warn}, annotations: " +
				"{gammaguard.dev/consumer-routes-from: '!', gammaguard.dev/consumer-route-kinds: HTTPRoute}}",
			other: []string{refusal("gammaguard.dev/mode, gammaguard.dev/consumer-routes-from, gammaguard.dev/consumer-route-kinds")}, others: true,
		},
		{
			name: "a label's key as an annotation, and an annotation's as a label", old: bare,
			new:   "metadata: {name: shop, labels: {gammaguard.dev/consumer-routes-from: a}, annotations: {gammaguard.dev/grant: all}}",
			other: []string{refusal("gammaguard.dev/consumer-routes-from, gammaguard.dev/grant")},
		},
		{
			name: "unknown values", old: granted,
			new: "metadata: {name: shop, labels: {gammaguard.dev/grant: producer, gammaguard.dev/mode: '', gammaguard.dev/consumer-routes: 'yes'}}",
			other: []string{
				refusal("gammaguard.dev/mode, gammaguard.dev/consumer-routes"),
				`namespace "shop" has labels of unknown value; gammaguard.dev/mode is "", known are enforce, warn, audit; gammaguard.dev/consumer-routes is "yes", known are allow, deny`,
			},
			admin: []string{
				`namespace "shop" has labels of unknown value; gammaguard.dev/mode is "", known are enforce, warn, audit; gammaguard.dev/consumer-routes is "yes", known are allow, deny`,
			},
			others: true,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			var old *unstructured.Unstructured
			if test.old != "" {
				old = object(t, test.old)
			}
			for _, who := range []struct {
				admin bool
				want  []string
			}{{false, test.other}, {true, test.admin}} {
				authz := &fakeAuthorizer{grants: who.admin, namespaces: true}
				namespace := object(t, test.new)
				got := policy.judge(t, namespace, old, authz)
				if diff := cmp.Diff(who.want, got); diff != "" {
					t.Errorf("mesh admin = %v (-want +got):\n%s", who.admin, diff)
				}
				var asked []question
				if !test.free {
					asked = []question{{User: "jane", Verb: "update", Group: "gammaguard.dev", Resource: "grants", Name: "shop"}}
				}
				if test.others {
					asked = append(asked, question{User: "jane", Verb: "update", Resource: "namespaces", Namespace: "shop", Name: "shop"})
				}
				if diff := cmp.Diff(asked, authz.asked); diff != "" {
					t.Errorf("mesh admin = %v, authorizer (-want +got):\n%s", who.admin, diff)
				}
			}
		})
	}
}

// TestGrantsPolicyKeepsMeshAdmins: who may grant and patch, and not update namespaces, may
// change nothing but our labels and annotations; everyone else may.
func TestGrantsPolicyKeepsMeshAdmins(t *testing.T) {
	policy := compilePolicy(t, manifest[admissionv1.ValidatingAdmissionPolicy](t, "policy/labels/grants.yaml", 0))
	const stored = "metadata: {name: shop, labels: {team: cart, pod-security.kubernetes.io/enforce: restricted, gammaguard.dev/grant: none}, annotations: {owner: a}}"
	for changes, others := range map[string]string{
		"metadata: {name: shop, labels: {team: cart, pod-security.kubernetes.io/enforce: restricted, gammaguard.dev/grant: all}, annotations: {owner: a, gammaguard.dev/consumer-routes-from: a=b, gammaguard.dev/grant-request: x}}": "",
		stored + "\nstatus: {phase: Active}": "",
		"metadata: {name: shop, labels: {team: cart, pod-security.kubernetes.io/enforce: privileged, gammaguard.dev/grant: all}, annotations: {owner: a}}":        "pod-security.kubernetes.io/enforce",
		"metadata: {name: shop, labels: {team: cart, gammaguard.dev/grant: none}, annotations: {owner: a}}":                                                       "pod-security.kubernetes.io/enforce",
		"metadata: {name: shop, labels: {team: cart, pod-security.kubernetes.io/enforce: restricted, gammaguard.dev/grant: none, x: y}, annotations: {owner: b}}": "x, owner",
		"metadata: {name: shop, labels: {team: cart}}":                                                              "pod-security.kubernetes.io/enforce, owner",
		stored[:len(stored)-1] + ", finalizers: [a]}":                                                               "finalizers",
		stored[:len(stored)-1] + ", ownerReferences: [{apiVersion: v1, kind: Node, name: a, uid: b}]}":              "ownerReferences",
		"metadata: {name: shop, labels: {team: cart, gammaguard.development/grant: none}, annotations: {owner: a}}": "pod-security.kubernetes.io/enforce, gammaguard.development/grant",
	} {
		want := []string(nil)
		if others != "" {
			want = []string{`user "jane" is a mesh admin, and may change only the gammaguard.dev labels and annotations of namespace "shop", not ` +
				others + `; this needs the verb update on namespaces "shop"`}
		}
		for _, who := range []struct{ grants, namespaces bool }{{true, false}, {true, true}, {false, false}} {
			got := policy.judge(t, object(t, changes), object(t, stored), &fakeAuthorizer{grants: who.grants, namespaces: who.namespaces})
			kept := who.grants && !who.namespaces
			if kept && !cmp.Equal(want, got) {
				t.Errorf("%s (-want +got):\n%s", changes, cmp.Diff(want, got))
			}
			for _, message := range got {
				if !kept && strings.Contains(message, "is a mesh admin") {
					t.Errorf("%+v: %s", who, message)
				}
			}
		}
	}
	if got := policy.judge(t, object(t, stored), nil, &fakeAuthorizer{grants: true}); got != nil {
		t.Errorf("create: %v", got)
	}
}

// TestGrantsPolicyKnowsWhatMeshKnows: the labels and values of the policy are
// those that mesh reads.
func TestGrantsPolicyKnowsWhatMeshKnows(t *testing.T) {
	policy := compilePolicy(t, manifest[admissionv1.ValidatingAdmissionPolicy](t, "policy/labels/grants.yaml", 0))
	admitted := func(label, value string) bool {
		namespace := object(t, "metadata: {name: shop}")
		namespace.SetLabels(map[string]string{label: value})
		return len(policy.judge(t, namespace, nil, &fakeAuthorizer{grants: true, namespaces: true})) == 0
	}
	for _, label := range []string{mesh.GrantLabel, mesh.ModeLabel, mesh.ConsumerRoutesLabel} {
		for _, value := range []string{"none", "producer", "consumer", "all", "enforce", "warn", "audit", "allow", "deny", "off", "", "None"} {
			_, errs := (&mesh.Namespace{Name: "shop", Labels: map[string]string{label: value}}).Policy()
			if known := len(errs) == 0; known != admitted(label, value) {
				t.Errorf("%s=%q: mesh knows it: %v, the policy admits it: %v", label, value, known, !known)
			}
		}
	}
}
