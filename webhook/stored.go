package webhook

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/gammaguard/gammaguard/mesh"
)

// undetermined is the warning where a preview fails.
const undetermined = "gammaguard could not determine what this change does to routes"

const (
	// previewBody is up to which size a review is previewed: few exceed it, and what its
	// object costs is in proportion.
	previewBody = 512 << 10
	// maxRoutes is how many routes of a namespace a preview reads.
	maxRoutes = 3000
	// maxIneffective is how many of the labels and annotations without an effect a preview names.
	maxIneffective = 5
)

// errLimitReached: so many routes have been read.
var errLimitReached = errors.New("enough")

// turn is taken by the preview of a webhook that is in progress. Others wait for theirs.
type turn chan struct{}

func newTurn() turn { return make(turn, 1) }

// take waits for the turn, but no longer than maxWait: while it waits, the connection is in
// use. It fails where the review is too large for a preview.
func (t turn) take(ctx context.Context, r *review) (done func(), err error) {
	if len(r.body) > previewBody {
		return nil, fmt.Errorf("the review has %d bytes, more than %d", len(r.body), previewBody)
	}
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	select {
	case t <- struct{}{}:
		return func() { <-t }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// previewing returns the handler that previews these operations on an object, one at a time. It admits what cannot be
// previewed, and says so.
func (o *Options) previewing(name, object string, operations []string, preview func(context.Context, *review) (answer, error)) *handler {
	turn := newTurn()
	inTurn := func(ctx context.Context, r *review) (answer, error) {
		done, err := turn.take(ctx, r)
		if err != nil {
			return answer{}, err
		}
		defer done()
		return preview(ctx, r)
	}
	h := o.handler(name, func(ctx context.Context, r *review, _ *objectError) answer {
		ctx, cancel := context.WithDeadline(ctx, r.deadline())
		defer cancel()
		answered, err := inTurn(ctx, r)
		if err != nil {
			o.trail.failed(r, err, "Failed to preview the change of a "+object, "namespace", shortened(r.Namespace), "name", shortened(r.name()))
			return answer{warnings: []string{undetermined}, outcome: failed}
		}
		return answered
	})
	h.concerns = func(r *review) bool { return r.SubResource == "" && slices.Contains(operations, r.Operation) }
	return h
}

// current waits until the caches are complete, and fails while they are stale.
func (o *Options) current(ctx context.Context, r *review) error {
	if err := o.ready(ctx, r); err != nil || o.Sync == nil {
		return err
	}
	return o.Sync.Stale()
}

// eachRoute calls f with each route that is stored in the namespace, or returns errLimitReached
// after the first maxRoutes. One that cannot be read counts as absent, as in the caches.
func (o *Options) eachRoute(ctx context.Context, r *review, namespace string, f func(*mesh.Route) error) error {
	read := 0
	for _, kind := range mesh.RouteKinds() {
		if err := o.spend(ctx, r, string(kind), 1); err != nil {
			return err
		}
		before := read
		err := o.Stored.Routes(ctx, kind, namespace, func(text jsontext.Value) error {
			if read++; read > maxRoutes {
				return errLimitReached
			}
			route, err := mesh.DecodeRoute(text)
			if err != nil {
				return nil //nolint:nilerr // see above
			}
			return f(route)
		})
		o.reads.charge(r.address, (read-before)/routesPerRead)
		if err != nil {
			return err
		}
	}
	return nil
}

// ineffectiveKeys warns of gammaguard's labels and annotations that the change brings in, and that have no effect on the kind; on a Service, also of
// values that nothing can be read from. The preview of a namespace's labels has those.
func ineffectiveKeys(kind string, r *review) []string {
	if !mesh.MayHaveKeys(r.body) {
		return nil
	}
	had := map[mesh.IneffectiveKey]bool{}
	for key := range mesh.IneffectiveKeys(kind, r.OldObject) {
		had[key] = true
	}
	var all []string
	for key := range mesh.IneffectiveKeys(kind, r.objectText()) {
		if len(all) < maxIneffective && !had[key] {
			all = append(all, warning(key.String(), ""))
		}
	}
	if kind == mesh.ServiceKind {
		was := slices.Collect(mesh.UnknownValues(kind, r.OldObject))
		for value := range mesh.UnknownValues(kind, r.objectText()) {
			if !slices.Contains(was, value) {
				all = append(all, warning(value.Sentence, ""))
			}
		}
	}
	return all
}
