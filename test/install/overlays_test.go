package install

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gammaguard/gammaguard/test/background"
	"github.com/gammaguard/gammaguard/test/bed"
)

// folder returns the path of a folder of config/.
func folder(t *testing.T, name string) string {
	t.Helper()
	root, err := bed.Root()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(root, "config", filepath.FromSlash(name))
}

// composed returns a folder that adds all other components to the default, as
// docs/install.md tells users to.
func composed(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	relative, err := filepath.Rel(dir, folder(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	kustomization := strings.ReplaceAll(`
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [CONFIG/default]
components: [CONFIG/components/metrics, CONFIG/components/network-policy, CONFIG/components/client-authentication, CONFIG/components/openreports]
images: [{name: gammaguard-webhook, newName: registry.test/gammaguard-webhook, newTag: v1.2.3}]
`, "CONFIG", filepath.ToSlash(relative))
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(kustomization), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestOverlays(t *testing.T) {
	for _, test := range []struct {
		name, folder string
		image        string
		blocks       bool // mesh routes, when nothing runs any more
	}{
		{"default", folder(t, "default"), "gammaguard-webhook:dev", true},
		{"self-managed", folder(t, "overlays/self-managed"), "gammaguard-webhook:dev", true},
		{"audit-only", folder(t, "overlays/audit-only"), "gammaguard-webhook:dev", false},
		{"gitops", folder(t, "overlays/gitops"), "gammaguard-webhook:dev", true},
		{"composed", composed(t), "registry.test/gammaguard-webhook:v1.2.3", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := admin(t)
			install(t, test.folder)
			before := versions(t)
			if len(before) < 18 {
				t.Errorf("only %d objects are installed", len(before))
			}
			wantRoutes(t, false)
			haveServed(t)
			before = versions(t)
			for line := range strings.Lines(kubectl(t, "apply", "-k", test.folder)) {
				// kubectl sends a budget's selector whether it differs or not.
				if !strings.HasSuffix(strings.TrimSpace(line), " unchanged") && !strings.HasPrefix(line, "poddisruptionbudget") {
					t.Errorf("applied twice: %s", line)
				}
			}
			if diff := cmp.Diff(before, versions(t)); diff != "" {
				t.Errorf("applied twice (-before +after):\n%s", diff)
			}
			wantRestricted(t, c, test.image)
			wantRoutes(t, test.blocks)
			uninstall(t, test.folder)
			if left := versions(t); len(left) > 0 {
				t.Errorf("kubectl delete -k leaves %v", left)
			}
			wantRoutes(t, false)
		})
	}
}

// wantRestricted has the API server judge the Pod by the namespace's Pod Security,
// and one that is not restricted.
func wantRestricted(t *testing.T, c client.Client, image string) {
	t.Helper()
	var deployment appsv1.Deployment
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: system, Name: "gammaguard-webhook"}, &deployment); err != nil {
		t.Fatal(err)
	}
	template := deployment.Spec.Template
	for _, container := range template.Spec.Containers {
		if container.Image != image {
			t.Errorf("container %s: image %s, want %s", container.Name, container.Image, image)
		}
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "probe", Labels: template.Labels}, Spec: template.Spec}
	if err := c.Create(t.Context(), pod.DeepCopy(), client.DryRunAll); err != nil {
		t.Errorf("the Pod is refused: %v", err)
	}
	root := false
	pod.Spec.SecurityContext.RunAsNonRoot = &root
	err := c.Create(t.Context(), pod, client.DryRunAll)
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `violates PodSecurity "restricted:latest"`) {
		t.Errorf("a Pod that may run as root: %v, want that Pod Security refuses it", err)
	}
}

// wantRoutes waits until mesh routes are blocked or not, and wants routes on
// Gateways to pass either way.
func wantRoutes(t *testing.T, blocked bool) {
	t.Helper()
	route := func(parent string) error {
		document := fmt.Sprintf(`{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute,
			metadata: {namespace: default, name: probe}, spec: {parentRefs: [%s]}}`, parent)
		_, stderr, err := plane.Kubectl(t.Context(), document, "create", "--dry-run=server", "-f", "-")
		if err != nil {
			return fmt.Errorf("%w: %s", err, stderr)
		}
		return nil
	}
	background.Eventually(t, func() string {
		err := route(`{group: "", kind: Service, name: probe}`)
		switch {
		case blocked && (err == nil || !strings.Contains(err.Error(), "validate.gammaguard.dev")):
			return fmt.Sprintf("mesh route: %v, want that the webhook blocks it", err)
		case !blocked && err != nil:
			return fmt.Sprintf("mesh route: %v", err)
		}
		return ""
	})
	if err := route(`{name: gateway}`); err != nil {
		t.Errorf("route on a Gateway: %v", err)
	}
}

// versions returns the resource version of each object that is installed, of any
// kind.
func versions(t *testing.T) map[string]string {
	t.Helper()
	kinds := strings.Fields(kubectl(t, "api-resources", "--verbs=list,delete", "-o", "name"))
	table := kubectl(t, "get", strings.Join(kinds, ","), "-A", "-l", "app.kubernetes.io/name=gammaguard", "--ignore-not-found",
		"-o", `go-template={{range .items}}{{.kind}}/{{.metadata.name}} {{.metadata.resourceVersion}}{{"\n"}}{{end}}`)
	all := map[string]string{}
	for line := range strings.Lines(table) {
		object, version, _ := strings.Cut(strings.TrimSpace(line), " ")
		all[object] = version
	}
	return all
}
