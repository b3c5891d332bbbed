package install

import (
	"encoding/base64"
	"fmt"
	"maps"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gammaguard/gammaguard/test/background"
	"github.com/gammaguard/gammaguard/test/selfsigned"
)

// thief is the user agent of who has gammaguard's token and is not gammaguard.
const thief = "thief"

func tokenClient(t *testing.T) client.Client {
	t.Helper()
	config := rest.AnonymousClientConfig(plane.Config)
	config.BearerToken = strings.TrimSpace(kubectl(t, "create", "token", "gammaguard-webhook", "--namespace", system))
	config.UserAgent = thief
	c, err := client.New(config, client.Options{Scheme: admin(t).Scheme(), Mapper: admin(t).RESTMapper()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

type fields = map[string]any

// change is a change of a webhook configuration, which has one webhook.
type change struct {
	name string
	make func(configuration, webhook fields)
}

// changes are of all but the CA bundle.
func changes() []change {
	metadata := func(field string, value any) func(c, _ fields) {
		return func(c, _ fields) { c["metadata"].(fields)[field] = value }
	}
	webhook := func(field string, value any) func(_, w fields) {
		return func(_, w fields) { w[field] = value }
	}
	service := func(field string, value any) func(_, w fields) {
		return func(_, w fields) { w["clientConfig"].(fields)["service"].(fields)[field] = value }
	}
	none := fields{"matchLabels": fields{"no": "namespace"}}
	return []change{
		{"failurePolicy", func(_, w fields) {
			w["failurePolicy"] = map[any]string{"Fail": "Ignore", "Ignore": "Fail"}[w["failurePolicy"]]
		}},
		{"rules", func(_, w fields) { w["rules"].([]any)[0].(fields)["operations"] = []any{"CREATE"} }},
		{"no rules", func(_, w fields) { delete(w, "rules") }},
		{"namespaceSelector", webhook("namespaceSelector", none)},
		{"objectSelector", webhook("objectSelector", none)},
		{"matchPolicy", webhook("matchPolicy", "Exact")},
		{"sideEffects", webhook("sideEffects", "NoneOnDryRun")},
		{"timeoutSeconds", webhook("timeoutSeconds", int64(30))},
		{"admissionReviewVersions", webhook("admissionReviewVersions", []any{"v1", "v1beta1"})},
		{"matchConditions", webhook("matchConditions", []any{fields{"name": "never", "expression": "false"}})},
		{"no matchConditions", func(_, w fields) { delete(w, "matchConditions") }},
		{"the webhook's name", webhook("name", "other.gammaguard.dev")},
		{"service", service("name", "other")},
		{"port", service("port", int64(444))},
		{"path", service("path", "/healthz")},
		{"url", func(_, w fields) { w["clientConfig"] = fields{"url": "https://example.com/"} }},
		{"no webhooks", func(c, _ fields) { delete(c, "webhooks") }},
		{"another webhook", func(c, w fields) {
			other := maps.Clone(w)
			other["name"] = "other.gammaguard.dev"
			c["webhooks"] = append(c["webhooks"].([]any), other)
		}},
		{"labels", metadata("labels", fields{"a": "b"})},
		{"no labels", func(c, _ fields) { delete(c["metadata"].(fields), "labels") }},
		{"annotations", metadata("annotations", fields{"a": "b"})},
		{"finalizers", metadata("finalizers", []any{"a.test/b"})},
		{"ownerReferences", metadata("ownerReferences", []any{fields{"apiVersion": "v1", "kind": "Namespace", "name": system, "uid": "1"}})},
	}
}

func registration(kind string) *unstructured.Unstructured {
	r := &unstructured.Unstructured{}
	r.SetGroupVersionKind(admissionv1.SchemeGroupVersion.WithKind(kind))
	r.SetName("gammaguard")
	return r
}

// TestServiceAccountChangesOnlyCABundles: who has the token of gammaguard's
// ServiceAccount cannot change any other part of the webhook configurations.
func TestServiceAccountChangesOnlyCABundles(t *testing.T) {
	install(t, folder(t, "overlays/self-managed"))
	boss, token := admin(t), tokenClient(t)
	bundle, err := selfsigned.New(host)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"} {
		update := func(c client.Client, change func(configuration, webhook fields), options ...client.UpdateOption) error {
			now := registration(kind)
			if err := boss.Get(t.Context(), client.ObjectKeyFromObject(now), now); err != nil {
				return err
			}
			webhook := now.Object["webhooks"].([]any)[0].(fields)
			webhook["clientConfig"].(fields)["caBundle"] = base64.StdEncoding.EncodeToString(bundle.CA)
			change(now.Object, webhook)
			return c.Update(t.Context(), now, options...)
		}
		refused := func(err error) bool {
			return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "ValidatingAdmissionPolicy 'gammaguard-ca-bundle'")
		}
		// The API server takes up a policy a moment after it is stored.
		background.Eventually(t, func() string {
			if err := update(token, changes()[0].make, client.DryRunAll); !refused(err) {
				return fmt.Sprintf("the policy is not in force: %v", err)
			}
			return ""
		})
		if err := update(token, func(_, _ fields) {}); err != nil {
			t.Errorf("%s: the first CA bundle: %v", kind, err)
		}
		for _, change := range changes() {
			if err := update(token, change.make, client.DryRunAll); !refused(err) {
				t.Errorf("%s: gammaguard changes %s: got %v, want that the policy refuses it", kind, change.name, err)
			}
			if err := update(boss, change.make, client.DryRunAll); err != nil {
				t.Errorf("%s: an administrator changes %s: %v", kind, change.name, err)
			}
		}
		if err := update(token, func(_, w fields) { delete(w["clientConfig"].(fields), "caBundle") }); err != nil {
			t.Errorf("%s: no CA bundle: %v", kind, err)
		}
		for verb, err := range map[string]error{
			"delete": token.Delete(t.Context(), registration(kind)),
			"patch":  token.Patch(t.Context(), registration(kind), client.RawPatch(types.MergePatchType, []byte(`{}`))),
			"create": token.Create(t.Context(), registration(kind)),
		} {
			if want := "cannot " + verb + " resource"; !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %q", kind, err, want)
			}
		}
	}
}
