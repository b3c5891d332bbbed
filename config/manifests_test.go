package config

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	yamlv2 "go.yaml.in/yaml/v2"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/yaml"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate/rules"
)

// documents returns the YAML documents of a file of Manifests.
func documents(t *testing.T, path string) [][]byte {
	t.Helper()
	data, err := Manifests.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return split(t, path, data)
}

func split(t *testing.T, path string, data []byte) [][]byte {
	t.Helper()
	var documents [][]byte
	for decoder := yamlv2.NewDecoder(bytes.NewReader(data)); ; {
		var content yamlv2.MapSlice
		err := decoder.Decode(&content)
		if errors.Is(err, io.EOF) {
			return documents
		}
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		document, err := yamlv2.Marshal(content)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		documents = append(documents, document)
	}
}

// manifest reads one document of a file of Manifests; an unknown field fails.
func manifest[T any](t *testing.T, path string, index int) *T {
	t.Helper()
	object := new(T)
	if err := yaml.UnmarshalStrict(documents(t, path)[index], object); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return object
}

func ptr[T any](value T) *T { return &value }

func clientConfig(path string) admissionv1.WebhookClientConfig {
	return admissionv1.WebhookClientConfig{Service: &admissionv1.ServiceReference{
		Name: "gammaguard-webhook", Namespace: "gammaguard-system", Path: &path, Port: ptr[int32](443),
	}}
}

// conditions are tested by what they do, in cel_test.go.
var ignoreConditions = cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".MatchConditions" }, cmp.Ignore())

func webhookRules() []admissionv1.RuleWithOperations {
	return []admissionv1.RuleWithOperations{{
		Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
		Rule: admissionv1.Rule{
			APIGroups:   []string{mesh.GatewayGroup},
			APIVersions: []string{"v1", "v1beta1", "v1alpha3", "v1alpha2"},
			Resources:   resources(mesh.RouteKinds(), ""),
			Scope:       ptr(admissionv1.NamespacedScope),
		},
	}}
}

// updates are the rules of a preview.
func updates(resource string, scope admissionv1.ScopeType, further ...admissionv1.OperationType) []admissionv1.RuleWithOperations {
	return []admissionv1.RuleWithOperations{{
		Operations: append([]admissionv1.OperationType{admissionv1.Update}, further...),
		Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{resource}, Scope: &scope},
	}}
}

func resources(kinds []mesh.RouteKind, subresource string) []string {
	var names []string
	for _, kind := range kinds {
		names = append(names, kind.Resource()+subresource)
	}
	return names
}

// webhookOf returns what all webhooks have, but for what differs.
func webhookOf(name, path string, failure admissionv1.FailurePolicyType) admissionv1.ValidatingWebhook {
	return admissionv1.ValidatingWebhook{
		Name: name, ClientConfig: clientConfig(path), Rules: webhookRules(), FailurePolicy: &failure, MatchPolicy: ptr(admissionv1.Equivalent),
		SideEffects: ptr(admissionv1.SideEffectClassNone), TimeoutSeconds: ptr(int32(1)), AdmissionReviewVersions: []string{"v1"},
	}
}

func TestValidatingWebhook(t *testing.T) {
	labels := webhookOf("labels.gammaguard.dev", "/preview-labels", admissionv1.Ignore)
	labels.Rules = updates("namespaces", admissionv1.ClusterScope)
	services := webhookOf("services.gammaguard.dev", "/preview-services", admissionv1.Ignore)
	services.Rules = updates("services", admissionv1.NamespacedScope, admissionv1.Delete)
	services.Rules[0].Operations = append([]admissionv1.OperationType{admissionv1.Create}, services.Rules[0].Operations...)
	deletions := webhookOf("routes.gammaguard.dev", "/preview-routes", admissionv1.Ignore)
	deletions.Rules[0].Operations = []admissionv1.OperationType{admissionv1.Update, admissionv1.Delete}
	labels.TimeoutSeconds, services.TimeoutSeconds, deletions.TimeoutSeconds = ptr(int32(2)), ptr(int32(2)), ptr(int32(2))
	serving := webhookOf(ServingWebhook, "/serving", admissionv1.Fail)
	serving.Rules = updates("clusterrolebindings", admissionv1.ClusterScope)
	serving.Rules[0].APIGroups = []string{"rbac.authorization.k8s.io"}
	routes := webhookOf("validate.gammaguard.dev", "/validate", admissionv1.Fail)
	routes.Rules = append(routes.Rules, admissionv1.RuleWithOperations{
		Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
		Rule: admissionv1.Rule{
			APIGroups: []string{mesh.LinkerdGroup}, APIVersions: []string{"*"},
			Resources: []string{mesh.LinkerdHTTPRoute.Resource()}, Scope: ptr(admissionv1.NamespacedScope),
		},
	})
	want := []admissionv1.ValidatingWebhook{routes, labels, services, deletions, serving}
	got := manifest[admissionv1.ValidatingWebhookConfiguration](t, "webhook/validating.yaml", 0)
	if diff := cmp.Diff(want, got.Webhooks, ignoreConditions); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMutatingWebhook(t *testing.T) {
	common := webhookOf("mutate.gammaguard.dev", "/mutate", admissionv1.Ignore)
	want := []admissionv1.MutatingWebhook{{
		Name: common.Name, ClientConfig: common.ClientConfig, Rules: common.Rules, FailurePolicy: common.FailurePolicy, MatchPolicy: common.MatchPolicy,
		SideEffects: common.SideEffects, TimeoutSeconds: common.TimeoutSeconds, AdmissionReviewVersions: common.AdmissionReviewVersions,
		ReinvocationPolicy: ptr(admissionv1.IfNeededReinvocationPolicy),
	}}
	got := manifest[admissionv1.MutatingWebhookConfiguration](t, "webhook/mutating.yaml", 0)
	if diff := cmp.Diff(want, got.Webhooks, ignoreConditions); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	validating := manifest[admissionv1.ValidatingWebhookConfiguration](t, "webhook/validating.yaml", 0)
	served := func(c admissionv1.MatchCondition) bool { return c.Name == "has-served" } // it refuses nothing
	conditions := slices.DeleteFunc(slices.Clone(validating.Webhooks[0].MatchConditions), served)
	if diff := cmp.Diff(conditions, got.Webhooks[0].MatchConditions); diff != "" {
		t.Errorf("both webhooks must take the same requests (-validating +mutating):\n%s", diff)
	}
}

// TestKindsAndVersions holds the webhook's resources and versions to those of the
// Gateway API's routes, in both channels.
func TestKindsAndVersions(t *testing.T) {
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/gateway-api").Output()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "config", "crd", "*", "gateway.networking.k8s.io_*routes.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var kinds []mesh.RouteKind
	var versions []string
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var crd struct {
			Spec struct {
				Names    struct{ Kind, Plural string }
				Versions []struct{ Name string }
			}
		}
		if err := yaml.Unmarshal(split(t, file, data)[0], &crd); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		kind := mesh.RouteKind(crd.Spec.Names.Kind)
		if kind.Resource() != crd.Spec.Names.Plural {
			t.Errorf("%s: mesh has resource %q, the Gateway API %q", kind, kind.Resource(), crd.Spec.Names.Plural)
		}
		kinds = append(kinds, kind)
		for _, version := range crd.Spec.Versions {
			versions = append(versions, version.Name)
		}
	}
	sorted := func(names []string) []string { slices.Sort(names); return slices.Compact(names) }
	rule := manifest[admissionv1.ValidatingWebhookConfiguration](t, "webhook/validating.yaml", 0).Webhooks[0].Rules[0]
	if diff := cmp.Diff(sorted(resources(kinds, "")), sorted(rule.Resources)); diff != "" {
		t.Errorf("resources (-Gateway API +webhook):\n%s", diff)
	}
	if diff := cmp.Diff(sorted(versions), sorted(rule.APIVersions)); diff != "" {
		t.Errorf("versions (-Gateway API +webhook):\n%s", diff)
	}
	for _, rule := range rules.Catalog() {
		for _, kind := range rule.Kinds {
			if !slices.Contains(kinds, kind) {
				t.Errorf("rule %s is about %s, which is no route kind of the Gateway API", rule.ID, kind)
			}
		}
	}
}
