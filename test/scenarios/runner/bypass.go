package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/test/bed/guard"
	"github.com/gammaguard/gammaguard/test/selfsigned"
)

// cluster is the user who creates the objects of cluster.yaml. The webhooks and
// policies of gammaguard, as they are registered here, are not for it.
const cluster = "scenario:cluster"

// owner marks what the runner sets in others' objects.
const owner = client.FieldOwner("scenarios")

// effectTimeout bounds how long the API server may take to act on what was
// registered.
const effectTimeout = 60 * time.Second

// deadURL is where nobody serves: a webhook there fails at once.
const deadURL = "https://127.0.0.1:1"

// passThrough adds to gammaguard's webhooks and policies a match condition that
// leaves out the user cluster, and waits until it acts on all of them. It outlives
// later registrations, which are applied by another owner.
func (d *APIServer) passThrough(ctx context.Context) error {
	bundle, err := selfsigned.New("127.0.0.1")
	if err != nil {
		return err
	}
	if err := guard.Register(ctx, d.plane, deadURL, bundle.CA); err != nil {
		return err
	}
	// A mutating webhook that fails is ignored. For this once it is not, so that
	// one can see whether it is called.
	if err := d.condition(ctx, map[string]any{"failurePolicy": "Fail"}); err != nil {
		return err
	}
	route := misfit()
	namespace := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace",
		"metadata": map[string]any{"name": "scenario-probe", "labels": map[string]any{mesh.GrantLabel: "unheard-of"}},
	}}
	for _, probe := range []*unstructured.Unstructured{route, namespace} {
		var last error
		err := poll(ctx, effectTimeout, func(ctx context.Context) (bool, error) {
			last = d.client.Create(ctx, probe.DeepCopy(), client.DryRunAll)
			return last == nil, nil
		})
		if err != nil {
			return fmt.Errorf("%w: %w", err, last)
		}
	}
	return d.condition(ctx, nil)
}

// condition adds the match condition, and to each webhook the given fields.
func (d *APIServer) condition(ctx context.Context, fields map[string]any) error {
	condition := []any{map[string]any{
		"name": "not-the-scenario-cluster", "expression": fmt.Sprintf("request.userInfo.username != %q", cluster),
	}}
	for _, folder := range []string{"webhook", "policy"} {
		objects, err := guard.Manifests(folder)
		if err != nil {
			return err
		}
		for _, object := range objects {
			patch := map[string]any{
				"apiVersion": object.GetAPIVersion(), "kind": object.GetKind(), "metadata": map[string]any{"name": object.GetName()},
			}
			webhooks, _, err := unstructured.NestedSlice(object.Object, "webhooks")
			switch {
			case err != nil:
				return err
			case len(webhooks) > 0:
				var conditioned []any
				for _, w := range webhooks {
					webhook, _ := w.(map[string]any)
					with := map[string]any{"name": webhook["name"], "matchConditions": condition}
					for key, value := range fields {
						with[key] = value
					}
					conditioned = append(conditioned, with)
				}
				patch["webhooks"] = conditioned
			case object.GetKind() == "ValidatingAdmissionPolicy":
				patch["spec"] = map[string]any{"matchConditions": condition}
			default:
				continue
			}
			if err := d.force(ctx, patch); err != nil {
				return fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
			}
		}
	}
	return nil
}

// force applies the object server-side.
func (d *APIServer) force(ctx context.Context, object map[string]any) error {
	text, err := json.Marshal(object)
	if err != nil {
		return err
	}
	return d.client.Patch(ctx, &unstructured.Unstructured{Object: object}, client.RawPatch(types.ApplyPatchType, text), owner, client.ForceOwnership)
}

// misfit returns a route that gammaguard is asked about, whatever it then says.
func misfit() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": mesh.GatewayGroup + "/v1", "kind": "HTTPRoute",
		"metadata": map[string]any{"namespace": "default", "name": "scenario-probe"},
		"spec":     map[string]any{"parentRefs": []any{map[string]any{"group": "", "kind": "Service", "name": "scenario-probe"}}},
	}}
}

// reached waits until the API server calls both webhooks of the running process.
// What they answer does not matter.
func (d *APIServer) reached(ctx context.Context) error {
	admin, err := client.New(d.plane.Config, client.Options{})
	if err != nil {
		return err
	}
	var answered error
	err = poll(ctx, effectTimeout, func(ctx context.Context) (bool, error) {
		answered = admin.Create(ctx, misfit(), client.DryRunAll)
		metrics, err := get(ctx, d.running.MetricsURL)
		if err != nil {
			return false, err
		}
		return called(metrics, "mutate") && called(metrics, "validate"), nil
	})
	if err != nil {
		return fmt.Errorf("wait until gammaguard is asked: %w: %w", err, answered)
	}
	return nil
}

// called says whether the metrics count a request to the webhook.
func called(metrics, webhook string) bool {
	series := regexp.MustCompile(`(?m)^gammaguard_webhook_duration_seconds_count\{webhook="` + webhook + `"\} [1-9]`)
	return series.MatchString(metrics)
}

func get(ctx context.Context, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	body, err := io.ReadAll(response.Body)
	return string(body), errors.Join(err, response.Body.Close())
}

// letUsersIn gives every user who is authenticated the rights that the scenarios
// take for granted: routes and what they refer to, and namespaces, but not the
// grants of mesh admins.
func (d *APIServer) letUsersIn(ctx context.Context) error {
	const name = "scenario-users"
	role := &rbacv1.ClusterRole{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{mesh.GatewayGroup, mesh.MulticlusterGroup, "discovery.k8s.io"}, Resources: []string{"*"}, Verbs: []string{"*"}},
			{APIGroups: []string{""}, Resources: []string{"services", "namespaces", "namespaces/status", "namespaces/finalize"}, Verbs: []string{"*"}},
		},
	}
	binding := &rbacv1.ClusterRoleBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRoleBinding"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "system:authenticated"}},
	}
	for _, object := range []any{role, binding} {
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		if err != nil {
			return err
		}
		if err := d.force(ctx, fields); err != nil {
			return err
		}
	}
	return nil
}
