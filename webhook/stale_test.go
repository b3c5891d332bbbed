package webhook

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// cutOff is a cache that was listed long ago.
type cutOff struct{}

func (cutOff) HasSynced() bool                   { return true }
func (cutOff) WaitForSync(context.Context) error { return nil }
func (cutOff) Stale() error                      { return errors.New("nothing heard") }

// TestStale: while the caches are stale, nothing is concluded from them: each object is
// read live, once, and where that fails there is no verdict.
func TestStale(t *testing.T) {
	withdrawn := strings.ReplaceAll(cluster, "grant: all", "grant: none")
	for _, test := range []struct {
		name, cache, now string
		fail             error
		denied           string
		patched          bool
		reads            []string
	}{
		{
			name: "granted now", cache: withdrawn, now: cluster, patched: true,
			reads: []string{"Namespace shop", "Service shop/cart", "routes in shop on Service shop/cart"},
		},
		{
			name: "withdrawn since", cache: cluster, now: withdrawn, denied: "(grant-missing)",
			reads: []string{"Namespace shop"},
		},
		{
			name: "nothing can be read", cache: cluster, fail: errors.New("connection refused"),
			denied: "gammaguard could not verify the route, try again: connection refused", reads: []string{"Namespace shop"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			now := &source{Reader: world(t, test.now), fail: test.fail}
			o := options(t, world(t, test.cache))
			o.Live, o.Sync = now, cutOff{}
			response := ask(t, Validating(o, newEngine(t, nil)), admission{object: routeOn(onCart)})
			if response.Allowed != (test.denied == "") || !response.Allowed && !strings.HasSuffix(response.Result.Message, test.denied) {
				t.Errorf("allowed: %v, %v; want %q", response.Allowed, response.Result, test.denied)
			}
			slices.Sort(now.reads)
			if diff := cmp.Diff(test.reads, now.reads, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("live reads (-want +got):\n%s", diff)
			}
			response = ask(t, Mutating(o, newEngine(t, nil)), admission{object: strings.Replace(routeOn(onCart), elsewhere, "rules: [{backendRefs: [{name: cart}]}]", 1)})
			if patched := strings.Contains(string(response.Patch), "backendRefs"); !response.Allowed || patched != test.patched {
				t.Errorf("mutated: %v by %s", response.Allowed, response.Patch)
			}
		})
	}
}
