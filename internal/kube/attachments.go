package kube

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/gammaguard/gammaguard/mesh"
)

// attachments holds the routes on each Service, by namespace and then the oldest first:
// what every request asks for, in the order in which it is needed. The lists are never
// changed, so that readers need no copies.
type attachments struct {
	mu       sync.RWMutex
	services map[mesh.ServiceKey][]*mesh.AttachedRoute
}

func byNamespaceAndAge(a, b *mesh.AttachedRoute) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), a.CompareAge(b))
}

// replace takes the route as it was off its Services, and adds it as it is now. Either
// may be nil.
func (a *attachments) replace(before, now *Route) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, key := range before.Services() {
		if i, found := slices.BinarySearchFunc(a.services[key], &before.AttachedRoute, byNamespaceAndAge); found {
			a.set(key, slices.Concat(a.services[key][:i], a.services[key][i+1:]))
		}
	}
	for _, key := range now.Services() {
		i, _ := slices.BinarySearchFunc(a.services[key], &now.AttachedRoute, byNamespaceAndAge)
		a.set(key, slices.Concat(a.services[key][:i], []*mesh.AttachedRoute{&now.AttachedRoute}, a.services[key][i:]))
	}
}

func (a *attachments) set(key mesh.ServiceKey, routes []*mesh.AttachedRoute) {
	if len(routes) == 0 {
		delete(a.services, key)
		return
	}
	a.services[key] = routes
}

// on returns the routes on the Service.
func (a *attachments) on(key mesh.ServiceKey) []*mesh.AttachedRoute {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.services[key]
}

// share has a route that nobody reads yet hold its parentRefs, and backends, in common with a neighbor on its
// first Service, where they are the same, as those of most routes on one Service are.
func (a *attachments) share(route *Route) {
	keys := route.Services()
	if len(keys) == 0 {
		return
	}
	others := a.on(keys[0])
	i, _ := slices.BinarySearchFunc(others, &route.AttachedRoute, byNamespaceAndAge)
	for _, other := range others[max(i-1, 0):min(i+1, len(others))] {
		if other.Namespace == route.Namespace && other.SameParents(&route.AttachedRoute) {
			route.Parents = other.Parents
			if slices.Equal(other.Backends, route.Backends) {
				route.Backends = other.Backends
			}
			return
		}
	}
}

// of returns the routes of the namespace on the Service, the oldest first; those of all
// if it is empty.
func (a *attachments) of(key mesh.ServiceKey, namespace string) []*mesh.AttachedRoute {
	routes := a.on(key)
	if namespace == "" {
		return routes
	}
	from, _ := slices.BinarySearchFunc(routes, namespace, func(route *mesh.AttachedRoute, namespace string) int {
		return strings.Compare(route.Namespace, namespace)
	})
	routes = routes[from:]
	to, _ := slices.BinarySearchFunc(routes, namespace, func(route *mesh.AttachedRoute, namespace string) int {
		if route.Namespace == namespace {
			return -1
		}
		return 1
	})
	return routes[:to:to]
}

// in returns the Services in the namespace that have routes, in no order.
func (a *attachments) in(namespace string) []mesh.ServiceKey {
	a.mu.RLock()
	defer a.mu.RUnlock()
	var keys []mesh.ServiceKey
	for key := range a.services {
		if key.Namespace == namespace {
			keys = append(keys, key)
		}
	}
	return keys
}

// RoutesOn returns the routes with a parentRef to the Service, in no order: those
// of AttachedRoutes with what their status needs.
func (c *Cache) RoutesOn(key mesh.ServiceKey) []*Route {
	attached := c.attachments.on(key)
	routes := make([]*Route, 0, len(attached))
	for _, a := range attached {
		if route := c.Route(RouteKey{Kind: a.Kind, Namespace: a.Namespace, Name: a.Name}); route != nil {
			routes = append(routes, route)
		}
	}
	return routes
}

// ParentsInNamespace returns the Services and ServiceImports in the namespace that
// a parentRef refers to, whether or not they exist, in no order.
func (c *Cache) ParentsInNamespace(namespace string) []mesh.ServiceKey {
	return c.attachments.in(namespace)
}
