package validate

import "github.com/gammaguard/gammaguard/mesh"

// Contenders returns which routes may hold ports of the Service, apart from
// whether their parentRefs attach: those of a kind that the mesh implements and
// that are not being deleted, whose namespace is granted their role and is not
// refused. Where a namespace's mode does not enforce, a missing grant counts as
// held, as its routes are admitted (GEP-1294, Route types). The returned function
// must not be used concurrently.
func (p *Policy) Contenders(world mesh.World, service *mesh.Service) func(*mesh.AttachedRoute) bool {
	namespaces := map[string]*mesh.Namespace{}
	namespace := func(name string) *mesh.Namespace {
		ns, seen := namespaces[name]
		if !seen {
			ns, _ = world.Namespace(name) // an unknown namespace has no labels
			namespaces[name] = ns
		}
		return ns
	}
	return func(route *mesh.AttachedRoute) bool {
		if route.Deleting || !p.Implements(route.Kind) {
			return false
		}
		own := namespace(route.Namespace)
		if p.ModeIn(own) != mesh.Enforce {
			return true
		}
		role := mesh.ScopeOf(route.Namespace, service.Key).Role()
		if !p.Grants.Allows(own, role, route.Kind) {
			return false
		}
		return role == mesh.Producer || mesh.RefusesConsumers(namespace(service.Key.Namespace), service) == mesh.NotRefused
	}
}
