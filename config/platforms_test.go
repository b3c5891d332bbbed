package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
)

// TestOpenShift: the patch of docs/platforms.md leaves the IDs to OpenShift, and nothing
// else of the security context.
func TestOpenShift(t *testing.T) {
	page, err := os.ReadFile("../docs/platforms.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "## OpenShift\n")
	_, rest, _ = strings.Cut(rest, "```yaml\n")
	patches, _, _ := strings.Cut(rest, "```")
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	here, err := filepath.Abs("default")
	if err != nil {
		t.Fatal(err)
	}
	base, err := filepath.Rel(folder, here)
	if err != nil {
		t.Fatal(err)
	}
	text := "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [" + base + "]\n" + patches
	if err := os.WriteFile(filepath.Join(folder, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	security := only[*appsv1.Deployment](t, render(t, folder), "gammaguard-webhook").Spec.Template.Spec.SecurityContext
	if security.RunAsUser != nil || security.RunAsGroup != nil || security.FSGroup != nil || !*security.RunAsNonRoot || security.SeccompProfile == nil {
		t.Errorf("security context: %+v", security)
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
