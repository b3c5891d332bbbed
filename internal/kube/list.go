package kube

import (
	"context"
	"errors"

	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gammaguard/gammaguard/mesh"
)

// pageSize is how many objects are asked for at once.
const pageSize = 1000

// Namespaces reads all namespaces.
func (r *Reader) Namespaces(ctx context.Context) ([]*mesh.Namespace, error) {
	var namespaces []*mesh.Namespace
	err := r.each(ctx, namespaceResource, "", func(text jsontext.Value) error {
		var object mesh.NamespaceObject
		err := mesh.Decode(text, &object)
		namespaces = append(namespaces, object.Reduce())
		return err
	})
	return namespaces, err
}

// Services reads the Services of the namespace, or of all if it is empty.
func (r *Reader) Services(ctx context.Context, namespace string) ([]*mesh.Service, error) {
	var services []*mesh.Service
	err := r.each(ctx, serviceResource, namespace, func(text jsontext.Value) error {
		var object mesh.ServiceObject
		err := mesh.Decode(text, &object)
		services = append(services, object.Reduce(mesh.ServiceKind))
		return err
	})
	return services, err
}

// WithEndpoints reads which Services of the namespace, or of all if it is empty, have an
// EndpointSlice with an endpoint.
func (r *Reader) WithEndpoints(ctx context.Context, namespace string) (map[mesh.ServiceKey]bool, error) {
	with := map[mesh.ServiceKey]bool{}
	err := r.each(ctx, endpointSlices, namespace, func(text jsontext.Value) error {
		var object mesh.EndpointSliceObject
		err := mesh.Decode(text, &object)
		if key := object.Reduce(); key != (mesh.ServiceKey{}) {
			with[key] = true
		}
		return err
	})
	return with, err
}

// Routes calls each with the text of every route of the kind in the namespace, or in all
// if it is empty. The text is valid until it returns. There are none where the kind is
// not served.
func (r *Reader) Routes(ctx context.Context, kind mesh.RouteKind, namespace string, each func(jsontext.Value) error) error {
	err := r.each(ctx, routeResource(kind), namespace, each)
	if errors.Is(err, mesh.ErrNotServed) {
		return nil
	}
	return err
}

// each calls f with every object of the resource, page by page.
func (r *Reader) each(ctx context.Context, res resource, namespace string, f func(jsontext.Value) error) error {
	options := &metav1.ListOptions{Limit: pageSize}
	for {
		list, err := r.list(ctx, res, namespace, options, f)
		if err != nil || list.Continue == "" {
			return err
		}
		options.Continue = list.Continue
	}
}
