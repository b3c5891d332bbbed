package status

import (
	"sync"

	"github.com/gammaguard/gammaguard/internal/kube"
	"github.com/gammaguard/gammaguard/mesh"
)

// markedRoutes finds the routes with entries of ours by the Services that these
// are about. So a Service's entries are found though the route's spec names it no
// longer, or this process is not the one that wrote them.
type markedRoutes struct {
	mu        sync.Mutex
	byRoute   map[kube.RouteKey]mark
	byService map[mesh.ServiceKey]map[kube.RouteKey]struct{}
}

// mark is what is stored for a route with entries of ours.
type mark struct {
	services   []mesh.ServiceKey
	generation int64
}

// update takes note of a route's present state, nil if it is gone. It returns the
// Services that its entries are or were about, and whether only its status has
// changed since it was last evaluated, as far as known.
func (m *markedRoutes) update(key kube.RouteKey, route *kube.Route) (about []mesh.ServiceKey, statusOnly bool) {
	next := markOf(route)
	m.mu.Lock()
	defer m.mu.Unlock()
	old, was := m.byRoute[key]
	for _, service := range old.services {
		if delete(m.byService[service], key); len(m.byService[service]) == 0 {
			delete(m.byService, service)
		}
	}
	delete(m.byRoute, key)
	if len(next.services) > 0 {
		if m.byRoute == nil {
			m.byRoute = map[kube.RouteKey]mark{}
			m.byService = map[mesh.ServiceKey]map[kube.RouteKey]struct{}{}
		}
		m.byRoute[key] = next
		for _, service := range next.services {
			if m.byService[service] == nil {
				m.byService[service] = map[kube.RouteKey]struct{}{}
			}
			m.byService[service][key] = struct{}{}
		}
	}
	switch {
	case route == nil:
	case was:
		statusOnly = old.generation == route.Generation
	default:
		statusOnly = len(route.Entries) > 0 && judgedNow(route)
	}
	return append(next.services, old.services...), statusOnly
}

// on returns the routes with an entry of ours about the Service.
func (m *markedRoutes) on(service mesh.ServiceKey) []kube.RouteKey {
	m.mu.Lock()
	defer m.mu.Unlock()
	keys := make([]kube.RouteKey, 0, len(m.byService[service]))
	for key := range m.byService[service] {
		keys = append(keys, key)
	}
	return keys
}

// services returns all Services that entries of ours are about.
func (m *markedRoutes) services() []mesh.ServiceKey {
	m.mu.Lock()
	defer m.mu.Unlock()
	keys := make([]mesh.ServiceKey, 0, len(m.byService))
	for key := range m.byService {
		keys = append(keys, key)
	}
	return keys
}

func markOf(route *kube.Route) mark {
	if route == nil {
		return mark{}
	}
	next := mark{generation: route.Generation}
	for i := range route.Entries {
		// An entry about a parent that is not a mesh parent is handled as if it were one.
		next.services = append(next.services, route.Entries[i].ParentRef.Service(route.Namespace))
	}
	return next
}

// judgedNow reports whether every entry of ours is about the route's present
// generation: then whoever wrote them last has seen its present spec.
func judgedNow(route *kube.Route) bool {
	for i := range route.Entries {
		for _, condition := range route.Entries[i].Conditions {
			if condition.ObservedGeneration != route.Generation {
				return false
			}
		}
	}
	return true
}
