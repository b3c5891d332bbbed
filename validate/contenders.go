package validate

import (
	"cmp"
	"errors"
	"slices"

	"github.com/gammaguard/gammaguard/mesh"
)

// Contenders returns which routes may hold ports of the Service, apart from
// whether their parentRefs attach: those of a kind that the mesh implements and
// that are not being deleted, whose namespace holds the grant for their role and
// is not refused. Where a namespace's mode does not enforce, a refusal counts for
// nothing, as its routes are admitted (GEP-1294, Route types). A grant that cannot
// be known (mesh.ErrUnknown) counts as held. The returned function must not be
// used concurrently.
func (p *Policy) Contenders(world mesh.World, service *mesh.Service) func(*mesh.AttachedRoute) bool {
	type answer struct {
		namespace *mesh.Namespace
		known     bool
	}
	answers := map[string]answer{}
	namespace := func(name string) (*mesh.Namespace, bool) {
		a, seen := answers[name]
		if !seen {
			ns, err := world.Namespace(name) // an unknown namespace has no labels
			a = answer{ns, !errors.Is(err, mesh.ErrUnknown)}
			answers[name] = a
		}
		return a.namespace, a.known
	}
	admitted := func(route *mesh.AttachedRoute) bool {
		if !p.Implements(route.Kind) {
			return false
		}
		own, known := namespace(route.Namespace)
		role := mesh.ScopeOf(route.Namespace, service.Key).Role()
		if known && !p.HoldsGrant(own, role, route.Kind) {
			return false
		}
		if p.ModeIn(own) != mesh.Enforce || role == mesh.Producer {
			return true
		}
		theirs, _ := namespace(service.Key.Namespace)
		return p.RefusesConsumers(theirs, service) == mesh.NotRefused
	}
	// Nothing but kind and namespace bears on the answer, and most routes on a
	// Service have them alike.
	var (
		last *mesh.AttachedRoute
		held bool
	)
	return func(route *mesh.AttachedRoute) bool {
		if route.Deleting {
			return false
		}
		if last == nil || last.Kind != route.Kind || last.Namespace != route.Namespace {
			last, held = route, admitted(route)
		}
		return held
	}
}

// HoldsGrant says whether routes of the kind in the namespace act in the role:
// because they are granted it, or because a missing grant denies nothing there,
// by the namespace's mode or exemption or by the action of rule grant-missing.
func (p *Policy) HoldsGrant(namespace *mesh.Namespace, role mesh.Role, kind mesh.RouteKind) bool {
	return p.ModeIn(namespace) != mesh.Enforce ||
		cmp.Or(p.Actions["grant-missing"], Deny) != Deny ||
		namespace != nil && slices.Contains(p.Exemptions.Namespaces, namespace.Name) ||
		p.Grants.Allows(namespace, role, kind)
}

// RefusesConsumers says who refuses consumer routes to the Service, in the given
// namespace: nobody, where rule consumer-refused is not even to warn. Either may
// be nil, where it does not exist.
func (p *Policy) RefusesConsumers(namespace *mesh.Namespace, service *mesh.Service) mesh.Refusal {
	switch p.Actions["consumer-refused"] {
	case Audit, Off:
		return mesh.NotRefused
	}
	return mesh.RefusesConsumers(namespace, service)
}
