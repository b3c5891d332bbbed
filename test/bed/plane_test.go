package bed_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gammaguard/gammaguard/test/bed"
)

var plane *bed.ControlPlane

const auditPolicy = `
apiVersion: audit.k8s.io/v1
kind: Policy
rules:
- level: Metadata
  verbs: [create]
  resources: [{group: gateway.networking.k8s.io, resources: [httproutes]}]
`

func TestMain(m *testing.M) {
	os.Exit(bed.Run(m, bed.Options{MultiCluster: true, AuditPolicy: auditPolicy}, &plane))
}

// scheme knows what the tests create.
func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, gatewayv1.Install} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func TestServiceAndRoute(t *testing.T) {
	c, err := client.New(plane.Config, client.Options{Scheme: scheme(t)})
	if err != nil {
		t.Fatal(err)
	}
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "cart"},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}}},
	}
	if err := c.Create(t.Context(), service); err != nil {
		t.Fatal(err)
	}
	if got, want := service.Spec.ClusterIP, "10.96."; !strings.HasPrefix(got, want) {
		t.Errorf("clusterIP %s is not in %s", got, bed.ServiceCIDR)
	}
	group, kind := gatewayv1.Group(""), gatewayv1.Kind("Service")
	route := &gatewayv1.HTTPRoute{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "cart"},
		Spec: gatewayv1.HTTPRouteSpec{CommonRouteSpec: gatewayv1.CommonRouteSpec{
			ParentRefs: []gatewayv1.ParentReference{{Group: &group, Kind: &kind, Name: "cart"}},
		}},
	}
	if err := c.Create(t.Context(), route); err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(plane.AuditLog)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(log), `"resource":"httproutes"`) {
		t.Errorf("the audit log lacks the request:\n%s", log)
	}
}

func TestUserHasNoRights(t *testing.T) {
	config, err := plane.User("dev", "developers")
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(config, client.Options{Scheme: scheme(t)})
	if err != nil {
		t.Fatal(err)
	}
	err = c.List(t.Context(), &corev1.ServiceList{}, client.InNamespace("default"))
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `User "dev"`) {
		t.Errorf("list Services as dev: got %v, want a refusal by RBAC that names the user", err)
	}
}

func TestServiceAccountKubeconfig(t *testing.T) {
	const account = `{apiVersion: v1, kind: ServiceAccount, metadata: {namespace: default, name: dev}}`
	if _, stderr, err := plane.Kubectl(t.Context(), account, "create", "-f", "-"); err != nil {
		t.Fatal(err, stderr)
	}
	path, err := plane.ServiceAccountKubeconfig(t.Context(), "default", "dev")
	if err != nil {
		t.Fatal(err)
	}
	out, stderr, err := plane.Kubectl(t.Context(), "", "--kubeconfig", path, "auth", "whoami", "-o", "jsonpath={.status.userInfo.username} {.status.userInfo.groups}")
	if want := `system:serviceaccount:default:dev ["system:serviceaccounts","system:serviceaccounts:default","system:authenticated"]`; err != nil || out != want {
		t.Errorf("got %s, want %s (%s %v)", out, want, stderr, err)
	}
}

func TestKubectl(t *testing.T) {
	version, err := os.ReadFile("../controlplane/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	out, stderr, err := plane.Kubectl(t.Context(), "", "version")
	if err != nil {
		t.Fatal(err, stderr)
	}
	for _, line := range strings.Split(strings.TrimSpace(out), "\n") {
		name, v, _ := strings.Cut(line, " Version: ")
		if name != "Kustomize" && !strings.Contains(string(version), "k8s.io/kubernetes "+v+"\n") {
			t.Errorf("%s: not the version that test/controlplane/go.mod requires", line)
		}
	}
	const namespace = `{apiVersion: v1, kind: Namespace, metadata: {name: shop}}`
	if out, stderr, err = plane.Kubectl(t.Context(), namespace, "apply", "-f", "-"); err != nil || out != "namespace/shop created\n" {
		t.Errorf("kubectl apply: %q %q %v", out, stderr, err)
	}
	_, stderr, err = plane.Kubectl(t.Context(), "", "get", "serviceimports", "-n", "shop", "cart")
	if exit := new(exec.ExitError); !errors.As(err, &exit) || !strings.Contains(stderr, "not found") {
		t.Errorf("kubectl get of what is not there: %q %v", stderr, err)
	}
}

func TestKubeconfigIsPrivate(t *testing.T) {
	info, err := os.Stat(plane.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm(); got != 0o600 {
		t.Errorf("%s has mode %o, want 600", filepath.Base(plane.Kubeconfig), got)
	}
}

// TestStop starts a second control plane beside the first, as packages that are
// tested at once do, and stops it.
func TestStop(t *testing.T) {
	second, err := bed.Start(t.Context(), bed.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(second.Config, client.Options{Scheme: scheme(t)})
	if err != nil {
		t.Fatal(errors.Join(err, second.Stop()))
	}
	if err := errors.Join(second.Stop(), second.Stop()); err != nil {
		t.Error(err)
	}
	if err := c.List(t.Context(), &corev1.ServiceList{}); err == nil {
		t.Error("the API server still answers")
	}
	if _, err := os.Stat(filepath.Dir(second.Kubeconfig)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder of the kubeconfig is still there: %v", err)
	}
}
