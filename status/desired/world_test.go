package desired_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/status/desired"
	"github.com/gammaguard/gammaguard/validate"
)

// broken is a world that cannot be asked one thing.
type broken struct {
	mesh.Reader
	service, namespace, routes error
}

func (b *broken) Service(key mesh.ServiceKey) (*mesh.Service, error) {
	if b.service != nil {
		return nil, b.service
	}
	return b.Reader.Service(key)
}

func (b *broken) Namespace(name string) (*mesh.Namespace, error) {
	if b.namespace != nil {
		return nil, b.namespace
	}
	return b.Reader.Namespace(name)
}

func (b *broken) AttachedRoutes(key mesh.ServiceKey, namespace string) ([]*mesh.AttachedRoute, error) {
	if b.routes != nil {
		return nil, b.routes
	}
	return b.Reader.AttachedRoutes(key, namespace)
}

func TestWorldThatCannotBeAsked(t *testing.T) {
	world := newWorld(t, cluster, route(mesh.HTTPRoute, "shop/own", "name: cart"))
	failure := errors.New("no answer")
	for name, b := range map[string]*broken{"service": {service: failure}, "namespace": {namespace: failure}, "routes": {routes: failure}} {
		b.Reader = world
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

func (r *rotated) AttachedRoutes(key mesh.ServiceKey, namespace string) ([]*mesh.AttachedRoute, error) {
	routes, err := r.Reader.AttachedRoutes(key, namespace)
	at := r.by % len(routes)
	turned := append(append([]*mesh.AttachedRoute{}, routes[at:]...), routes[:at]...)
	if r.by >= len(routes) {
		for i, j := 0, len(turned)-1; i < j; i, j = i+1, j-1 {
			turned[i], turned[j] = turned[j], turned[i]
		}
	}
	return turned, err
}
