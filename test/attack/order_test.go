package attack

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/retry"

	"github.com/gammaguard/gammaguard/test/background"
)

var dryRun = metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}

// onCart is the parent that a granted user writes.
func onCart() parent {
	return parent{"group": "", "kind": "Service", "name": "cart", "port": int64(80)}
}

// awaitRefusal waits until a new route on the parent is refused by the rule, since a
// replica learns of a change a moment after it is stored.
func awaitRefusal(t *testing.T, user dynamic.Interface, namespace string, parent parent, rule string) {
	t.Helper()
	background.Eventually(t, func() string {
		_, err := user.Resource(httpRoutes).Namespace(namespace).Create(t.Context(), http.route(namespace, "probe", parent), dryRun)
		if err == nil || !strings.Contains(err.Error(), "("+rule+")") {
			return fmt.Sprintf("a route is not refused by %s: %v", rule, err)
		}
		return ""
	})
}

// TestGrantWithdrawn: without the grant that a stored route had, edits that keep its
// spec pass, in any version, and all others are refused.
func TestGrantWithdrawn(t *testing.T) {
	s := start(t)
	user := s.tenant(t)
	s.namespace(t, "withdrawn", "all")
	routes := user.Resource(httpRoutes).Namespace("withdrawn")
	ctx := t.Context()
	if _, err := routes.Create(ctx, http.route("withdrawn", "cart", onCart()), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.grant(t, "withdrawn", "none")
	awaitRefusal(t, user, "withdrawn", onCart(), "grant-missing")

	// The status is written beside these changes, when it is marked.
	write := func(change func(*unstructured.Unstructured)) error {
		return retry.RetryOnConflict(retry.DefaultRetry, func() error {
			route, err := routes.Get(ctx, "cart", metav1.GetOptions{})
			if err != nil {
				return err
			}
			change(route)
			_, err = routes.Update(ctx, route, metav1.UpdateOptions{})
			return err
		})
	}
	patched := func(how types.PatchType, patch string) error {
		_, err := routes.Patch(ctx, "cart", how, []byte(patch), metav1.PatchOptions{})
		return err
	}
	applied := func(version string, change func(spec object)) error {
		route := endpoint{"HTTPRoute", version}.route("withdrawn", "cart", onCart())
		change(route.Object["spec"].(object))
		options := metav1.ApplyOptions{FieldManager: "second", Force: true}
		_, err := user.Resource(endpoint{"HTTPRoute", version}.resource()).Namespace("withdrawn").Apply(ctx, "cart", route, options)
		return err
	}
	for name, err := range map[string]error{
		"a label by update":      write(func(r *unstructured.Unstructured) { r.SetLabels(map[string]string{"a": "b"}) }),
		"a label by merge patch": patched(types.MergePatchType, `{"metadata": {"labels": {"a": "c"}}}`),
		"a finalizer":            patched(types.JSONPatchType, `[{"op": "add", "path": "/metadata/finalizers", "value": ["example.com/wait"]}]`),
		"the same spec, by another manager, in an older version": applied("v1beta1", func(object) {}),
		"the same spec, by another manager":                      applied("v1", func(object) {}),
		"a group that means the same":                            patched(types.JSONPatchType, `[{"op": "replace", "path": "/spec/parentRefs/0/group", "value": "core"}]`),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, err := range map[string]error{
		"another port by update": write(func(r *unstructured.Unstructured) {
			p := onCart()
			delete(p, "port")
			setParents(r, p)
		}),
		"one more parent":             write(func(r *unstructured.Unstructured) { setParents(r, onCart(), gatewayParent()) }),
		"other hostnames":             patched(types.MergePatchType, `{"spec": {"hostnames": ["example.com"]}}`),
		"other rules":                 patched(types.MergePatchType, `{"spec": {"rules": [{}]}}`),
		"other rules, and a label":    applied("v1", func(spec object) { spec["rules"] = []any{object{}} }),
		"in an older version":         applied("v1beta1", func(spec object) { spec["hostnames"] = []any{"example.com"} }),
		"without a grant, once again": patched(types.JSONPatchType, `[{"op": "remove", "path": "/spec/rules"}]`),
	} {
		if err == nil || !strings.Contains(err.Error(), "(grant-missing)") {
			t.Errorf("%s: got %v, want that the grant is missing", name, err)
		}
	}
	if err := patched(types.MergePatchType, `{"spec": {"parentRefs": [{"name": "gateway"}]}}`); err != nil {
		t.Errorf("the route goes to a Gateway: %v", err)
	}
	if err := patched(types.MergePatchType, mustJSON(t, object{"spec": object{"parentRefs": []any{onCart()}}})); err == nil {
		t.Error("the route came back from its Gateway")
	}
	s.wantNoMeshRoute(t, "withdrawn")
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestNamespaceAgain deletes a granted namespace, and creates one of the same name
// without a grant: routes that were in it are gone, and new ones are refused.
func TestNamespaceAgain(t *testing.T) {
	s := start(t)
	user := s.tenant(t)
	const name = "again"
	s.namespace(t, name, "all")
	if _, err := user.Resource(httpRoutes).Namespace(name).Create(t.Context(), http.route(name, "cart", onCart()), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.removeNamespace(t, name)
	s.apply(t, namespaces, "", object{"apiVersion": "v1", "kind": "Namespace", "metadata": object{"name": name}})
	awaitRefusal(t, user, name, onCart(), "grant-missing")
	s.wantNoMeshRoute(t, name)
}

// removeNamespace does what the namespace controller does, which does not run here.
func (s *site) removeNamespace(t *testing.T, name string) {
	t.Helper()
	ctx := t.Context()
	all := s.admin.Resource(namespaces)
	for _, resource := range []dynamic.ResourceInterface{s.admin.Resource(httpRoutes).Namespace(name), s.admin.Resource(services).Namespace(name)} {
		items, err := resource.List(ctx, metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range items.Items {
			if err := resource.Delete(ctx, item.GetName(), metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := all.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	going, err := all.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	going.Object["spec"] = object{}
	if _, err := all.Update(ctx, going, metav1.UpdateOptions{}, "finalize"); err != nil {
		t.Fatal(err)
	}
}

// TestServiceAgain deletes a Service that routes are attached to, and creates it again
// in other shapes: new routes are judged by what is there now.
func TestServiceAgain(t *testing.T) {
	s := start(t)
	user := s.tenant(t)
	const name = "service-again"
	s.namespace(t, name, "all")
	routes := user.Resource(httpRoutes).Namespace(name)
	stored, err := routes.Create(t.Context(), http.route(name, "cart", onCart()), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, shape := range []struct {
		rule string
		spec object
	}{
		{"parent-headless", object{"clusterIP": "None", "ports": []any{object{"port": int64(80)}}}},
		{"parent-external-name", object{"type": "ExternalName", "externalName": "example.com"}},
		{"parent-port-not-found", object{"ports": []any{object{"port": int64(81)}}}},
		{"parent-protocol-mismatch", object{"ports": []any{object{"port": int64(80), "protocol": "UDP"}}}},
	} {
		if err := s.admin.Resource(services).Namespace(name).Delete(t.Context(), "cart", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		s.service(t, name, "cart", shape.spec)
		awaitRefusal(t, user, name, onCart(), shape.rule)
		awaitReason(t, s.admin, stored, "NoMatchingParent")
	}
}

// awaitReason waits until the status of a stored route has the reason, or has no entry
// where there is none.
func awaitReason(t *testing.T, admin dynamic.Interface, route *unstructured.Unstructured, reason string) {
	t.Helper()
	background.Eventually(t, func() string {
		now, err := admin.Resource(httpRoutes).Namespace(route.GetNamespace()).Get(context.WithoutCancel(t.Context()), route.GetName(), metav1.GetOptions{})
		if err != nil {
			return err.Error()
		}
		parents, _, _ := unstructured.NestedSlice(now.Object, "status", "parents")
		if status := fmt.Sprint(parents); !strings.Contains(status, reason) || reason == "" && len(parents) > 0 {
			return fmt.Sprintf("status is %s, want reason %q", status, reason)
		}
		return ""
	})
}
