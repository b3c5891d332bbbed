package install

import (
	"fmt"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
	kubectl(t, "patch", "clusterrolebinding", "gammaguard-serving", "--type=merge", "-p", `{"subjects": null}`)
	wantServed("after somebody removed the subject")
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
	for _, object := range kustomized(t, folder(t, "default")) {
		if object.GetKind() != "ClusterRoleBinding" || object.GetName() != "gammaguard-serving" {
			continue
		}
		text, err := object.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		for _, how := range []string{"apply -f -", "apply --server-side --force-conflicts --field-manager=kustomize-controller -f -"} {
			if _, stderr, err := plane.Kubectl(t.Context(), string(text), strings.Fields(how)...); err != nil {
				t.Errorf("%v: %s", err, stderr)
			}
			binding := &rbacv1.ClusterRoleBinding{}
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(object), binding); err != nil || len(binding.Subjects) != 1 {
				t.Errorf("after %s: %v, %v", how, binding.Subjects, err)
			}
		}
	}
}
