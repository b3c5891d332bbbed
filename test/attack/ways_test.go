package attack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// A target is what a user writes to: routes of one endpoint in a namespace.
type target struct {
	endpoint
	namespace string
	// routes are the user's, and admin's the administrator's.
	routes, admin dynamic.ResourceInterface
	// name is free for one route, and as a prefix for others.
	name string
	// stored is the route of that name on a Gateway, where the way begins with one.
	stored *unstructured.Unstructured
	// kubectl is the real kubectl as the user. It returns what it complains of.
	kubectl func(ctx context.Context, stdin string, args ...string) string
}

// before is what is stored when a way begins.
type before int

const (
	nothing before = iota
	onGateway
	deleted // a route on a Gateway that is being deleted and has a finalizer
)

// finalizer keeps a deleted route.
const finalizer = "example.com/wait"

// A way is a way to write a route with a parent.
type way struct {
	name   string
	before before
	// ineffective says that the API server takes the request and leaves the spec as it is.
	ineffective bool
	write       func(ctx context.Context, t *target, name string, p parent) error
	// together writes several routes at once, in place of write.
	together func(ctx context.Context, t *target, names []string, parents []parent) []error
}

// ways are all ways to write a route.
var ways = []way{
	{name: "create", write: create},
	{name: "create with generateName", write: func(ctx context.Context, t *target, name string, p parent) error {
		route := t.route(t.namespace, "", p)
		route.SetGenerateName(name + "-")
		_, err := t.routes.Create(ctx, route, metav1.CreateOptions{})
		return err
	}},
	{name: "create with a deletion timestamp", write: func(ctx context.Context, t *target, name string, p parent) error {
		route := t.route(t.namespace, name, p)
		route.SetDeletionTimestamp(&metav1.Time{Time: time.Unix(1<<30, 0)}) // which only the API server may set
		_, err := t.routes.Create(ctx, route, metav1.CreateOptions{})
		return err
	}},
	{name: "create by server-side apply", write: apply},
	{name: "create by kubectl apply", together: kubectlApply},
	{name: "delete collection, and create again", write: func(ctx context.Context, t *target, name string, p parent) error {
		route := t.route(t.namespace, name, gatewayParent())
		route.SetLabels(map[string]string{"again": name})
		if _, err := t.routes.Create(ctx, route, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("a route on a Gateway: %w", err)
		}
		if err := t.routes.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "again=" + name}); err != nil {
			return err
		}
		return create(ctx, t, name, p)
	}},
	{name: "update", before: onGateway, write: update},
	{name: "JSON patch", before: onGateway, write: jsonPatch},
	{name: "merge patch", before: onGateway, write: mergePatch},
	{name: "server-side apply by a second manager, with force", before: onGateway, write: apply},
	{name: "update of the status subresource", before: onGateway, ineffective: true, write: func(ctx context.Context, t *target, _ string, p parent) error {
		_, err := t.routes.UpdateStatus(ctx, t.changed(p), metav1.UpdateOptions{})
		return err
	}},
	{name: "merge patch of the status subresource", before: onGateway, ineffective: true, write: func(ctx context.Context, t *target, name string, p parent) error {
		return patch(ctx, t, name, types.MergePatchType, object{"spec": object{"parentRefs": []any{p}}}, "status")
	}},
	{name: "JSON patch of the status subresource", before: onGateway, ineffective: true, write: func(ctx context.Context, t *target, name string, p parent) error {
		return patch(ctx, t, name, types.JSONPatchType, appended(p), "status")
	}},
	{name: "server-side apply of the status subresource", before: onGateway, ineffective: true, write: func(ctx context.Context, t *target, name string, p parent) error {
		_, err := t.routes.ApplyStatus(ctx, name, t.route(t.namespace, name, p), metav1.ApplyOptions{FieldManager: "second", Force: true})
		return err
	}},
	{name: "update while deleted", before: deleted, write: update},
	{name: "JSON patch while deleted", before: deleted, write: jsonPatch},
	{name: "merge patch while deleted", before: deleted, write: mergePatch},
	{name: "server-side apply while deleted", before: deleted, write: apply},
}

func create(ctx context.Context, t *target, name string, p parent) error {
	_, err := t.routes.Create(ctx, t.route(t.namespace, name, p), metav1.CreateOptions{})
	return err
}

func apply(ctx context.Context, t *target, name string, p parent) error {
	_, err := t.routes.Apply(ctx, name, t.route(t.namespace, name, p), metav1.ApplyOptions{FieldManager: "second", Force: true})
	return err
}

// changed is what is stored, with another parent besides its Gateway.
func (t *target) changed(p parent) *unstructured.Unstructured {
	route := t.stored.DeepCopy()
	setParents(route, gatewayParent(), p)
	return route
}

func update(ctx context.Context, t *target, _ string, p parent) error {
	_, err := t.routes.Update(ctx, t.changed(p), metav1.UpdateOptions{})
	return err
}

func jsonPatch(ctx context.Context, t *target, name string, p parent) error {
	return patch(ctx, t, name, types.JSONPatchType, appended(p))
}

// appended is a JSON patch that adds the parent to the others.
func appended(p parent) []any {
	return []any{object{"op": "add", "path": "/spec/parentRefs/-", "value": p}}
}

func mergePatch(ctx context.Context, t *target, name string, p parent) error {
	return patch(ctx, t, name, types.MergePatchType, object{"spec": object{"parentRefs": []any{p}}})
}

func patch(ctx context.Context, t *target, name string, how types.PatchType, what any, subresources ...string) error {
	body, err := json.Marshal(what)
	if err != nil {
		return err
	}
	_, err = t.routes.Patch(ctx, name, how, body, metav1.PatchOptions{}, subresources...)
	return err
}

// kubectlApply applies all routes in one call, and finds out by its complaints which
// are refused.
func kubectlApply(ctx context.Context, t *target, names []string, parents []parent) []error {
	errs := make([]error, len(parents))
	manifest := object{"apiVersion": "v1", "kind": "List"}
	var items []any
	for i, p := range parents {
		items = append(items, t.route(t.namespace, names[i], p).Object)
	}
	manifest["items"] = items
	body, err := json.Marshal(manifest)
	if err != nil {
		return append(errs[:0], err)
	}
	complaints := t.kubectl(ctx, string(body), "apply", "-f", "-")
	for line := range strings.Lines(complaints) {
		for i, name := range names {
			if strings.Contains(line, strconv.Quote(name)+" is ") {
				errs[i] = errors.New(line)
			}
		}
	}
	return errs
}
