package config

import (
	"slices"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"

	"github.com/gammaguard/gammaguard/mesh"
)

// TestOpenShift: the patch of docs/platforms.md leaves the IDs to OpenShift, and nothing
// else of the security context.
func TestOpenShift(t *testing.T) {
	folder := kustomization(t, "resources: [../config/default]\n"+blocks(t, "platforms.md", "## OpenShift")[0])
	security := only[*appsv1.Deployment](t, render(t, folder), "gammaguard-webhook").Spec.Template.Spec.SecurityContext
	if security.RunAsUser != nil || security.RunAsGroup != nil || security.FSGroup != nil || !*security.RunAsNonRoot || security.SeccompProfile == nil {
		t.Errorf("security context: %+v", security)
	}
}

// TestAuditOnlySelfManaged: the kustomization of docs/install.md refuses nothing, by the mode and
// where the webhook is down, without cert-manager.
func TestAuditOnlySelfManaged(t *testing.T) {
	objects := render(t, kustomization(t, blocks(t, "install.md", "## Which overlay")[0]))
	configuration, err := Load([]byte(only[*corev1.ConfigMap](t, objects, "").Data["guard.yaml"]))
	if err != nil || configuration.Mode != mesh.Audit {
		t.Errorf("mode %s, %v", configuration.Mode, err)
	}
	for _, webhook := range only[*admissionv1.ValidatingWebhookConfiguration](t, objects, "").Webhooks {
		if *webhook.FailurePolicy != admissionv1.Ignore && webhook.Name != ServingWebhook { // which sees probes alone
			t.Errorf("%s: failurePolicy %s", webhook.Name, *webhook.FailurePolicy)
		}
	}
	for _, object := range objects {
		if group := object.GetObjectKind().GroupVersionKind().Group; group == "cert-manager.io" {
			t.Errorf("needs cert-manager for %s", object.GetName())
		}
	}
}

// TestPriority: each overlay has the PriorityClass that its Pods name.
func TestPriority(t *testing.T) {
	for _, folder := range overlays {
		objects := render(t, folder)
		name := only[*appsv1.Deployment](t, objects, "gammaguard-webhook").Spec.Template.Spec.PriorityClassName
		if class := only[*schedulingv1.PriorityClass](t, objects, name); class.Value != 1000000000 || class.GlobalDefault {
			t.Errorf("%s: %+v", folder, class)
		}
	}
}

// TestReplicas: each overlay runs two replicas, spread over nodes and zones.
func TestReplicas(t *testing.T) {
	for _, folder := range overlays {
		spec := only[*appsv1.Deployment](t, render(t, folder), "gammaguard-webhook").Spec
		var keys []string
		for _, constraint := range spec.Template.Spec.TopologySpreadConstraints {
			keys = append(keys, constraint.TopologyKey)
		}
		if want := []string{"kubernetes.io/hostname", "topology.kubernetes.io/zone"}; !slices.Equal(keys, want) || *spec.Replicas != 2 {
			t.Errorf("%s: %d replicas, spread over %q", folder, *spec.Replicas, keys)
		}
	}
}
