package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gammaguard/gammaguard/mesh"
)

// TestFailOpen: with the components, the webhook that judges routes fails open, and the API
// server has the policies on grants. No other webhook changes.
func TestFailOpen(t *testing.T) {
	dir, err := os.MkdirTemp(".", "composed-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	for _, source := range []string{"default", "overlays/self-managed"} {
		text := "resources: [../" + source + "]\ncomponents: [../components/policies, ../components/fail-open]\n"
		if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		objects := render(t, dir)
		before := only[*admissionv1.ValidatingWebhookConfiguration](t, render(t, source), "").Webhooks
		for i, webhook := range only[*admissionv1.ValidatingWebhookConfiguration](t, objects, "").Webhooks {
			if want := *before[i].FailurePolicy; *webhook.FailurePolicy != want && webhook.Name != "validate.gammaguard.dev" ||
				webhook.Name == "validate.gammaguard.dev" && *webhook.FailurePolicy != admissionv1.Ignore {
				t.Errorf("%s: failurePolicy of %s is %s", source, webhook.Name, *webhook.FailurePolicy)
			}
		}
		only[*admissionv1.ValidatingAdmissionPolicy](t, objects, "gammaguard-route-grants")
		for _, mode := range append(mesh.Modes(), "unlabeled") {
			only[*admissionv1.ValidatingAdmissionPolicyBinding](t, objects, "gammaguard-route-grants-"+string(mode))
		}
	}
}

// TestOverlayPolicies: grants without a Pod are policies, and the roles of those who grant.
func TestOverlayPolicies(t *testing.T) {
	var kinds []string
	for _, object := range render(t, "overlays/policies") {
		kind := object.GetObjectKind().GroupVersionKind().Kind
		kinds = append(kinds, kind)
		if !slices.Contains([]string{"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "ClusterRole"}, kind) ||
			object.GetLabels()["app.kubernetes.io/name"] != "gammaguard" || strings.Contains(object.GetName(), "service-account") {
			t.Errorf("%s %s with labels %v", kind, client.ObjectKeyFromObject(object), object.GetLabels())
		}
	}
	if len(kinds) != 9 {
		t.Errorf("it has %v", kinds)
	}
}
