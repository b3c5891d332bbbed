package kube

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gammaguard/gammaguard/mesh"
)

// MaxRoutes is how many routes of one kind AttachedRoutes reads in a namespace.
const MaxRoutes = 1000

// AttachedRoutes reads the routes of the namespace, or of all if it is empty, with a
// parentRef to the Service. One that cannot be read counts as absent, as in the
// cache. If there are more than MaxRoutes of a kind, the error is mesh.ErrUnknown.
func (r *Reader) AttachedRoutes(ctx context.Context, key mesh.ServiceKey, namespace string) ([]*mesh.AttachedRoute, error) {
	if namespace != "" && !nameable(namespace) {
		return nil, nil
	}
	var attached []*mesh.AttachedRoute
	for _, kind := range mesh.RouteKinds() {
		options := &metav1.ListOptions{Limit: MaxRoutes}
		list, err := r.list(ctx, routeResource(kind), namespace, options, func(item jsontext.Value) error {
			var object routeObject
			if mesh.Decode(item, &object) != nil {
				return nil //nolint:nilerr // it counts as absent
			}
			full := mesh.Route{Kind: kind, Metadata: object.Metadata.Metadata, Spec: object.Spec}
			route := &Route{AttachedRoute: *full.Attached(r.Mesh)}
			if slices.Contains(route.Services(), key) {
				attached = append(attached, &route.AttachedRoute)
			}
			return nil
		})
		switch {
		case errors.Is(err, mesh.ErrNotServed):
		case err != nil:
			return nil, err
		case list.Continue != "":
			return nil, fmt.Errorf("%w: there are more than %d %ss", mesh.ErrUnknown, MaxRoutes, kind)
		}
	}
	return attached, nil
}

// RouteObject reads a whole route. The error is mesh.ErrNotFound if it does not exist.
func (r *Reader) RouteObject(ctx context.Context, kind mesh.RouteKind, namespace, name string) ([]byte, error) {
	whole := &wholeObject{kind: string(kind)}
	err := r.get(ctx, routeResource(kind), namespace, name, whole)
	return whole.text, err
}

// wholeObject is an object in JSON, of a kind that need not be looked for.
type wholeObject struct {
	kind string
	text []byte
}

// UnmarshalJSON takes the whole text.
func (o *wholeObject) UnmarshalJSON(text []byte) error {
	o.text = bytes.Clone(text)
	return nil
}

// GetKind implements object.
func (o *wholeObject) GetKind() string { return o.kind }
