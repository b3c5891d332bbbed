package desired_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/status/desired"
	"github.com/gammaguard/gammaguard/validate"
)

// broken is a world that cannot be asked one thing.
type broken struct {
	mesh.Reader
	kind mesh.ReadKind
	err  error
}

// Do implements mesh.Reader.
func (b *broken) Do(read mesh.Read) mesh.Answer {
	if read.Kind == b.kind {
		return mesh.Answer{Err: b.err}
	}
	return b.Reader.Do(read)
}

func TestWorldThatCannotBeAsked(t *testing.T) {
	world := newWorld(t, cluster, route(mesh.HTTPRoute, "shop/own", "name: cart"))
	failure := errors.New("no answer")
	for name, kind := range map[string]mesh.ReadKind{"service": mesh.ReadService, "namespace": mesh.ReadNamespace, "routes": mesh.ReadRoutes} {
		b := &broken{world, kind, failure}
		if entries, err := entriesOf(t, find(t, world, "shop/own"), b, validate.Policy{}, desired.Settings{}); !errors.Is(err, failure) || len(entries) > 0 {
			t.Errorf("%s: %v, %v, want the failure", name, entries, err)
		}
	}
}

// TestStable: the entries do not depend on the order in which the world tells of
// its routes, so that nothing is written twice.
func TestStable(t *testing.T) {
	world := newWorld(t, cluster, route(mesh.GRPCRoute, "shop/b", "name: cart"), route(mesh.GRPCRoute, "shop/a", "name: cart, port: 80"),
		route(mesh.GRPCRoute, "shop/c", "name: cart, port: 80"), route(mesh.HTTPRoute, "shop/own", "name: cart"))
	seen := map[string]bool{}
	for i := range 8 {
		entries, err := entriesOf(t, find(t, world, "shop/own"), &rotated{world, i}, validate.Policy{}, desired.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(entries)
		if err != nil {
			t.Fatal(err)
		}
		seen[string(text)] = true
	}
	if len(seen) != 1 {
		t.Errorf("entries differ: %v", seen)
	}
}

// rotated tells of the routes in another order.
type rotated struct {
	mesh.Reader
	by int
}

// Do implements mesh.Reader.
func (r *rotated) Do(read mesh.Read) mesh.Answer {
	answer := r.Reader.Do(read)
	routes := answer.AttachedRoutes
	if len(routes) == 0 {
		return answer
	}
	at := r.by % len(routes)
	answer.AttachedRoutes = append(append([]*mesh.AttachedRoute{}, routes[at:]...), routes[:at]...)
	if r.by >= len(routes) {
		slices.Reverse(answer.AttachedRoutes)
	}
	return answer
}
