package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/internal/cli/check"
	"github.com/gammaguard/gammaguard/internal/manifest"
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
	if err := check.NamespaceExists(c, name); err != nil {
		return nil, err
	}
	namespace, err := mesh.FindNamespace(c, name)
	if errors.Is(err, mesh.ErrUnknown) {
		return nil, nil
	}
	return []*mesh.Namespace{namespace}, err
}

// NamespaceObjects returns the namespaces as they are stored.
func (c *Cluster) NamespaceObjects(ctx context.Context, namespaces []*mesh.Namespace) ([]unstructured.Unstructured, error) {
	switch len(namespaces) {
	case 0: // the user may read none
		return nil, nil
	case 1:
		object, err := c.objects.Resource(namespaceResource).Get(ctx, namespaces[0].Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) { // meanwhile
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return []unstructured.Unstructured{*object}, nil
	}
	list, err := c.objects.Resource(namespaceResource).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// Idle says which exemptions and selectors of the configuration are about no namespace; none where the user cannot list the namespaces.
func (c *Cluster) Idle(configuration *config.GuardConfiguration) (notes []string, err error) {
	policy := configuration.Policy()
	if len(policy.Exemptions.Namespaces)+len(policy.Grants.Selectors) == 0 {
		return nil, nil
	}
	namespaces, err := c.reader.Namespaces(c.ctx)
	if apierrors.IsForbidden(err) {
		return nil, nil
	}
	for i, name := range policy.Exemptions.Namespaces {
		if !slices.ContainsFunc(namespaces, func(n *mesh.Namespace) bool { return n.Name == name }) {
			notes = append(notes, fmt.Sprintf("exemptions.namespaces[%d]: there is no namespace %s", i, name))
		}
	}
	for i := range policy.Grants.Selectors {
		if !slices.ContainsFunc(namespaces, policy.Grants.Selectors[i].Selects) {
			notes = append(notes, fmt.Sprintf("grants.selectors[%d] selects no namespace", i))
		}
	}
	return notes, err
}

// WithoutGatewayAPI says that the cluster serves no version of the Gateway API; it is empty if it serves one.
func (c *Cluster) WithoutGatewayAPI() (note string, err error) {
	served, err := c.discovery.ServerGroups()
	if err != nil {
		return "", fmt.Errorf("ask which API groups are served: %w", err)
	}
	if slices.ContainsFunc(served.Groups, func(g metav1.APIGroup) bool { return g.Name == mesh.GatewayGroup }) {
		return "", nil
	}
	return "the Gateway API is not installed in this cluster: there are no CustomResourceDefinitions of routes", nil
}

// Ineffective says which of gammaguard's labels and annotations have no effect on the objects.
func Ineffective(objects []unstructured.Unstructured) (all []string) {
	for i := range objects {
		text, err := objects[i].MarshalJSON()
		if err != nil {
			continue
		}
		key := manifest.Key{Kind: objects[i].GetKind(), Namespace: objects[i].GetNamespace(), Name: objects[i].GetName()}
		for ineffective := range mesh.IneffectiveKeys(key.Kind, text) {
			all = append(all, fmt.Sprintf("%s: %s", key, ineffective))
		}
	}
	return all
}

// IneffectiveAt says it of the current namespace and of the Service or ServiceImport, if it is one: of what the user can read.
func (c *Cluster) IneffectiveAt(service mesh.ServiceKey) []string {
	var objects []unstructured.Unstructured
	if object, err := c.objects.Resource(namespaceResource).Get(c.ctx, c.Current, metav1.GetOptions{}); err == nil {
		objects = append(objects, *object)
	}
	kind := schema.GroupKind{Kind: service.Kind}
	if service.Kind == mesh.ServiceImportKind {
		kind.Group = mesh.MulticlusterGroup
	}
	if mapping, err := c.mapper.RESTMapping(kind); err == nil && service.Name != "" {
		if object, err := c.objects.Resource(mapping.Resource).Namespace(service.Namespace).Get(c.ctx, service.Name, metav1.GetOptions{}); err == nil {
			objects = append(objects, *object)
		}
	}
	return Ineffective(objects)
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
