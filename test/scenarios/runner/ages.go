package runner

import (
	"context"
	"slices"
	"time"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/mesh/manifest"
)

// ages keeps routes that may be compared by age from being created in the same
// second: the API server tells no smaller differences.
type ages struct {
	// rivals are the routes for which age matters.
	rivals map[manifest.Key]bool
	// created is the last second in which a rival was created.
	created int64
}

// begin looks for routes of one kind on one Service.
func (a *ages) begin(scenario *Scenario) {
	a.rivals, a.created = map[manifest.Key]bool{}, 0
	type place struct {
		kind mesh.RouteKind
		name string
	}
	on := map[place][]manifest.Key{}
	for _, document := range scenario.documents() {
		if !document.IsRoute() {
			continue
		}
		route, err := mesh.DecodeRoute(document.JSON)
		if err != nil {
			continue
		}
		for i := range route.Spec.ParentRefs {
			at := place{route.Kind, route.Spec.ParentRefs[i].Name}
			if !slices.Contains(on[at], document.Key) {
				on[at] = append(on[at], document.Key)
			}
		}
	}
	for _, keys := range on {
		if len(keys) > 1 {
			for _, key := range keys {
				a.rivals[key] = true
			}
		}
	}
}

// await waits until the document's route, if it is created now, is younger than
// all its rivals.
func (a *ages) await(ctx context.Context, document *Document) error {
	if !a.rivals[document.Key] || document.DryRun && a.created == 0 {
		return nil
	}
	next := time.Unix(a.created+1, 0)
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Until(next)):
	}
	a.created = time.Now().Unix()
	return nil
}
