package config

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/admission"
	celplugin "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/cel/environment"
	"sigs.k8s.io/yaml"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/status/desired"
)

// oldestServer is the CEL that the oldest supported API server compiles with.
func oldestServer() *environment.EnvSet { return environment.MustBaseEnvSet(version.MajorMinor(1, 30)) }

// expression is a CEL expression of a manifest, maybe named, with its result type.
type expression struct {
	name, text string
	result     *cel.Type
}

func (e *expression) GetName() string          { return e.name }
func (e *expression) GetExpression() string    { return e.text }
func (e *expression) ReturnTypes() []*cel.Type { return []*cel.Type{e.result} }

func compile(t *testing.T, compiler celplugin.ConditionCompiler, vars celplugin.OptionalVariableDeclarations, accessors []celplugin.ExpressionAccessor) celplugin.ConditionEvaluator {
	t.Helper()
	evaluator := compiler.CompileCondition(accessors, vars, environment.NewExpressions)
	if errs := evaluator.CompilationErrors(); len(errs) > 0 {
		t.Fatalf("does not compile on Kubernetes 1.30: %v", errors.Join(errs...))
	}
	return evaluator
}

// object reads an object; no text is no object.
func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
		t.Fatal(err)
	}
	return object
}

// matcher is the match conditions of the validating webhook, compiled. The mutating webhook
// has the same but for has-served.
func matcher(t *testing.T) matchconditions.Matcher {
	t.Helper()
	return matcherOf(t, "validate.gammaguard.dev")
}

// matcherOf is the match conditions of the webhook in webhook/validating.yaml, compiled.
func matcherOf(t *testing.T, name string) matchconditions.Matcher {
	t.Helper()
	evaluator, failure := conditionsOf(t, name)
	return matchconditions.NewMatcher(evaluator, failure, "webhook", "validating", name)
}

func conditionsOf(t *testing.T, name string) (celplugin.ConditionEvaluator, *admissionv1.FailurePolicyType) {
	t.Helper()
	webhooks := manifest[admissionv1.ValidatingWebhookConfiguration](t, "webhook/validating.yaml", 0).Webhooks
	webhook := webhooks[slices.IndexFunc(webhooks, func(w admissionv1.ValidatingWebhook) bool { return w.Name == name })]
	return compileConditions(t, webhook.MatchConditions), webhook.FailurePolicy
}

func compileConditions(t *testing.T, conditions []admissionv1.MatchCondition) celplugin.ConditionEvaluator {
	t.Helper()
	var accessors []celplugin.ExpressionAccessor
	for i := range conditions {
		accessors = append(accessors, (*matchconditions.MatchCondition)(&conditions[i]))
	}
	return compile(t, celplugin.NewConditionCompiler(oldestServer()), celplugin.OptionalVariableDeclarations{HasAuthorizer: true}, accessors)
}

// wantMatch evaluates the match conditions for a route as it is to be and, for an
// UPDATE, as it was.
func wantMatch(t *testing.T, matcher matchconditions.Matcher, route, old *unstructured.Unstructured, matches bool) {
	t.Helper()
	attributes := versioned(route, old, schema.GroupVersionKind{Group: mesh.GatewayGroup, Version: "v1", Kind: "HTTPRoute"}, "httproutes")
	got := matcher.Match(context.Background(), attributes, nil, &fakeAuthorizer{serves: true})
	want := matchconditions.MatchResult{Matches: matches}
	if !matches {
		want.FailedConditionName = got.FailedConditionName
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateErrors()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMatchConditions(t *testing.T) {
	matcher := matcher(t)
	for _, test := range []struct {
		name, route string
		want        bool
	}{
		{"a Service", "spec: {parentRefs: [{group: '', kind: Service, name: cart}]}", true},
		{"a ServiceImport", "spec: {parentRefs: [{group: multicluster.x-k8s.io, kind: ServiceImport, name: cart}]}", true},
		{"a Service in the default group", "spec: {parentRefs: [{group: gateway.networking.k8s.io, kind: Service, name: cart}]}", true},
		{"a Service, group left out", "spec: {parentRefs: [{kind: Service, name: cart}]}", true},
		{"a foreign kind", "spec: {parentRefs: [{group: networking.istio.io, kind: ServiceEntry, name: cart}]}", true},
		{"a Gateway in the core group", "spec: {parentRefs: [{group: '', kind: Gateway, name: edge}]}", true},
		{"a versioned group", "spec: {parentRefs: [{group: gateway.networking.k8s.io/v1, kind: Gateway, name: edge}]}", true},
		{"a Service among Gateways", "spec: {parentRefs: [{name: edge}, {group: '', kind: Service, name: cart}, {name: edge}]}", true},
		{"a Gateway, all left out", "spec: {parentRefs: [{name: edge}]}", false},
		{"a Gateway, kind left out", "spec: {parentRefs: [{group: gateway.networking.k8s.io, name: edge}]}", false},
		{"Gateways and ListenerSets", "spec: {parentRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: edge}, {kind: ListenerSet, name: edge}]}", false},
		{"no parentRefs", "spec: {parentRefs: []}", false},
		{"parentRefs left out", "spec: {hostnames: [a.test]}", false},
		{"no spec", "kind: HTTPRoute", false},
		// What the schema is to refuse reaches the mutating webhook first. Nothing
		// may fail here, so that the user reads of the schema and not of CEL.
		{"spec of the wrong type", "spec: routes", false},
		{"spec is a list", "spec: [parentRefs]", false},
		{"spec is null", "spec:", false},
		{"parentRefs of the wrong type", "spec: {parentRefs: cart}", false},
		{"parentRefs is a mapping", "spec: {parentRefs: {kind: Service}}", false},
		{"parentRefs is null", "spec: {parentRefs: }", false},
		{"a parentRef of the wrong type", "spec: {parentRefs: [cart]}", false},
		{"a parentRef is null", "spec: {parentRefs: [null, 1, []]}", false},
		{"a Service beside a parentRef of the wrong type", "spec: {parentRefs: [cart, {kind: Service, name: cart}]}", true},
		{"a kind of the wrong type", "spec: {parentRefs: [{kind: 1, name: cart}]}", true},
		{"a group of the wrong type", "spec: {parentRefs: [{group: {}, name: cart}]}", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			route := object(t, test.route)
			if route.Object["metadata"] == nil {
				route.Object["metadata"] = map[string]any{"name": "cart"}
			}
			wantMatch(t, matcher, route, nil, test.want)
		})
	}
}

// TestMatchConditionsOfDeletedRoutes: of a route that is being deleted, too, only a request
// that changes nothing that counts does not match.
func TestMatchConditionsOfDeletedRoutes(t *testing.T) {
	const (
		deleted   = "metadata: {name: cart, deletionTimestamp: 2026-01-01T00:00:00Z}\n"
		finalized = "metadata: {name: cart, finalizers: [a.test/b], deletionTimestamp: 2026-01-01T00:00:00Z}\n"
		cart      = "spec: {parentRefs: [{kind: Service, name: cart}]}"
		other     = "spec: {parentRefs: [{kind: Service, name: other}]}"
		gateway   = "spec: {parentRefs: [{name: edge}]}"
	)
	matcher := matcher(t)
	for _, test := range []struct {
		name, old, route string
		want             bool
	}{
		{"a finalizer is removed", finalized + cart, deleted + cart, false},
		{"a finalizer is removed, and the parent changes", finalized + cart, deleted + other, true},
		{"the parent changes", finalized + cart, finalized + other, true},
		{"a Gateway becomes a Service", finalized + gateway, finalized + cart, true},
		{"a Service becomes a Gateway", finalized + cart, finalized + gateway, false},
		{"there was no spec", finalized, finalized + cart, true},
		{"the spec is removed", finalized + cart, finalized, false},
		{"there is no spec", finalized, deleted, false},
		{"a spec of the wrong type", finalized + cart, finalized + "spec: []", false},
		{"created, with a deletionTimestamp", "", finalized + cart, true},
		{"a mesh's annotation comes", finalized + cart, "metadata: {name: cart, annotations: {timeout.linkerd.io/request: 1ms}, deletionTimestamp: 2026-01-01T00:00:00Z}\n" + cart, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			var old *unstructured.Unstructured
			if test.old != "" {
				old = object(t, test.old)
			}
			wantMatch(t, matcher, object(t, test.route), old, test.want)
		})
	}
}

// TestMatchConditionsBeforeServing: until gammaguard has served, no route matches, whatever
// the user may do.
func TestMatchConditionsBeforeServing(t *testing.T) {
	route := object(t, "metadata: {name: cart}\nspec: {parentRefs: [{group: '', kind: Service, name: cart}]}")
	attributes := versioned(route, nil, schema.GroupVersionKind{Group: mesh.GatewayGroup, Version: "v1", Kind: "HTTPRoute"}, "httproutes")
	got := matcher(t).Match(context.Background(), attributes, nil, &fakeAuthorizer{grants: true, namespaces: true})
	if diff := cmp.Diff(matchconditions.MatchResult{FailedConditionName: "has-served"}, got, cmpopts.EquateErrors()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestMatchConditionsOfProbes: only an update of gammaguard's binding with the annotation
// is a probe.
func TestMatchConditionsOfProbes(t *testing.T) {
	matcher := matcherOf(t, ServingWebhook)
	for metadata, want := range map[string]bool{
		"name: gammaguard-serving":                                           false,
		"name: gammaguard-serving, annotations: {a: b}":                      false,
		"name: other, annotations: {gammaguard.dev/probe: a}":                false,
		"name: gammaguard-serving, annotations: {gammaguard.dev/probe: a}":   true,
		"name: gammaguard-serving, annotations: {gammaguard.dev/probe: ''}":  true,
		"name: gammaguard-serving, labels: {gammaguard.dev/probe: probe}":    false,
		"name: gammaguard-serving-2, annotations: {gammaguard.dev/probe: a}": false,
	} {
		binding := object(t, "metadata: {"+metadata+"}")
		t.Run(metadata, func(t *testing.T) { wantMatch(t, matcher, binding, binding, want) })
	}
	if name := manifest[rbacv1.ClusterRoleBinding](t, "rbac/serving.yaml", 1).Name; name != ServingBinding {
		t.Errorf("the binding is %s", name)
	}
}

// TestMatchConditionsOfLabels: the preview is for changes of gammaguard's labels and
// annotations alone.
func TestMatchConditionsOfLabels(t *testing.T) {
	matcher := matcherOf(t, "labels.gammaguard.dev")
	namespace := func(meta string) *unstructured.Unstructured { return object(t, "metadata: {name: shop"+meta+"}") }
	for _, test := range []struct {
		name, old, now string
		want           bool
	}{
		{"nothing changes", "", "", false},
		{"another label changes", ", labels: {team: a}", ", labels: {team: b}", false},
		{"the labels stay", ", labels: {gammaguard.dev/grant: all, team: a}", ", labels: {gammaguard.dev/grant: all}", false},
		{"a grant comes", "", ", labels: {gammaguard.dev/grant: all}", true},
		{"a grant goes", ", labels: {gammaguard.dev/grant: all}", "", true},
		{"the mode changes", ", labels: {gammaguard.dev/mode: warn}", ", labels: {gammaguard.dev/mode: enforce}", true},
		{"consumers are refused", ", labels: {}", ", labels: {gammaguard.dev/consumer-routes: deny}", true},
		{"another annotation changes", ", annotations: {a: b}", ", annotations: {a: c}", false},
		{"namespaces are refused", "", ", annotations: {gammaguard.dev/consumer-routes-from: a=b}", true},
		{"the grant is narrowed", "", ", annotations: {gammaguard.dev/grant-route-kinds: TCPRoute}", true},
		{"a misspelled annotation comes", ", annotations: {a: b}", ", annotations: {a: b, gammaguard.dev/grant-route-kind: TCPRoute}", true},
		{"a misspelled label comes", "", ", labels: {gammaguard.dev/grnat: all}", true},
		{"a misspelled label stays, or goes", ", labels: {gammaguard.dev/grnat: all, gammaguard.dev/x: a}", ", labels: {gammaguard.dev/grnat: all, team: a}", false},
		{"kinds are refused", ", annotations: {gammaguard.dev/consumer-route-kinds: TCPRoute}", ", annotations: {gammaguard.dev/consumer-route-kinds: UDPRoute}", true},
	} {
		t.Run(test.name, func(t *testing.T) { wantMatch(t, matcher, namespace(test.now), namespace(test.old), test.want) })
	}
}

// TestMatchConditionsOfServices: the preview is for changes that may detach routes.
func TestMatchConditionsOfServices(t *testing.T) {
	matcher := matcherOf(t, "services.gammaguard.dev")
	service := func(spec string) *unstructured.Unstructured {
		return object(t, "metadata: {name: cart}\nspec: {"+spec+"}")
	}
	for _, test := range []struct {
		name, old, now string
		want           bool
	}{
		{"nothing changes", "type: ClusterIP, clusterIP: 10.0.0.1, ports: [{port: 80}]", "type: ClusterIP, clusterIP: 10.0.0.1, ports: [{port: 80}]", false},
		{"the selector changes", "type: ClusterIP, selector: {a: b}", "type: ClusterIP, selector: {a: c}", false},
		{"the type changes", "type: ClusterIP", "type: ExternalName", true},
		{"the cluster IP goes", "type: ClusterIP, clusterIP: 10.0.0.1", "type: ClusterIP", true},
		{"a port changes", "ports: [{port: 80}]", "ports: [{port: 81}]", true},
		{"the ports go", "ports: [{port: 80}]", "type: ClusterIP", true},
	} {
		t.Run(test.name, func(t *testing.T) { wantMatch(t, matcher, service(test.now), service(test.old), test.want) })
	}
	keyed := func(meta string) *unstructured.Unstructured {
		return object(t, "metadata: {name: cart"+meta+"}\nspec: {}")
	}
	wantMatch(t, matcher, keyed(", annotations: {gammaguard.dev/consumer-route-from: a=b}"), keyed(""), true)
	wantMatch(t, matcher, keyed(", annotations: {gammaguard.dev/consumer-route-from: a=b}, labels: {a: b}"), keyed(", annotations: {gammaguard.dev/consumer-route-from: a=b}"), false)
	for spec, want := range map[string]bool{"type: ExternalName": true, "type: ClusterIP": false, "ports: [{port: 80}]": false} {
		t.Run("created with "+spec, func(t *testing.T) { wantMatch(t, matcher, service(spec), nil, want) })
	}
}

// TestMatchConditionsOfDeletedParents: the preview is for mesh routes that are deleted, or whose
// parentRefs change.
func TestMatchConditionsOfDeletedParents(t *testing.T) {
	matcher := matcherOf(t, "routes.gammaguard.dev")
	route := func(spec string) *unstructured.Unstructured {
		return object(t, "metadata: {name: cart}\nspec: {"+spec+"}")
	}
	const service, gateway = "parentRefs: [{group: '', kind: Service, name: cart}]", "parentRefs: [{name: edge}]"
	for _, test := range []struct {
		name, old, now string
		want           bool
	}{
		{"nothing changes", service, service, false},
		{"the rules change", service, service + ", rules: []", false},
		{"a parentRef changes", service, gateway, true},
		{"the parentRefs go", service, "", true},
		{"a Gateway's parentRefs change", gateway, service, false},
		{"there were none", "", service, false},
	} {
		t.Run(test.name, func(t *testing.T) { wantMatch(t, matcher, route(test.now), route(test.old), test.want) })
	}
	for by, want := range map[string]bool{"dev": true, "system:serviceaccount:kube-system:namespace-controller": false} {
		for spec, onService := range map[string]bool{service: true, gateway: false, "parentRefs: [null]": false} {
			got := matcher.Match(context.Background(), deleted(route(spec), by), nil, &fakeAuthorizer{serves: true})
			if got.Matches != (want && onService) || got.Error != nil {
				t.Errorf("%s deletes a route with %s: %+v", by, spec, got)
			}
		}
	}
}

// deleted are the attributes of a DELETE.
func deleted(old *unstructured.Unstructured, by string) *admission.VersionedAttributes {
	kind := schema.GroupVersionKind{Group: mesh.GatewayGroup, Version: "v1", Kind: "HTTPRoute"}
	attributes := &admission.VersionedAttributes{VersionedKind: kind, VersionedOldObject: old}
	attributes.Attributes = admission.NewAttributesRecord(nil, old, kind, "", old.GetName(),
		kind.GroupVersion().WithResource("httproutes"), "", admission.Delete, nil, false, &user.DefaultInfo{Name: by})
	return attributes
}

// versioned are the attributes of a CREATE, or with an old object of an UPDATE.
func versioned(object, old *unstructured.Unstructured, kind schema.GroupVersionKind, resource string) *admission.VersionedAttributes {
	attributes := &admission.VersionedAttributes{VersionedKind: kind, VersionedObject: object}
	operation := admission.Create
	if old != nil {
		operation = admission.Update
		attributes.VersionedOldObject = old
	}
	attributes.Attributes = admission.NewAttributesRecord(object, attributes.VersionedOldObject, kind, "", object.GetName(),
		kind.GroupVersion().WithResource(resource), "", operation, nil, false, requester())
	return attributes
}

// TestPoliciesOnTheServiceAccountCompile with the oldest server's CEL. What they let through
// is tested in test/install.
func TestPoliciesOnTheServiceAccountCompile(t *testing.T) {
	for _, place := range []struct {
		file  string
		index int
	}{
		{"components/self-managed/policy.yaml", 0},
		{"policy/account/serving.yaml", 0},
		{"policy/account/service_account.yaml", 0},
		{"policy/account/service_account.yaml", 2},
	} {
		policy := manifest[admissionv1.ValidatingAdmissionPolicy](t, place.file, place.index)
		compiler := compileVariables(t, policy)
		expressions := []celplugin.ExpressionAccessor{&expression{text: policy.Spec.MatchConditions[0].Expression, result: cel.BoolType}}
		for _, v := range policy.Spec.Validations {
			expressions = append(expressions, &expression{text: v.Expression, result: cel.BoolType})
		}
		compile(t, compiler, celplugin.OptionalVariableDeclarations{HasAuthorizer: true}, expressions)
	}
}

// TestPoliciesKnowWhatStatusWrites: the default name, and the reasons of all meshes.
func TestPoliciesKnowWhatStatusWrites(t *testing.T) {
	values := func(index int, variable string) string {
		policy := manifest[admissionv1.ValidatingAdmissionPolicy](t, "policy/account/service_account.yaml", index)
		at := slices.IndexFunc(policy.Spec.Variables, func(v admissionv1.Variable) bool { return v.Name == variable })
		if at != 0 { // docs/configuration.md has the index
			t.Fatalf("variable %s of %s is at %d", variable, policy.Name, at)
		}
		return policy.Spec.Variables[at].Expression
	}
	if names := values(0, "names"); names != "['"+desired.ControllerName+"']" {
		t.Errorf("names: %s", names)
	}
	reasons := values(2, "reasons")
	want := []string{desired.Conflicted, desired.NoMatchingParent, desired.NamespaceNotGranted, desired.ConsumerRefused}
	for _, mesh := range mesh.Profiles() {
		want = append(want, mesh.ConflictReason.Value)
	}
	for _, reason := range want {
		if !strings.Contains(reasons, "'"+reason+"'") {
			t.Errorf("reasons have no %s: %s", reason, reasons)
		}
	}
}
