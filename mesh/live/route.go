package live

import (
	"iter"

	"github.com/google/uuid"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gammaguard/gammaguard/mesh"
)

// Route is what the cache holds of a route: what other routes need to know, and
// what its status needs. Routes that have neither a mesh parent nor an entry of
// ours are not held.
type Route struct {
	mesh.AttachedRoute
	// UID is the object's, in a third of the size of its text.
	UID uuid.UUID
	// Entries are the entries in status.parents whose controllerName is ours.
	Entries []Entry
	// ForeignEntries is the number of the other entries.
	ForeignEntries int
}

// Entry is one entry of ours in a route's status.parents.
type Entry struct {
	// ParentRef is the parentRef as the entry has it.
	ParentRef  mesh.ParentRef
	Conditions []metav1.Condition
}

// Key returns the route's key.
func (r *Route) Key() RouteKey {
	return RouteKey{Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}
}

// Services returns the Services and ServiceImports that the route has as mesh
// parents, each once.
func (r *Route) Services() []mesh.ServiceKey {
	if r == nil {
		return nil
	}
	return appendServices(nil, r)
}

// Route returns the route, or nil if the cache does not hold it.
func (c *Cache) Route(key RouteKey) *Route { return c.routes.get(key) }

// RoutesInNamespace returns the routes of the namespace that the cache holds, in
// no order.
func (c *Cache) RoutesInNamespace(namespace string) []*Route {
	return c.routes.inNamespace(namespace)
}

// RoutesOn returns the routes with a parentRef to the Service, in no order: those
// of AttachedRoutes with what their status needs.
func (c *Cache) RoutesOn(key mesh.ServiceKey) []*Route { return c.routes.on(key) }

// ParentsInNamespace returns the Services and ServiceImports in the namespace that
// a parentRef refers to, whether or not they exist, in no order.
func (c *Cache) ParentsInNamespace(namespace string) []mesh.ServiceKey {
	return c.routes.parentsIn(namespace)
}

// Routes yields every route that the cache holds, in no order. What changes
// meanwhile may or may not be seen.
func (c *Cache) Routes() iter.Seq[*Route] { return c.routes.all() }

// RoutesWithEntries yields every route with an entry of ours in its status, in no
// order: what a start finds left by those before.
func (c *Cache) RoutesWithEntries() iter.Seq[*Route] {
	return func(yield func(*Route) bool) {
		for route := range c.routes.all() {
			if len(route.Entries) > 0 && !yield(route) {
				return
			}
		}
	}
}
