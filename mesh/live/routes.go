package live

import (
	"iter"
	"reflect"
	"slices"
	"sync"

	"github.com/gammaguard/gammaguard/mesh"
)

// routes holds the routes by namespace, kind and name, and by mesh parent.
type routes struct {
	mu          sync.RWMutex
	byNamespace map[string]*namespaceRoutes
	byParent    map[string]map[parentName]*parentRoutes
}

// namespaceRoutes are the routes of a namespace.
type namespaceRoutes struct {
	name   string // shared by all of them
	routes map[routeName]*Route
}

type routeName struct {
	kind mesh.RouteKind
	name string
}

// parentName names a Service or ServiceImport inside its namespace.
type parentName struct{ kind, name string }

// parentRoutes are the routes on a Service, the oldest first, which saves those
// who sort them the work. Readers get the slice itself: it may grow, but what it
// holds is never overwritten.
type parentRoutes struct {
	key      mesh.ServiceKey // its strings are shared by the routes' parentRefs
	attached []*mesh.AttachedRoute
}

func (s *routes) get(key RouteKey) *Route {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.find(key)
}

func (s *routes) find(key RouteKey) *Route {
	if ns := s.byNamespace[key.Namespace]; ns != nil {
		return ns.routes[routeName{key.Kind, key.Name}]
	}
	return nil
}

func (s *routes) inNamespace(namespace string) []*Route {
	s.mu.RLock()
	defer s.mu.RUnlock()
	ns := s.byNamespace[namespace]
	if ns == nil {
		return nil
	}
	found := make([]*Route, 0, len(ns.routes))
	for _, route := range ns.routes {
		found = append(found, route)
	}
	return found
}

func (s *routes) attached(key mesh.ServiceKey) []*mesh.AttachedRoute {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if parent := s.byParent[key.Namespace][parentName{key.Kind, key.Name}]; parent != nil {
		return slices.Clip(parent.attached)
	}
	return nil
}

func (s *routes) on(key mesh.ServiceKey) []*Route {
	s.mu.RLock()
	defer s.mu.RUnlock()
	parent := s.byParent[key.Namespace][parentName{key.Kind, key.Name}]
	if parent == nil {
		return nil
	}
	found := make([]*Route, len(parent.attached))
	for i, a := range parent.attached {
		found[i] = s.find(RouteKey{Kind: a.Kind, Namespace: a.Namespace, Name: a.Name})
	}
	return found
}

func (s *routes) parentsIn(namespace string) []mesh.ServiceKey {
	s.mu.RLock()
	defer s.mu.RUnlock()
	parents := s.byParent[namespace]
	if len(parents) == 0 {
		return nil
	}
	keys := make([]mesh.ServiceKey, 0, len(parents))
	for _, parent := range parents {
		keys = append(keys, parent.key)
	}
	return keys
}

// all yields the routes namespace by namespace, without a lock held meanwhile.
func (s *routes) all() iter.Seq[*Route] {
	return func(yield func(*Route) bool) {
		s.mu.RLock()
		namespaces := make([]string, 0, len(s.byNamespace))
		for name := range s.byNamespace {
			namespaces = append(namespaces, name)
		}
		s.mu.RUnlock()
		for _, name := range namespaces {
			for _, route := range s.inNamespace(name) {
				if !yield(route) {
					return
				}
			}
		}
	}
}

// keysOf returns the keys of all routes of the kind.
func (s *routes) keysOf(kind mesh.RouteKind) []RouteKey {
	var keys []RouteKey
	for route := range s.all() {
		if route.Kind == kind {
			keys = append(keys, route.Key())
		}
	}
	return keys
}

// put stores the route in place of an older state of it, or removes that where
// there is nothing to keep of the new one. It returns the old state, and whether
// anything changed.
func (s *routes) put(route *Route) (old *Route, changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old = s.find(route.Key())
	if !route.matters() {
		s.unlink(old)
		return old, old != nil
	}
	if old != nil && reflect.DeepEqual(old, route) {
		return old, false
	}
	s.link(old, route)
	return old, true
}

// remove removes the route and returns it, or nil if it was not held.
func (s *routes) remove(key RouteKey) *Route {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.find(key)
	s.unlink(old)
	return old
}

// link stores the route and puts it on its parents, in the place of old on those
// that it had before.
func (s *routes) link(old, route *Route) {
	if s.byNamespace == nil {
		s.byNamespace = map[string]*namespaceRoutes{}
		s.byParent = map[string]map[parentName]*parentRoutes{}
	}
	ns := s.byNamespace[route.Namespace]
	if ns == nil {
		ns = &namespaceRoutes{name: route.Namespace, routes: map[routeName]*Route{}}
		s.byNamespace[ns.name] = ns
	}
	route.Namespace = ns.name
	ns.routes[routeName{route.Kind, route.Name}] = route
	keys, oldKeys := route.Services(), old.Services()
	s.share(route, keys)
	for _, key := range keys {
		parent := s.parent(key)
		if slices.Contains(oldKeys, key) {
			parent.replace(&route.AttachedRoute)
		} else {
			parent.add(&route.AttachedRoute)
		}
	}
	for _, key := range oldKeys {
		if !slices.Contains(keys, key) {
			s.detach(key, old)
		}
	}
}

// share has the route use the parentRefs of another one that has the same, or else
// the strings of its Services' keys.
func (s *routes) share(route *Route, keys []mesh.ServiceKey) {
	for _, key := range keys {
		if like := s.parent(key).like(route); like != nil {
			route.Parents = like.Parents
			return
		}
	}
	for _, key := range keys {
		route.shareKey(s.parent(key).key)
	}
}

// unlink removes the route, which may be nil.
func (s *routes) unlink(route *Route) {
	if route == nil {
		return
	}
	ns := s.byNamespace[route.Namespace]
	delete(ns.routes, routeName{route.Kind, route.Name})
	if len(ns.routes) == 0 {
		delete(s.byNamespace, route.Namespace)
	}
	for _, key := range route.Services() {
		s.detach(key, route)
	}
}

// parent returns the Service's routes, none as yet if it is new.
func (s *routes) parent(key mesh.ServiceKey) *parentRoutes {
	in := s.byParent[key.Namespace]
	if in == nil {
		in = map[parentName]*parentRoutes{}
		s.byParent[key.Namespace] = in
	}
	parent := in[parentName{key.Kind, key.Name}]
	if parent == nil {
		parent = &parentRoutes{key: key}
		in[parentName{key.Kind, key.Name}] = parent
	}
	return parent
}

// detach takes the route off the Service.
func (s *routes) detach(key mesh.ServiceKey, route *Route) {
	in := s.byParent[key.Namespace]
	parent := in[parentName{key.Kind, key.Name}]
	if len(parent.attached) > 1 {
		others := make([]*mesh.AttachedRoute, 0, len(parent.attached)-1)
		for _, a := range parent.attached {
			if !a.Same(&route.AttachedRoute) {
				others = append(others, a)
			}
		}
		parent.attached = others
		return
	}
	delete(in, parentName{key.Kind, key.Name})
	if len(in) == 0 {
		delete(s.byParent, key.Namespace)
	}
}

// like returns a route of the same namespace and with the same parentRefs, if one
// is among the youngest.
func (p *parentRoutes) like(route *Route) *mesh.AttachedRoute {
	const looks = 8
	for _, other := range slices.Backward(p.attached[max(0, len(p.attached)-looks):]) {
		if other.Namespace == route.Namespace && slices.EqualFunc(other.Parents, route.Parents, sameRef) {
			return other
		}
	}
	return nil
}

// sameRef says whether both parentRefs have the same fields.
func sameRef(a, b mesh.ParentRef) bool {
	sameGroup := a.Group == b.Group || a.Group != nil && b.Group != nil && *a.Group == *b.Group
	a.Group, b.Group = nil, nil
	return sameGroup && a == b
}

// add puts the route in its place by age: as a rule it is the youngest.
func (p *parentRoutes) add(route *mesh.AttachedRoute) {
	at, _ := slices.BinarySearchFunc(p.attached, route, (*mesh.AttachedRoute).CompareAge)
	if at < len(p.attached) {
		p.attached = slices.Clone(p.attached)
	}
	p.attached = slices.Insert(p.attached, at, route)
}

// replace puts the route in the place of its older state.
func (p *parentRoutes) replace(route *mesh.AttachedRoute) {
	p.attached = slices.Clone(p.attached)
	p.attached[slices.IndexFunc(p.attached, route.Same)] = route
}
