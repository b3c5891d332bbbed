// Package cluster shows the commands of gammaguard a live cluster. It only reads,
// except for ClearStatus.
package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/pager"

	"github.com/gammaguard/gammaguard/check"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/mesh/live"
	"github.com/gammaguard/gammaguard/mesh/manifest"
)

// Cluster is a live cluster. It reads each object once and keeps what it found; it
// is for one goroutine. What the user may not read is mesh.ErrUnknown.
type Cluster struct {
	ctx    context.Context // of the command: mesh.Reader has none
	reader *live.Reader
	routes dynamic.Interface
	mapper meta.RESTMapper
	kept   map[any]any        // answers by question
	listed []*manifest.Object // all routes; nil before they are asked for
}

var _ check.Cluster = (*Cluster)(nil)

// question asks for one object, or what there is of its kind, by its key.
type question[K comparable, T any] struct{ key K }

// answer is what the cluster said.
type answer[T any] struct {
	value T
	err   error
}

// Connect returns the cluster that the getter's flags and kubeconfig name. It does
// not talk to it yet.
func Connect(ctx context.Context, getter genericclioptions.RESTClientGetter) (*Cluster, error) {
	config, err := getter.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	reader, err := live.NewReader(config, nil)
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = 100, 200 // a write for each of many routes
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	mapper, err := getter.ToRESTMapper()
	if err != nil {
		return nil, err
	}
	return &Cluster{ctx: ctx, reader: reader, routes: client, mapper: mapper, kept: map[any]any{}}, nil
}

// once asks for what is not kept yet.
func once[K comparable, T any](c *Cluster, key K, read func(context.Context, K) (T, error)) (T, error) {
	a, known := c.kept[question[K, T]{key}].(answer[T])
	if !known {
		a.value, a.err = read(c.ctx, key)
		if apierrors.IsForbidden(a.err) {
			a.err = mesh.ErrUnknown
		}
		c.kept[question[K, T]{key}] = a
	}
	return a.value, a.err
}

// Namespace returns a namespace.
func (c *Cluster) Namespace(name string) (*mesh.Namespace, error) {
	return once(c, name, c.reader.Namespace)
}

// Service returns a Service or ServiceImport.
func (c *Cluster) Service(key mesh.ServiceKey) (*mesh.Service, error) {
	return once(c, key, c.reader.Service)
}

// HasEndpoints reports whether the Service has an endpoint.
func (c *Cluster) HasEndpoints(key mesh.ServiceKey) (bool, error) {
	return once(c, key, c.reader.HasEndpoints)
}

// ReferenceGrants returns the ReferenceGrants in a namespace.
func (c *Cluster) ReferenceGrants(namespace string) ([]mesh.ReferenceGrant, error) {
	return once(c, namespace, c.reader.ReferenceGrants)
}

// Definition returns the CustomResourceDefinition of that name, in JSON.
func (c *Cluster) Definition(_ context.Context, name string) ([]byte, error) {
	return once(c, definitionName(name), func(ctx context.Context, name definitionName) ([]byte, error) {
		object, err := c.routes.Resource(definitionResource).Get(ctx, string(name), metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return nil, mesh.ErrNotFound
		case err != nil:
			return nil, err
		}
		return object.MarshalJSON()
	})
}

// definitionName is the name of a CustomResourceDefinition.
type definitionName string

var definitionResource = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// Routes returns the routes of all kinds that the cluster serves. It takes them of
// all namespaces: consumer routes on a Service can be anywhere.
func (c *Cluster) Routes(ctx context.Context) ([]*manifest.Object, error) {
	if c.listed != nil {
		return c.listed, nil
	}
	routes := []*manifest.Object{}
	err := c.eachRoute(ctx, metav1.NamespaceAll, func(_ schema.GroupVersionResource, object *unstructured.Unstructured) error {
		text, err := runtime.Encode(unstructured.UnstructuredJSONScheme, object)
		if err != nil {
			return err
		}
		read, errs := manifest.Read("the cluster", text, "")
		routes = append(routes, read...)
		return errors.Join(errs...)
	})
	if err != nil {
		return nil, err
	}
	c.listed = routes
	return routes, nil
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
		client := c.routes.Resource(mapping.Resource).Namespace(namespace)
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
