package install

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gammaguard/gammaguard/test/background"
)

// developer returns a client of a user who may create routes, and nothing else.
func developer(t *testing.T) client.Client {
	t.Helper()
	c := admin(t)
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "developer"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{gatewayv1.GroupName}, Resources: []string{"*"}, Verbs: []string{"*"}}},
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "developer"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "developer"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "developer"}},
	}
	for _, object := range []client.Object{role, binding} {
		if err := c.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := c.Delete(context.WithoutCancel(t.Context()), object); err != nil {
				t.Error(err)
			}
		})
	}
	config := rest.CopyConfig(plane.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: "developer", Groups: []string{"system:authenticated"}}
	config.QPS, config.WarningHandler = -1, rest.NoWarnings{}
	dev, err := client.New(config, client.Options{Scheme: c.Scheme(), Mapper: c.RESTMapper()})
	if err != nil {
		t.Fatal(err)
	}
	background.Eventually(t, func() string {
		route := meshRoute()
		route.Spec.ParentRefs = nil
		if err := dev.Create(t.Context(), route, client.DryRunAll); err != nil {
			return err.Error()
		}
		return ""
	})
	return dev
}

// meshRoute is a route without a grant.
func meshRoute() *gatewayv1.HTTPRoute {
	route := &gatewayv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "unfinished"}}
	route.Spec.ParentRefs = []gatewayv1.ParentReference{{Group: new(gatewayv1.Group), Kind: new(gatewayv1.Kind("Service")), Name: "unfinished"}}
	return route
}

// wantAdmitted wants a mesh route to be admitted.
func wantAdmitted(t *testing.T, c client.Client, when string, args ...any) {
	t.Helper()
	if err := c.Create(t.Context(), meshRoute(), client.DryRunAll); err != nil {
		t.Errorf("%s: a mesh route: %v", fmt.Sprintf(when, args...), err)
	}
}

// kustomized returns what kubectl applies of a folder, in kubectl's order.
func kustomized(t *testing.T, folder string) (all []*unstructured.Unstructured) {
	t.Helper()
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewBufferString(kubectl(t, "kustomize", folder)), 4096)
	for {
		object := &unstructured.Unstructured{}
		switch err := documents.Decode(object); {
		case errors.Is(err, io.EOF):
			return all
		case err != nil:
			t.Fatal(err)
		}
		all = append(all, object)
	}
}

// store applies an object of an installation.
func store(t *testing.T, c client.Client, object *unstructured.Unstructured) error {
	return c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object.DeepCopy()), client.FieldOwner("install"), client.ForceOwnership)
}

func called(object *unstructured.Unstructured) string {
	return object.GetKind() + " " + object.GetName()
}

var canaries int

// awaitRegistrations waits until the API server calls the webhooks that are registered: one
// that is registered after them, for ConfigMaps, refuses.
func awaitRegistrations(t *testing.T, c client.Client) {
	t.Helper()
	canaries++
	name, url, none := fmt.Sprintf("canary-%d.install.test", canaries), "https://127.0.0.1:1/", admissionv1.SideEffectClassNone
	canary := &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: name}, Webhooks: []admissionv1.ValidatingWebhook{{
		Name: name, ClientConfig: admissionv1.WebhookClientConfig{URL: &url}, SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: "default"}},
		Rules: []admissionv1.RuleWithOperations{{
			Operations: []admissionv1.OperationType{admissionv1.Create},
			Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
		}},
	}}}
	if err := c.Create(t.Context(), canary); err != nil {
		t.Fatal(err)
	}
	background.Eventually(t, func() string {
		err := c.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "canary"}}, client.DryRunAll)
		if err == nil || !strings.Contains(err.Error(), name) {
			return fmt.Sprintf("%s is not called: %v", name, err)
		}
		return ""
	})
	if err := c.Delete(t.Context(), canary); err != nil {
		t.Fatal(err)
	}
}

// haveServed has the API server take it that gammaguard has served, as gammaguard does.
func haveServed(t *testing.T) {
	t.Helper()
	kubectl(t, "patch", "clusterrolebinding", "gammaguard-serving", "--type=merge", "-p",
		`{"subjects": [{"kind": "ServiceAccount", "namespace": "gammaguard-system", "name": "gammaguard-webhook"}]}`)
}

// TestUnfinishedInstall stops the installation of each overlay after each object, and has
// each object fail alone: mesh routes are admitted, until gammaguard has served.
func TestUnfinishedInstall(t *testing.T) {
	dev := developer(t)
	for _, overlay := range []string{"default", "overlays/self-managed", "overlays/audit-only", "overlays/gitops"} {
		t.Run(path.Base(overlay), func(t *testing.T) {
			c, objects := admin(t), kustomized(t, folder(t, overlay))
			t.Cleanup(func() { uninstall(t, folder(t, overlay)) })
			withoutNamespace(t, c, objects)
			wantAdmitted(t, dev, "the Namespace fails, and with it what is in it")
			for i, object := range objects {
				if err := store(t, c, object); err != nil {
					t.Fatalf("%s: %v", called(object), err)
				}
				wantAdmitted(t, dev, "stopped after %d of %d objects, the last of them %s", i+1, len(objects), called(object))
			}
			awaitRegistrations(t, c)
			wantAdmitted(t, dev, "all objects, and nobody serves")
			for _, object := range objects {
				if object.GetKind() != "Namespace" {
					withoutObject(t, c, dev, object)
				}
			}
			haveServed(t)
			wantRoutes(t, overlay != "overlays/audit-only")
		})
	}
}

// withoutNamespace applies all objects but the Namespace, as kubectl does: it goes on where
// one fails.
func withoutNamespace(t *testing.T, c client.Client, objects []*unstructured.Unstructured) {
	t.Helper()
	failed := 0
	for _, object := range objects {
		if object.GetKind() != "Namespace" && store(t, c, object) != nil {
			failed++
		}
	}
	if failed < 5 || failed > len(objects)-5 {
		t.Errorf("without the Namespace, %d of %d objects fail", failed, len(objects))
	}
	awaitRegistrations(t, c)
}

// withoutObject wants mesh routes to be admitted while an object of the installation is
// missing.
func withoutObject(t *testing.T, c, dev client.Client, object *unstructured.Unstructured) {
	t.Helper()
	if err := c.Delete(t.Context(), object.DeepCopy()); err != nil {
		t.Fatalf("%s: %v", called(object), err)
	}
	wantAdmitted(t, dev, "%s fails", called(object))
	background.Eventually(t, func() string { // policies are in force on what is applied, for a moment
		if err := store(t, c, object); err != nil {
			return err.Error()
		}
		return ""
	})
	if strings.HasSuffix(object.GetKind(), "WebhookConfiguration") {
		awaitRegistrations(t, c)
		wantAdmitted(t, dev, "%s is there again", called(object))
	}
}

// TestWithoutCertManager installs what needs cert-manager without it: kubectl reports
// that, and mesh routes are admitted.
func TestWithoutCertManager(t *testing.T) {
	dev := developer(t)
	definitions := []string{"certificates.cert-manager.io", "issuers.cert-manager.io"}
	kubectl(t, append([]string{"delete", "crd", "--wait"}, definitions...)...)
	t.Cleanup(func() {
		if err := installDefinitions(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
		uninstall(t, folder(t, "default"))
	})
	background.Eventually(t, func() string { // the API server forgets them a moment later
		_, stderr, err := plane.Kubectl(t.Context(), "", "apply", "-k", folder(t, "default"), "--cache-dir", t.TempDir())
		if err == nil || !strings.Contains(stderr, `no matches for kind "Certificate"`) {
			return fmt.Sprintf("%v %s: want that kubectl misses cert-manager", err, stderr)
		}
		return ""
	})
	awaitRegistrations(t, admin(t))
	wantAdmitted(t, dev, "without cert-manager")
	if missing := kubectl(t, "get", "validatingwebhookconfiguration", "gammaguard", "-o", "name"); missing == "" {
		t.Error("nothing is registered")
	}
}
