package kube

import (
	"sync"

	"github.com/gammaguard/gammaguard/mesh"
)

// endpoints counts the EndpointSlices with an endpoint of each Service that has any.
type endpoints struct {
	mu     sync.RWMutex
	slices map[mesh.ServiceKey]int
}

// add counts so many more of the Service, and returns how many there are now.
func (e *endpoints) add(service mesh.ServiceKey, n int) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	n += e.slices[service]
	if n == 0 {
		delete(e.slices, service)
	} else {
		e.slices[service] = n
	}
	return n
}

// has reports whether the Service has any.
func (e *endpoints) has(service mesh.ServiceKey) bool {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.slices[service] > 0
}
