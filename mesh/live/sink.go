package live

import (
	"fmt"

	toolscache "k8s.io/client-go/tools/cache"

	"github.com/gammaguard/gammaguard/mesh"
)

// store is how a feed writes one resource to the cache. R is what is kept of an
// object, K names it.
type store[R any, K comparable] struct {
	// reduce turns an object, as it was decoded, into what is kept of it.
	reduce func(object any) (R, error)
	key    func(R) K
	// put keeps the object; first says that it is of the first list.
	put    func(reduced R, first bool)
	remove func(K)
	// keys are those of all objects of the resource that are held.
	keys func() []K
}

// sink is the end of a reflector.
type sink interface {
	toolscache.ReflectorStore
	// keep returns what is kept of an object.
	keep(object) (any, error)
	// empty removes all objects of the resource.
	empty()
}

// reflected implements sink. It takes objects of watches, and of lists what was
// kept of them as they came.
type reflected[R any, K comparable] struct {
	store[R, K]
	feed *feed
}

func (s *reflected[R, K]) reduced(object any) (R, error) {
	if of, ok := object.(kept); ok {
		object = of.value
	}
	if reduced, ok := object.(R); ok {
		return reduced, nil
	}
	return s.reduce(object)
}

func (s *reflected[R, K]) keep(o object) (any, error) { return s.reduce(o) }

// Add implements toolscache.ReflectorStore.
func (s *reflected[R, K]) Add(object any) error { return s.Update(object) }

// Update implements toolscache.ReflectorStore.
func (s *reflected[R, K]) Update(object any) error {
	reduced, err := s.reduced(object)
	if err != nil {
		return err
	}
	s.put(reduced, false)
	return nil
}

// Delete implements toolscache.ReflectorStore.
func (s *reflected[R, K]) Delete(object any) error {
	reduced, err := s.reduced(object)
	if err != nil {
		return err
	}
	s.remove(s.key(reduced))
	return nil
}

// Replace takes a whole list. What is not in it is removed.
func (s *reflected[R, K]) Replace(list []any, _ string) error {
	first := !s.feed.hasListed()
	stale := map[K]struct{}{}
	for _, key := range s.keys() {
		stale[key] = struct{}{}
	}
	for _, object := range list {
		reduced, err := s.reduced(object)
		if err != nil {
			return err
		}
		delete(stale, s.key(reduced))
		s.put(reduced, first)
	}
	for key := range stale {
		s.remove(key)
	}
	s.feed.setListed()
	return nil
}

// Resync implements toolscache.ReflectorStore: there is nothing to do.
func (s *reflected[R, K]) Resync() error { return nil }

func (s *reflected[R, K]) empty() {
	for _, key := range s.keys() {
		s.remove(key)
	}
}

// sinkOf returns the end of the feed's reflector.
func (c *Cache) sinkOf(f *feed) sink {
	switch f.resource {
	case serviceResource, serviceImports:
		return &reflected[*mesh.Service, mesh.ServiceKey]{c.serviceStore(f.resource.kind), f}
	case namespaceResource:
		return &reflected[*mesh.Namespace, string]{c.namespaceStore(), f}
	case endpointSlices:
		return &reflected[*endpointSlice, objectName]{c.endpointStore(), f}
	case referenceGrants:
		return &reflected[*referenceGrant, objectName]{c.grantStore(), f}
	}
	return &reflected[*Route, RouteKey]{c.routeStore(mesh.RouteKind(f.resource.kind)), f}
}

func (c *Cache) serviceStore(kind string) store[*mesh.Service, mesh.ServiceKey] {
	changed := func(key mesh.ServiceKey, first bool) {
		c.report(Change{Services: []mesh.ServiceKey{key}, First: first})
	}
	return store[*mesh.Service, mesh.ServiceKey]{
		reduce: func(object any) (*mesh.Service, error) {
			o, err := decoded[*serviceObject](object)
			if err != nil {
				return nil, err
			}
			return o.reduce(kind), nil
		},
		key: func(s *mesh.Service) mesh.ServiceKey { return s.Key },
		put: func(s *mesh.Service, first bool) {
			if c.services.put(s) {
				changed(s.Key, first)
			}
		},
		remove: func(key mesh.ServiceKey) {
			if c.services.remove(key) {
				changed(key, false)
			}
		},
		keys: func() []mesh.ServiceKey { return c.services.keysOf(kind) },
	}
}

func (c *Cache) namespaceStore() store[*mesh.Namespace, string] {
	return store[*mesh.Namespace, string]{
		reduce: func(object any) (*mesh.Namespace, error) {
			o, err := decoded[*namespaceObject](object)
			if err != nil {
				return nil, err
			}
			return o.reduce(), nil
		},
		key: func(n *mesh.Namespace) string { return n.Name },
		put: func(n *mesh.Namespace, first bool) {
			if c.namespaces.put(n) {
				c.report(Change{Namespace: n.Name, First: first})
			}
		},
		remove: func(name string) {
			if c.namespaces.remove(name) {
				c.report(Change{Namespace: name})
			}
		},
		keys: c.namespaces.names,
	}
}

func (c *Cache) endpointStore() store[*endpointSlice, objectName] {
	return store[*endpointSlice, objectName]{
		reduce: func(object any) (*endpointSlice, error) {
			o, err := decoded[*endpointSliceObject](object)
			if err != nil {
				return nil, err
			}
			return o.reduce(), nil
		},
		key:    func(s *endpointSlice) objectName { return s.name },
		put:    func(s *endpointSlice, _ bool) { c.endpoints.put(s.name, s.service) },
		remove: func(name objectName) { c.endpoints.put(name, "") },
		keys:   c.endpoints.names,
	}
}

func (c *Cache) grantStore() store[*referenceGrant, objectName] {
	return store[*referenceGrant, objectName]{
		reduce: func(object any) (*referenceGrant, error) {
			o, err := decoded[*grantObject](object)
			if err != nil {
				return nil, err
			}
			return &referenceGrant{objectName{o.Metadata.Namespace, o.Metadata.Name}, o.Spec}, nil
		},
		key:    func(g *referenceGrant) objectName { return g.name },
		put:    func(g *referenceGrant, _ bool) { c.grants.put(g.name, &g.grant) },
		remove: func(name objectName) { c.grants.put(name, nil) },
		keys:   c.grants.names,
	}
}

func (c *Cache) routeStore(kind mesh.RouteKind) store[*Route, RouteKey] {
	return store[*Route, RouteKey]{
		reduce: func(object any) (*Route, error) {
			o, err := decoded[*routeObject](object)
			if err != nil {
				return nil, err
			}
			return o.reduce(kind, c.options.ControllerName)
		},
		key: (*Route).Key,
		put: func(route *Route, first bool) {
			if old, changed := c.routes.put(route); changed {
				c.report(Change{Services: appendServices(old.Services(), route), Route: route.Key(), First: first})
			}
		},
		remove: func(key RouteKey) {
			if old := c.routes.remove(key); old != nil {
				c.report(Change{Services: old.Services(), Route: key})
			}
		},
		keys: func() []RouteKey { return c.routes.keysOf(kind) },
	}
}

// decoded returns the object as the type that the API server's answers are
// decoded into.
func decoded[T any](object any) (T, error) {
	o, ok := object.(T)
	if !ok {
		return o, fmt.Errorf("unexpected object of type %T", object)
	}
	return o, nil
}
