package webhook

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/gammaguard/gammaguard/mesh"
)

// undetermined is the warning where a preview fails.
const undetermined = "gammaguard could not determine what this change does to routes"

// current waits until the caches are complete, and fails while they are stale.
func (o *Options) current(ctx context.Context, r *review) error {
	if err := o.ready(ctx, r); err != nil || o.Sync == nil {
		return err
	}
	return o.Sync.Stale()
}

// eachRoute calls f with each route that is stored in the namespace. One that cannot be
// read counts as absent, as in the caches.
func (o *Options) eachRoute(ctx context.Context, namespace string, f func(*mesh.Route) error) error {
	for _, kind := range mesh.RouteKinds() {
		err := o.Stored.Routes(ctx, kind, namespace, func(text jsontext.Value) error {
			route, err := mesh.DecodeRoute(text)
			if err != nil {
				return nil //nolint:nilerr // see above
			}
			return f(route)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
