package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/client-go/tools/pager"
	"k8s.io/client-go/util/retry"

	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/mesh"
)

// MarkedRoute is a route with entries in status.parents that gammaguard wrote.
type MarkedRoute struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Entries is how many of its entries gammaguard wrote.
	Entries int `json:"entries"`

	resource schema.GroupVersionResource
}

// MarkedRoutes returns the routes of the namespace, or of all if it is empty, with
// entries of these controllers in status.parents.
func (c *Cluster) MarkedRoutes(ctx context.Context, namespace string, controllers []string) ([]MarkedRoute, error) {
	var marked []MarkedRoute
	err := c.eachRoute(ctx, namespace, func(resource schema.GroupVersionResource, route *unstructured.Unstructured) error {
		_, removed := without(route, controllers)
		if removed > 0 {
			marked = append(marked, MarkedRoute{route.GetKind(), route.GetNamespace(), route.GetName(), removed, resource})
		}
		return nil
	})
	return marked, err
}

// ClearStatus removes the entries of these controllers from the route's status, and
// leaves all others. A route that is gone is not an error.
func (c *Cluster) ClearStatus(ctx context.Context, route *MarkedRoute, controllers []string) error {
	client := c.objects.Resource(route.resource).Namespace(route.Namespace)
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		stored, err := client.Get(ctx, route.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		parents, removed := without(stored, controllers)
		if removed == 0 {
			return nil
		}
		patch, err := json.Marshal(map[string]any{
			"metadata": map[string]any{"resourceVersion": stored.GetResourceVersion()},
			"status":   map[string]any{"parents": parents},
		})
		if err != nil {
			return err
		}
		_, err = client.Patch(ctx, route.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "gammaguard"}, "status")
		return err
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("status of %s %s/%s: %w", route.Kind, route.Namespace, route.Name, err)
	}
	return nil
}

// without returns the route's status.parents without the entries of the controllers,
// and how many these are.
func without(route *unstructured.Unstructured, controllers []string) (parents []any, removed int) {
	all, _, _ := unstructured.NestedSlice(route.Object, "status", "parents") // none where it is not a list
	parents = slices.DeleteFunc(slices.Clone(all), func(entry any) bool {
		fields, _ := entry.(map[string]any)
		name, _ := fields["controllerName"].(string)
		return slices.Contains(controllers, name)
	})
	return parents, len(all) - len(parents)
}

// MarkedTable writes how many routes of each namespace and kind are marked, and the
// number of entries.
func MarkedTable(w io.Writer, marked []MarkedRoute) error {
	type place struct{ namespace, kind string }
	var order []place
	routes, entries := map[place]int{}, map[place]int{}
	for i := range marked {
		at := place{marked[i].Namespace, marked[i].Kind}
		if routes[at] == 0 {
			order = append(order, at)
		}
		routes[at]++
		entries[at] += marked[i].Entries
	}
	slices.SortFunc(order, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.kind, b.kind))
	})
	out := printers.GetNewTabWriter(w)
	printable.Row(out, "NAMESPACE", "KIND", "ROUTES", "ENTRIES")
	for _, at := range order {
		printable.Fprintf(out, "%s\t%s\t%d\t%d\n", at.namespace, at.kind, routes[at], entries[at])
	}
	return out.Flush()
}

// eachRoute calls f with each route of the namespace, or of all if it is empty, and the
// resource that it is.
func (c *Cluster) eachRoute(ctx context.Context, namespace string, f func(schema.GroupVersionResource, *unstructured.Unstructured) error) error {
	for _, kind := range mesh.RouteKinds() {
		mapping, err := c.mapper.RESTMapping(schema.GroupKind{Group: mesh.GatewayGroup, Kind: string(kind)})
		if meta.IsNoMatchError(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("ask whether %s is served: %w", kind, err)
		}
		client := c.objects.Resource(mapping.Resource).Namespace(namespace)
		lister := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return client.List(ctx, options)
		})
		err = lister.EachListItem(ctx, metav1.ListOptions{}, func(object runtime.Object) error {
			return f(mapping.Resource, object.(*unstructured.Unstructured)) //nolint:forcetypeassert // a dynamic client has no others
		})
		if err != nil {
			return fmt.Errorf("list %ss of %s: %w", kind, cmp.Or(namespace, "all namespaces"), err)
		}
	}
	return nil
}
