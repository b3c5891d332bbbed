package manifest

import (
	"cmp"
	"slices"
	"time"

	"github.com/gammaguard/gammaguard/mesh"
)

// Options says what a Set may conclude.
type Options struct {
	// Mesh is the profile that classifies parentRefs; nil for the specification.
	Mesh *mesh.Profile
	// Complete: what is not in the set does not exist (mesh.ErrNotFound). Else the
	// set cannot know of it (mesh.ErrUnknown).
	Complete bool
	// NoServiceImports: the kind ServiceImport is not served, until its
	// CustomResourceDefinition is put into the set.
	NoServiceImports bool
	// Serves reports whether the API server serves a kind; nil: that is not known.
	Serves func(group, kind string) bool
}

// Set is a collection of objects that answers as a mesh.Reader. Put and Delete
// must not run at the same time as anything else; reading may be concurrent.
type Set struct {
	options    Options
	arrived    int64
	namespaces map[string]*mesh.Namespace
	services   map[mesh.ServiceKey]*mesh.Service
	// slices are the Services for which EndpointSlices have an endpoint.
	slices map[Key]mesh.ServiceKey
	// filled counts the EndpointSlices of each Service that have an endpoint.
	filled   map[mesh.ServiceKey]int
	grants   map[Key]mesh.ReferenceGrant
	routes   map[Key]*routeEntry
	attached map[mesh.ServiceKey][]*mesh.AttachedRoute
	objects  map[Key]*Object
	// others are the objects of kinds that do not bear on mesh routing.
	others map[Key]bool
}

// routeEntry is a route in the set.
type routeEntry struct {
	arrived  int64
	object   *Object
	attached *mesh.AttachedRoute
}

var _ mesh.Reader = (*Set)(nil)

// NewSet returns an empty set.
func NewSet(options Options) *Set {
	return &Set{
		options:    options,
		namespaces: map[string]*mesh.Namespace{},
		services:   map[mesh.ServiceKey]*mesh.Service{},
		slices:     map[Key]mesh.ServiceKey{},
		filled:     map[mesh.ServiceKey]int{},
		grants:     map[Key]mesh.ReferenceGrant{},
		routes:     map[Key]*routeEntry{},
		attached:   map[mesh.ServiceKey][]*mesh.AttachedRoute{},
		objects:    map[Key]*Object{},
		others:     map[Key]bool{},
	}
}

// serviceImportCRD names the definition that makes ServiceImports exist.
var serviceImportCRD = Key{
	Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition", Name: "serviceimports." + mesh.MulticlusterGroup,
}

// Put adds the object, or replaces the one with its key. An object of a kind that
// does not bear on mesh routing is only known to be there. The error, an *Error, says why the
// object cannot be read; the set is then as before.
func (s *Set) Put(object *Object) error {
	if err := s.put(object); err != nil {
		return &Error{object.Origin, err}
	}
	return nil
}

func (s *Set) put(o *Object) error {
	var err error
	switch (Key{Group: o.Key.Group, Kind: o.Key.Kind}) {
	case Key{Kind: mesh.ServiceKind}, Key{Group: mesh.MulticlusterGroup, Kind: mesh.ServiceImportKind}:
		err = s.putService(o)
	case Key{Kind: "Namespace"}:
		err = s.putNamespace(o)
	case Key{Group: "discovery.k8s.io", Kind: "EndpointSlice"}:
		err = s.putEndpointSlice(o)
	case Key{Group: mesh.GatewayGroup, Kind: "ReferenceGrant"}:
		if field, _ := o.RefusedGrant(); field != "" {
			s.others[o.Key] = true
			return nil
		}
		err = s.putReferenceGrant(o)
	default:
		switch {
		case o.Route != nil:
			o = s.putRoute(o)
		case o.Key == serviceImportCRD:
			s.options.NoServiceImports = false
		default:
			s.others[o.Key] = true
			return nil
		}
	}
	if err == nil {
		s.objects[o.Key] = o
	}
	return err
}

// putRoute stores the route as an API server would: a new one is younger than all
// before it, and its generation counts the times it was put. The object's Route
// gets both, unless the manifest has them, in the copy that is returned: the
// given object may be in other sets too.
func (s *Set) putRoute(given *Object) *Object {
	route, object := *given.Route, *given
	o := &object
	o.Route = &route
	s.arrived++
	entry := &routeEntry{arrived: s.arrived, object: o}
	meta := &o.Route.Metadata
	if old := s.routes[o.Key]; old != nil {
		entry.arrived = old.arrived
		meta.CreationTimestamp = old.object.Route.Metadata.CreationTimestamp
		meta.Generation = cmp.Or(meta.Generation, old.object.Route.Metadata.Generation+1)
		s.detach(old)
	}
	if meta.CreationTimestamp.IsZero() {
		meta.CreationTimestamp = arrivalTime(entry.arrived)
	}
	meta.Generation = cmp.Or(meta.Generation, 1)
	entry.attached = o.Route.Attached(s.options.Mesh)
	s.routes[o.Key] = entry
	for _, key := range parents(entry.attached) {
		s.attached[key] = append(s.attached[key], entry.attached)
	}
	return o
}

// putSlice notes for which Service the EndpointSlice has an endpoint; the zero key
// where it has none.
func (s *Set) putSlice(key Key, of mesh.ServiceKey) {
	s.filled[s.slices[key]]--
	s.filled[of]++
	s.slices[key] = of
}

// arrivalTime is the creation time of the n-th route that arrived without one. It
// lies in a future that no manifest of a cluster comes from.
func arrivalTime(n int64) time.Time { return time.Unix(mesh.FirstSyntheticAge+n, 0).UTC() }

// parents returns the Services that the route has parentRefs to, each once, dormant ones
// included.
func parents(route *mesh.AttachedRoute) []mesh.ServiceKey {
	var keys []mesh.ServiceKey
	for i := range route.Parents {
		ref := &route.Parents[i]
		switch ref.Class(nil) {
		case mesh.MeshParent, mesh.LookAlikeParent:
			if key := ref.Service(route.Namespace); !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

func (s *Set) detach(entry *routeEntry) {
	for _, key := range parents(entry.attached) {
		kept := slices.DeleteFunc(slices.Clone(s.attached[key]), func(r *mesh.AttachedRoute) bool { return r == entry.attached })
		if len(kept) == 0 {
			delete(s.attached, key)
			continue
		}
		s.attached[key] = kept
	}
}

// Delete removes the object with the key, and reports whether it was there. With the
// CustomResourceDefinition of ServiceImport all ServiceImports go, even where the
// definition was never put into the set.
func (s *Set) Delete(key Key) bool {
	if key == serviceImportCRD && !s.options.NoServiceImports {
		s.options.NoServiceImports = true
		for other := range s.objects {
			if other.Group == mesh.MulticlusterGroup && other.Kind == mesh.ServiceImportKind {
				s.Delete(other)
			}
		}
		delete(s.objects, key)
		return true
	}
	if s.others[key] {
		delete(s.others, key)
		return true
	}
	if s.objects[key] == nil {
		return false
	}
	delete(s.objects, key)
	switch key.Kind {
	case mesh.ServiceKind, mesh.ServiceImportKind:
		delete(s.services, mesh.ServiceKey{Kind: key.Kind, Namespace: key.Namespace, Name: key.Name})
	case "Namespace":
		delete(s.namespaces, key.Name)
	case "EndpointSlice":
		s.putSlice(key, mesh.ServiceKey{})
		delete(s.slices, key)
	case "ReferenceGrant":
		delete(s.grants, key)
	default:
		if entry := s.routes[key]; entry != nil {
			s.detach(entry)
			delete(s.routes, key)
		}
	}
	return true
}

// Get returns the object with the key, or nil. It is not to be changed.
func (s *Set) Get(key Key) *Object { return s.objects[key] }

// Routes returns all routes, in the order in which they first arrived.
func (s *Set) Routes() []*Object {
	entries := make([]*routeEntry, 0, len(s.routes))
	for _, entry := range s.routes {
		entries = append(entries, entry)
	}
	slices.SortFunc(entries, func(a, b *routeEntry) int { return cmp.Compare(a.arrived, b.arrived) })
	routes := make([]*Object, len(entries))
	for i, entry := range entries {
		routes[i] = entry.object
	}
	return routes
}
