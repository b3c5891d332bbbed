package policies_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/cel/openapi/resolver"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/restmapper"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/internal/grantpolicy"
	"github.com/gammaguard/gammaguard/test/bed"
)

func kubectl(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	stdout, stderr, err := plane.Kubectl(t.Context(), stdin, args...)
	if err != nil {
		t.Fatalf("kubectl %s: %v: %s", strings.Join(args, " "), err, stderr)
	}
	return stdout
}

func overlay(t *testing.T) string {
	t.Helper()
	root, err := bed.Root()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(root, "config", "overlays", "policies")
}

// create tries to create a mesh route, and returns what kubectl says about it.
func create(t *testing.T, namespace, parent string) (stderr string, err error) {
	t.Helper()
	route := fmt.Sprintf("{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: cart, namespace: %s}, spec: {parentRefs: [%s]}}", namespace, parent)
	_, stderr, err = plane.Kubectl(t.Context(), route, "create", "--dry-run=server", "-f", "-")
	return stderr, err
}

const cart = `{group: "", kind: Service, name: cart}`

// installed returns every object with gammaguard's label.
func installed(t *testing.T) string {
	t.Helper()
	kinds := strings.Fields(kubectl(t, "", "api-resources", "--verbs=list,delete", "-o", "name"))
	return kubectl(t, "", "get", strings.Join(kinds, ","), "-A", "-l", "app.kubernetes.io/name=gammaguard", "--ignore-not-found", "-o", "name")
}

// TestOverlay: the overlay enforces grants within a second, without a Pod; without it, nothing
// is left.
func TestOverlay(t *testing.T) {
	kubectl(t, "", "create", "namespace", "overlay")
	var fastest time.Duration
	for range 3 {
		kubectl(t, "", "apply", "-k", overlay(t))
		applied := time.Now()
		for {
			asked := time.Now()
			said, err := create(t, "overlay", cart)
			if err != nil {
				if want := "denied request: spec.parentRefs[0]: Forbidden: namespace overlay lacks the producer grant for HTTPRoute; ask a mesh admin to run: " +
					"kubectl label namespace overlay gammaguard.dev/grant=producer; for a Service elsewhere, set namespace in the parentRef (grant-missing)\n"; !strings.HasSuffix(said, want) || strings.Count(said, "\n") != 1 {
					t.Fatalf("the refusal reads %q", said)
				}
				if took := asked.Sub(applied); fastest == 0 || took < fastest {
					fastest = took
				}
				break
			}
			if time.Since(applied) > 30*time.Second {
				t.Fatal("the API server refuses nothing")
			}
		}
		if said, err := create(t, "overlay", "{name: edge}"); err != nil {
			t.Errorf("a route on a Gateway: %s", said)
		}
		kubectl(t, "", "label", "namespace", "overlay", "gammaguard.dev/grant=producer")
		if said, err := create(t, "overlay", cart); err != nil {
			t.Errorf("with the grant: %s", said)
		}
		if _, stderr, err := plane.Kubectl(t.Context(), "", "label", "namespace", "overlay", "gammaguard.dev/grant=some", "--overwrite"); err == nil {
			t.Errorf("an unknown value: %s", stderr)
		}
		if pods := installed(t); strings.Contains(pods, "deployment") || strings.Contains(pods, "serviceaccount/") || strings.Contains(pods, "webhookconfiguration") {
			t.Errorf("installed are\n%s", pods)
		}
		kubectl(t, "", "label", "namespace", "overlay", "gammaguard.dev/grant-")
		kubectl(t, "", "delete", "-k", overlay(t))
		if left := installed(t); left != "" {
			t.Errorf("left is\n%s", left)
		}
		for began := time.Now(); ; {
			said, err := create(t, "overlay", cart)
			if err == nil {
				break
			}
			if time.Since(began) > 30*time.Second {
				t.Fatalf("it is still refused: %s", said)
			}
		}
	}
	if t.Logf("enforced within %s", fastest); fastest > time.Second {
		t.Errorf("it took %s until a route without a grant was refused", fastest)
	}
}

// TestTypes: the check of types that kube-controller-manager makes, by the definitions that the
// API server publishes, has no warning. An expression with a wrong field has one.
func TestTypes(t *testing.T) {
	client, err := discovery.NewDiscoveryClientForConfig(plane.Config)
	if err != nil {
		t.Fatal(err)
	}
	checker := &validating.TypeChecker{
		SchemaResolver: &resolver.ClientDiscoveryResolver{Discovery: client},
		RestMapper:     restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client)),
	}
	everything, err := config.Load([]byte(`{apiVersion: gammaguard.dev/v1alpha1, kind: GuardConfiguration, mode: warn,
		grants: {contact: "O'Neil", selectors: [{namespaceSelector: {matchLabels: {a: b}, matchExpressions: [{key: c, operator: NotIn, values: [d]}]}, roles: [producer], routeKinds: [HTTPRoute]}]},
		exemptions: {usernames: [jane], groups: [ops], namespaces: [shop]}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []*config.GuardConfiguration{config.Default(), everything} {
		policy := grantpolicy.New(c.Policy()).Policy
		var expressions []admissionv1.Validation // the check looks at no other ones
		for _, v := range policy.Spec.Validations {
			expressions = append(expressions, v, admissionv1.Validation{Expression: v.MessageExpression + " == ''"})
		}
		for _, v := range policy.Spec.Variables {
			expressions = append(expressions, admissionv1.Validation{Expression: "variables." + v.Name + " == variables." + v.Name})
		}
		for _, m := range policy.Spec.MatchConditions {
			expressions = append(expressions, admissionv1.Validation{Expression: m.Expression})
		}
		policy.Spec.Validations = expressions
		for _, warning := range checker.Check(policy) {
			t.Errorf("%s: %s", warning.FieldRef, warning.Warning)
		}
		policy.Spec.Validations = slices.Concat(expressions, []admissionv1.Validation{{Expression: "object.spec.parents.size() == 0"}})
		if warnings := checker.Check(policy); len(warnings) != 1 || !strings.Contains(warnings[0].Warning, "undefined field 'parents'") {
			t.Errorf("a wrong field: %v", warnings)
		}
	}
}
