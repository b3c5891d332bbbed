package install

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/test/background"
	webhook "github.com/gammaguard/gammaguard/test/bed/guard"
)

// TestServes: gammaguard notes that it has served when an API server has reached it, and
// not before: not while it runs and nobody can reach it, or trusts it.
func TestServes(t *testing.T) {
	dev, c := developer(t), admin(t)
	install(t, folder(t, "default"))
	g, err := webhook.Start(t.Context(), plane, webhook.Options{Unregistered: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Kill(); err != nil {
			t.Error(err)
		}
	})
	wantReason := func(reason string) {
		t.Helper()
		background.Eventually(t, func() string {
			if _, reported, _ := strings.Cut(g.Log(), "admit all routes"); !strings.Contains(reported, reason) {
				return "the log does not say " + reason + ":\n" + g.Log()
			}
			return ""
		})
		wantAdmitted(t, dev, "%s", reason)
	}
	wantReason("failed calling webhook") // the Service has no Pods
	pointTo(t, c, g.URL, plane.Config.CAData)
	wantReason("certificate signed by unknown authority")

	if err := g.Register(t.Context(), plane); err != nil {
		t.Fatal(err)
	}
	wantServed := func(when string) {
		t.Helper()
		background.Eventually(t, func() string {
			err := dev.Create(t.Context(), meshRoute(), client.DryRunAll)
			if err == nil || !strings.Contains(err.Error(), "(grant-missing)") {
				return fmt.Sprintf("%s: got %v, want that gammaguard denies the route", when, err)
			}
			return ""
		})
	}
	wantServed("registered")
	applyAgain(t, c)
	wantServed("applied again")
	applySubjects(t, c)
	wantServed("after somebody applied subjects, and then the manifest without")
	if err := g.Kill(); err != nil {
		t.Fatal(err)
	}
	wantRoutes(t, true)
}

// pointTo has the API server call the validating webhooks at a URL, and trust a CA.
func pointTo(t *testing.T, c client.Client, url string, ca []byte) {
	t.Helper()
	registration := &admissionv1.ValidatingWebhookConfiguration{}
	if err := c.Get(t.Context(), client.ObjectKey{Name: "gammaguard"}, registration); err != nil {
		t.Fatal(err)
	}
	for i := range registration.Webhooks {
		config := &registration.Webhooks[i].ClientConfig
		at := url + *config.Service.Path
		*config = admissionv1.WebhookClientConfig{URL: &at, CABundle: ca}
	}
	if err := c.Update(t.Context(), registration); err != nil {
		t.Fatal(err)
	}
}

// applyAgain applies the binding again as kubectl and Flux do.
func applyAgain(t *testing.T, c client.Client) {
	t.Helper()
	manifest := servingBinding(t)
	for _, how := range []string{"", "--server-side --force-conflicts --field-manager=kustomize-controller"} {
		applyBinding(t, manifest, how)
		binding := &rbacv1.ClusterRoleBinding{}
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(manifest), binding); err != nil || len(binding.Subjects) != 1 {
			t.Errorf("after apply %s: %v, %v", how, binding.Subjects, err)
		}
	}
}

// applySubjects applies the binding with a subject, and then as it is in the manifests, which
// removes the subject. It waits until gammaguard has added itself again.
func applySubjects(t *testing.T, c client.Client) {
	t.Helper()
	manifest := servingBinding(t)
	with := manifest.DeepCopy()
	with.Object["subjects"] = []any{map[string]any{"kind": "ServiceAccount", "namespace": system, "name": "gammaguard-webhook"}}
	applyBinding(t, with, "")
	if left := applyBinding(t, manifest, ""); left != "" {
		t.Errorf("the manifest without subjects leaves %s", left)
	}
	background.Eventually(t, func() string {
		binding := &rbacv1.ClusterRoleBinding{}
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(manifest), binding); err != nil || len(binding.Subjects) != 1 {
			return fmt.Sprintf("gammaguard has not added itself again: %v, %v", binding.Subjects, err)
		}
		return ""
	})
}

// servingBinding returns the binding as the manifests have it.
func servingBinding(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	all := kustomized(t, folder(t, "default"))
	i := slices.IndexFunc(all, func(o *unstructured.Unstructured) bool {
		return o.GetKind() == "ClusterRoleBinding" && o.GetName() == config.ServingBinding
	})
	if i < 0 {
		t.Fatal("the manifests have no such binding")
	}
	return all[i]
}

// applyBinding applies the binding with these arguments, and returns the subjects then.
func applyBinding(t *testing.T, binding *unstructured.Unstructured, arguments string) string {
	t.Helper()
	text, err := binding.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	args := append([]string{"apply", "-f", "-", "-o", "jsonpath={.subjects}"}, strings.Fields(arguments)...)
	stdout, stderr, err := plane.Kubectl(t.Context(), string(text), args...)
	if err != nil {
		t.Errorf("%v: %s", err, stderr)
	}
	return stdout
}
