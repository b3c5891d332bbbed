package live

import (
	"slices"
	"sync"

	"github.com/gammaguard/gammaguard/mesh"
)

// objectName names an object inside the cluster.
type objectName struct{ namespace, name string }

// endpoints knows which Services have an endpoint. Of the EndpointSlices it keeps
// those that have one.
type endpoints struct {
	mu      sync.RWMutex
	service map[objectName]string // by EndpointSlice
	count   map[objectName]int32  // by Service
}

func (s *endpoints) has(key mesh.ServiceKey) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.count[objectName{key.Namespace, key.Name}] > 0
}

// put keeps for which Service the EndpointSlice has an endpoint; empty for none.
func (s *endpoints) put(slice objectName, service string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.service[slice]
	if old == service {
		return
	}
	if old != "" {
		of := objectName{slice.namespace, old}
		if s.count[of]--; s.count[of] == 0 {
			delete(s.count, of)
		}
		delete(s.service, slice)
	}
	if service != "" {
		if s.service == nil {
			s.service, s.count = map[objectName]string{}, map[objectName]int32{}
		}
		s.service[slice] = service
		s.count[objectName{slice.namespace, service}]++
	}
}

func (s *endpoints) names() []objectName {
	s.mu.RLock()
	defer s.mu.RUnlock()
	names := make([]objectName, 0, len(s.service))
	for name := range s.service {
		names = append(names, name)
	}
	return names
}

// grants holds the ReferenceGrants by namespace. Readers get a slice that is
// never written again.
type grants struct {
	mu          sync.RWMutex
	byNamespace map[string]*namespaceGrants
}

type namespaceGrants struct {
	names  []string
	grants []mesh.ReferenceGrant // of the same index
}

func (s *grants) in(namespace string) []mesh.ReferenceGrant {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if in := s.byNamespace[namespace]; in != nil {
		return in.grants
	}
	return nil
}

// put stores the ReferenceGrant, or removes it where grant is nil.
func (s *grants) put(name objectName, grant *mesh.ReferenceGrant) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := &namespaceGrants{}
	if in := s.byNamespace[name.namespace]; in != nil {
		for i := range in.names {
			if in.names[i] != name.name {
				next.names, next.grants = append(next.names, in.names[i]), append(next.grants, in.grants[i])
			}
		}
	}
	if grant != nil {
		next.names, next.grants = append(next.names, name.name), append(next.grants, *grant)
	}
	if s.byNamespace == nil {
		s.byNamespace = map[string]*namespaceGrants{}
	}
	s.byNamespace[name.namespace] = next
	if len(next.names) == 0 {
		delete(s.byNamespace, name.namespace)
	}
}

func (s *grants) names() []objectName {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var names []objectName
	for namespace, in := range s.byNamespace {
		for _, name := range in.names {
			names = append(names, objectName{namespace, name})
		}
	}
	return slices.Clip(names)
}
