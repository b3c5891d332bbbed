package kube

import (
	"iter"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gammaguard/gammaguard/mesh"
)

// Route is what the cache holds of a route: what other routes need to know, and
// what its status needs. Routes whose parents are all Gateways or ListenerSets, without
// an entry of ours, are not held.
type Route struct {
	mesh.AttachedRoute
	// UID is the object's, in a third of the size of its text.
	UID uuid.UUID
	// Entries are the entries in status.parents whose controllerName is, or was, ours.
	Entries []Entry
	// Ignores is a checksum of the annotation that silences rules.
	Ignores uint32
	// ForeignEntries is the number of the other entries, and ForeignParents are the parentRefs
	// that they are about.
	ForeignEntries int32
	ForeignParents mesh.ParentSet

	// since is when this Acknowledged of this generation was first seen, in seconds. Both are
	// written where the route stays the same, so that an answer is no change.
	since        uint32
	acknowledged mesh.Acknowledgements
}

// Acknowledged returns what other controllers have answered about the parentRefs, and since when
// that is known, but not since before the process started.
func (r *Route) Acknowledged() (mesh.Acknowledgements, time.Time) {
	return mesh.Acknowledgements(atomic.LoadUint64((*uint64)(&r.acknowledged))), time.Unix(int64(atomic.LoadUint32(&r.since)), 0)
}

// carry notes since when the route is acknowledged as it is. The one before, which is nil where
// there is none, is acknowledged as this one is: if nothing else is different, it stays.
func (r *Route) carry(before *Route, now time.Time) {
	r.since = uint32(now.Unix()) //nolint:gosec // until 2106
	if before == nil {
		return
	}
	if before.UID == r.UID && before.Generation == r.Generation && before.acknowledged == r.acknowledged {
		r.since = before.since
		return
	}
	atomic.StoreUint64((*uint64)(&before.acknowledged), uint64(r.acknowledged))
	atomic.StoreUint32(&before.since, r.since)
}

// Entry is one entry of ours in a route's status.parents.
type Entry struct {
	// ParentRef is the parentRef as the entry has it.
	ParentRef  mesh.ParentRef     `json:"parentRef"`
	Conditions []metav1.Condition `json:"conditions"`
	// Former is set for an entry under a former controllerName.
	Former bool `json:"-"`
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
func (c *Cache) Route(key RouteKey) *Route {
	table := c.tables[routeResource(key.Kind)]
	if table == nil {
		return nil
	}
	value, _ := table.Get(tableKey(key.Namespace, key.Name))
	route, _ := value.(*Route)
	return route
}

// RoutesInNamespace returns the routes of the namespace that the cache holds, in
// no order.
func (c *Cache) RoutesInNamespace(namespace string) []*Route {
	var routes []*Route
	for _, table := range c.routes {
		for _, value := range table.by(byNamespace, namespace) {
			routes = append(routes, value.(*Route))
		}
	}
	return routes
}

// Routes yields every route that the cache holds, in no order. What changes
// meanwhile may or may not be seen.
func (c *Cache) Routes() iter.Seq[*Route] {
	return func(yield func(*Route) bool) {
		for _, table := range c.routes {
			for _, value := range table.List() {
				if !yield(value.(*Route)) {
					return
				}
			}
		}
	}
}
