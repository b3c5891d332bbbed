package check

import (
	"encoding/json"
	"errors"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/mesh/manifest"
)

// world is what the rules see: the input first, then what was there before it, then
// the cluster.
type world struct {
	files *manifest.Set
	// base also reports whether what is nowhere does not exist, or is unknown.
	base    *manifest.Set
	cluster Cluster // may be nil
}

var _ mesh.Reader = (*world)(nil)

// ask asks the sets, then the cluster.
func ask[T any](w *world, set func(*manifest.Set) (T, error), cluster func(Cluster) (T, error)) (T, error) {
	answer, err := set(w.files)
	if !errors.Is(err, mesh.ErrUnknown) {
		return answer, err
	}
	before, err := set(w.base)
	if err == nil || w.cluster == nil {
		return before, err
	}
	return cluster(w.cluster)
}

// Namespace returns a namespace.
func (w *world) Namespace(name string) (*mesh.Namespace, error) {
	return ask(w,
		func(s *manifest.Set) (*mesh.Namespace, error) { return s.Namespace(name) },
		func(c Cluster) (*mesh.Namespace, error) { return c.Namespace(name) })
}

// Service returns a Service or ServiceImport.
func (w *world) Service(key mesh.ServiceKey) (*mesh.Service, error) {
	return ask(w,
		func(s *manifest.Set) (*mesh.Service, error) { return s.Service(key) },
		func(c Cluster) (*mesh.Service, error) { return c.Service(key) })
}

// HasEndpoints reports whether the Service has an endpoint. That is not known of a
// Service which is in the input and not yet in the cluster, nor of one in a manifest
// that selects Pods: its EndpointSlices are made by a controller.
func (w *world) HasEndpoints(key mesh.ServiceKey) (bool, error) {
	has, err := ask(w,
		func(s *manifest.Set) (bool, error) { return s.HasEndpoints(key) },
		func(c Cluster) (bool, error) {
			if _, err := c.Service(key); errors.Is(err, mesh.ErrNotFound) {
				return false, mesh.ErrUnknown
			}
			return c.HasEndpoints(key)
		})
	if err == nil && !has && w.cluster == nil && w.selects(key) {
		return false, mesh.ErrUnknown
	}
	return has, err
}

// selects reports whether the Service is in a manifest, not in what was read from a
// cluster, and selects Pods.
func (w *world) selects(key mesh.ServiceKey) bool {
	name := manifest.Key{Kind: key.Kind, Namespace: key.Namespace, Name: key.Name}
	object := w.files.Get(name)
	if object == nil {
		object = w.base.Get(name)
	}
	var service struct {
		Metadata struct {
			UID string `json:"uid"`
		} `json:"metadata"`
		Spec struct {
			Selector map[string]string `json:"selector"`
		} `json:"spec"`
	}
	return object != nil && json.Unmarshal(object.JSON, &service) == nil &&
		service.Metadata.UID == "" && len(service.Spec.Selector) > 0
}

// ReferenceGrants returns the ReferenceGrants in a namespace: those of the cluster
// too, since the input may add to them.
func (w *world) ReferenceGrants(namespace string) ([]mesh.ReferenceGrant, error) {
	grants, err := w.files.ReferenceGrants(namespace)
	before, errBefore := w.base.ReferenceGrants(namespace)
	if w.cluster != nil {
		before, errBefore = w.cluster.ReferenceGrants(namespace)
	}
	if err != nil && errBefore != nil {
		return nil, errBefore
	}
	return append(append([]mesh.ReferenceGrant{}, grants...), before...), nil
}

// AttachedRoutes returns the routes with a parentRef to the Service. A route of the
// input takes the place of the one that was there before.
func (w *world) AttachedRoutes(key mesh.ServiceKey, namespace string) ([]*mesh.AttachedRoute, error) {
	routes, err := w.files.AttachedRoutes(key, namespace)
	if err != nil {
		return nil, err
	}
	before, err := w.base.AttachedRoutes(key, namespace)
	if err != nil || len(before) == 0 {
		return routes, err
	}
	all := append([]*mesh.AttachedRoute{}, routes...)
	for _, route := range before {
		if w.files.Get(routeKey(route)) == nil {
			all = append(all, route)
		}
	}
	return all, nil
}

func routeKey(r *mesh.AttachedRoute) manifest.Key {
	return manifest.Key{Group: mesh.GatewayGroup, Kind: string(r.Kind), Namespace: r.Namespace, Name: r.Name}
}

// Object reports whether an object of another implementation is in the input, or in the
// cluster.
func (w *world) Object(key mesh.ObjectKey) error {
	_, err := ask(w,
		func(s *manifest.Set) (struct{}, error) { return struct{}{}, s.Object(key) },
		func(c Cluster) (struct{}, error) { return struct{}{}, c.Object(key) })
	return err
}
