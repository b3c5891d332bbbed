// Package install tests what config/ installs against a real API server: that it
// is taken, restricted, and goes without a trace, and that certificates are kept
// with the rights that it gives. Nothing runs in Pods here: test/e2e has that.
package install

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gammaguard/gammaguard/test/bed"
)

const (
	system  = "gammaguard-system"
	account = "system:serviceaccount:gammaguard-system:gammaguard-webhook"
)

var plane *bed.ControlPlane

func TestMain(m *testing.M) {
	os.Exit(bed.Run(setUp{m}, bed.Options{AuditPolicy: auditPolicy}, &plane))
}

const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules: [{level: Metadata}]
`

// setUp installs what the overlays need of a cluster before the tests run.
type setUp struct{ m *testing.M }

// Run implements what bed.Run runs.
func (s setUp) Run() int {
	ctrllog.SetLogger(logr.Discard())
	if err := installDefinitions(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		return 1
	}
	return s.m.Run()
}

// serviceMonitors stands for the definition that the Prometheus operator brings.
const serviceMonitors = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: servicemonitors.monitoring.coreos.com}
spec:
  group: monitoring.coreos.com
  scope: Namespaced
  names: {kind: ServiceMonitor, plural: servicemonitors, singular: servicemonitor, listKind: ServiceMonitorList}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

func installDefinitions(ctx context.Context) error {
	dir, err := bed.ModuleDir(ctx, "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1")
	if err != nil {
		return err
	}
	crds := filepath.Join(dir, "deploy", "crds")
	for _, args := range [][]string{
		{"apply", "--server-side", "-f", crds + "/cert-manager.io_certificates.yaml", "-f", crds + "/cert-manager.io_issuers.yaml"},
		{"apply", "--server-side", "-f", "-"},
		{"wait", "--for=condition=Established", "crd", "--all", "--timeout=60s"},
	} {
		if _, stderr, err := plane.Kubectl(ctx, serviceMonitors, args...); err != nil {
			return fmt.Errorf("%w: %s", err, stderr)
		}
	}
	return nil
}

// admin returns a client that may do all.
func admin(t *testing.T) client.WithWatch {
	t.Helper()
	c, err := plane.Client(gatewayv1.Install, certmanagerv1.AddToScheme)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// kubectl runs kubectl, and fails the test where it fails.
func kubectl(t *testing.T, args ...string) string {
	t.Helper()
	stdout, stderr, err := plane.Kubectl(t.Context(), "", args...)
	if err != nil {
		t.Fatalf("%v:\n%s%s", err, stdout, stderr)
	}
	return stdout
}

// install applies a folder, and uninstalls it at the end of the test.
func install(t *testing.T, folder string) {
	t.Helper()
	t.Cleanup(func() { uninstall(t, folder) })
	kubectl(t, "apply", "-k", folder)
}

// uninstall deletes a folder. No controller ends the namespace here: the test does
// it in its place, after all that is in it is deleted by name.
func uninstall(t *testing.T, folder string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	if _, stderr, err := plane.Kubectl(ctx, "", "delete", "-k", folder, "--wait=false", "--ignore-not-found"); err != nil {
		t.Errorf("%v: %s", err, stderr)
	}
	endNamespace(ctx, t)
}

// endNamespace ends the namespace, which is being deleted, where it is still there.
func endNamespace(ctx context.Context, t *testing.T) {
	t.Helper()
	c := admin(t)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: system}}
	if err := c.Get(ctx, client.ObjectKeyFromObject(namespace), namespace); client.IgnoreNotFound(err) != nil {
		t.Error(err)
	} else if err == nil {
		namespace.Spec.Finalizers = nil
		if err := c.SubResource("finalize").Update(ctx, namespace); err != nil {
			t.Errorf("end namespace %s: %v", system, err)
		}
	}
}
