package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gammaguard/gammaguard/mesh"
)

var namespaceResource = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

// Namespaces returns the namespace, or all if the name is empty, that the user may read.
func (c *Cluster) Namespaces(name string) ([]*mesh.Namespace, error) {
	if name == "" {
		all, err := cached(c, "the list of%s namespaces", "", func(ctx context.Context, _ string) ([]*mesh.Namespace, error) { return c.reader.Namespaces(ctx) })
		if !errors.Is(err, mesh.ErrUnknown) {
			return all, err
		}
		name = c.Current
	}
	namespace, err := mesh.FindNamespace(c, name)
	switch {
	case errors.Is(err, mesh.ErrUnknown):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("namespace %s: %w", name, err)
	}
	return []*mesh.Namespace{namespace}, nil
}

// Annotations returns the values of the annotation on the namespaces that have it.
func (c *Cluster) Annotations(ctx context.Context, namespaces []*mesh.Namespace, key string) (map[string]string, error) {
	values := map[string]string{}
	if len(namespaces) == 0 { // the user may read none
		return values, nil
	}
	if len(namespaces) == 1 {
		object, err := c.objects.Resource(namespaceResource).Get(ctx, namespaces[0].Name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		if value, some := object.GetAnnotations()[key]; some {
			values[object.GetName()] = value
		}
		return values, nil
	}
	list, err := c.objects.Resource(namespaceResource).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for i := range list.Items {
		if value, some := list.Items[i].GetAnnotations()[key]; some {
			values[list.Items[i].GetName()] = value
		}
	}
	return values, nil
}

// Annotate sets an annotation of the namespace.
func (c *Cluster) Annotate(ctx context.Context, namespace, key, value string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{key: value}}})
	if err != nil {
		return err
	}
	_, err = c.objects.Resource(namespaceResource).Patch(ctx, namespace, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "gammaguard"})
	return err
}
