package kube

import (
	"github.com/gammaguard/gammaguard/mesh"
)

// RouteKey names a route.
type RouteKey struct {
	Kind            mesh.RouteKind
	Namespace, Name string
}

// String reads "HTTPRoute shop/cart".
func (k RouteKey) String() string { return string(k.Kind) + " " + k.Namespace + "/" + k.Name }

// Change is one object that came, went or changed in a way that matters to the
// standing of routes. The cache holds the new state when it is reported.
type Change struct {
	// Services are those whose routes may stand differently now: the one that
	// changed, or the mesh parents that a changed route has and had.
	Services []mesh.ServiceKey
	// Route is the route that changed, in its spec, its ignore annotation, its own entries or
	// the number of others' entries in its status; zero where it is no route.
	Route RouteKey
	// Namespace is the namespace whose labels changed; empty where none did.
	// RoutesInNamespace and ParentsInNamespace say what it touches.
	Namespace string
	// Renamed is the Service that became of type ExternalName, or is no longer; zero where none
	// did. RoutesTo says which routes that bears on.
	Renamed mesh.ServiceKey
	// Endpoints is the Service that may have got its first EndpointSlice with an endpoint, or
	// lost its last one; zero where none did.
	Endpoints mesh.ServiceKey
	// Grants is the namespace whose ReferenceGrants changed; empty where none did.
	Grants string
	// StatusOnly is set for a route of which nothing changed that it is judged by, but entries
	// in its status.
	StatusOnly bool
	// First is set for objects of the first list of their kind: they are new to
	// the cache, not to the cluster.
	First bool
}

// OnChange has f called with each change, from the first list on. It is called
// from several goroutines at once and holds up the cache while it runs: it should
// only queue. It must be registered before Start.
func (c *Cache) OnChange(f func(Change)) { c.listeners = append(c.listeners, f) }

func (c *Cache) report(change Change) {
	for _, listener := range c.listeners {
		listener(change)
	}
}
