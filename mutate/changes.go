package mutate

import "github.com/gammaguard/gammaguard/mesh"

// Options define which mutations are made, and what they may read.
type Options struct {
	// Off names the mutations that are not made.
	Off map[string]bool
	// Mesh is the profile of the mesh, whose mesh parents stay as they are written; nil for
	// the specification.
	Mesh *mesh.Profile
	// MayRead reports whether objects of the namespace may be read, because a change
	// reveals their content to the author. Nil for no namespace. It is called only if
	// such an object would be read; see Granted.
	MayRead func(namespace string) bool
}

// Changes returns what the mutations set in the route, at most one change a
// field. Made all at once they reach a route that has no more changes. Routes
// whose parents are all Gateways or ListenerSets, and those of which only the grant is
// checked, have none.
//
// A Service that is not found, not known, or cannot be read leads to no change and
// never to an error: the schema and the rules report what is missing.
func Changes(route *mesh.Route, world mesh.Reader, opts Options) []Change {
	if route.Kind.GrantOnly() {
		return nil
	}
	p := &pass{route: route, mesh: opts.Mesh, world: world, mayRead: opts.MayRead}
	var all []Change
	for _, m := range catalog {
		if opts.Off[m.ID] {
			continue
		}
		found := m.find(p)
		if len(found) == 0 {
			continue
		}
		for i := range found {
			found[i].ID = m.ID
		}
		all = append(all, found...)
		p.route = Mutated(p.route, found)
	}
	return all
}

// pass is one run of the mutations over one route.
type pass struct {
	// route is the route with the changes found so far.
	route   *mesh.Route
	mesh    *mesh.Profile
	world   mesh.Reader
	mayRead func(namespace string) bool
}

// namespace returns the route's namespace.
func (p *pass) namespace() string { return p.route.Metadata.Namespace }

// service returns the Service or ServiceImport, or nil where it may not be read,
// does not exist or cannot be known.
func (p *pass) service(key mesh.ServiceKey) *mesh.Service {
	if p.mayRead == nil || !p.mayRead(key.Namespace) {
		return nil
	}
	service, err := mesh.FindService(p.world, key)
	if err != nil {
		return nil
	}
	return service
}
