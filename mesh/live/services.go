package live

import (
	"reflect"
	"sync"

	"github.com/gammaguard/gammaguard/mesh"
)

// services holds the Services and ServiceImports.
type services struct {
	mu    sync.RWMutex
	byKey map[mesh.ServiceKey]*mesh.Service
}

func (s *services) get(key mesh.ServiceKey) *mesh.Service {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.byKey[key]
}

// put stores the Service and says whether that changed anything.
func (s *services) put(service *mesh.Service) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.byKey[service.Key]; old != nil && reflect.DeepEqual(old, service) {
		return false
	}
	if s.byKey == nil {
		s.byKey = map[mesh.ServiceKey]*mesh.Service{}
	}
	s.byKey[service.Key] = service
	return true
}

// remove removes the Service and says whether it was held.
func (s *services) remove(key mesh.ServiceKey) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, held := s.byKey[key]
	delete(s.byKey, key)
	return held
}

func (s *services) keysOf(kind string) []mesh.ServiceKey {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var keys []mesh.ServiceKey
	for key := range s.byKey {
		if key.Kind == kind {
			keys = append(keys, key)
		}
	}
	return keys
}

// namespaces holds the namespaces.
type namespaces struct {
	mu     sync.RWMutex
	byName map[string]*mesh.Namespace
}

func (s *namespaces) get(name string) *mesh.Namespace {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.byName[name]
}

func (s *namespaces) put(namespace *mesh.Namespace) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.byName[namespace.Name]; old != nil && reflect.DeepEqual(old, namespace) {
		return false
	}
	if s.byName == nil {
		s.byName = map[string]*mesh.Namespace{}
	}
	s.byName[namespace.Name] = namespace
	return true
}

func (s *namespaces) remove(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, held := s.byName[name]
	delete(s.byName, name)
	return held
}

func (s *namespaces) names() []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	names := make([]string, 0, len(s.byName))
	for name := range s.byName {
		names = append(names, name)
	}
	return names
}
