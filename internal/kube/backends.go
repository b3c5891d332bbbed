package kube

import (
	"slices"
	"sync"

	"github.com/gammaguard/gammaguard/mesh"
)

// backends holds the routes that send requests to each Service, in no order, but for those that
// have it as a parent too.
type backends struct {
	mu       sync.RWMutex
	services map[mesh.ServiceKey][]*mesh.AttachedRoute
}

// replace takes the route as it was off its backends, and adds it as it is now. Either may be nil.
func (b *backends) replace(before, now *Route) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if before != nil {
		for _, key := range before.Backends {
			routes := b.services[key]
			if i := slices.Index(routes, &before.AttachedRoute); i >= 0 {
				last := len(routes) - 1
				routes[i], routes[last] = routes[last], nil
				b.services[key] = routes[:last]
			}
			if len(b.services[key]) == 0 {
				delete(b.services, key)
			}
		}
	}
	if now != nil {
		for _, key := range now.Backends {
			b.services[key] = append(b.services[key], &now.AttachedRoute)
		}
	}
}

// RoutesTo returns the routes that send requests to the Service, and do not have it as a parent, in
// no order.
func (c *Cache) RoutesTo(key mesh.ServiceKey) []*mesh.AttachedRoute {
	c.backends.mu.RLock()
	defer c.backends.mu.RUnlock()
	return slices.Clone(c.backends.services[key])
}
