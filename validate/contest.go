package validate

import (
	"iter"

	"github.com/gammaguard/gammaguard/mesh"
)

// contest is who takes part on a Service, and who holds its ports.
type contest struct {
	service  mesh.ServiceKey
	routes   []*mesh.AttachedRoute
	standing mesh.Standing
}

// contestOn works out the contest on the Service, once a pass.
func (p *Pass) contestOn(service *mesh.Service) *contest {
	for _, c := range p.contests {
		if c.service == service.Key {
			return c
		}
	}
	c := &contest{service: service.Key, routes: p.contenders(service)}
	c.standing = mesh.Precedence(service, c.routes)
	p.contests = append(p.contests, c)
	return c
}

// AttachedRoutes returns the routes on the Service that take part there, as they
// will be after this change: the route at hand is among them, as it is now.
// Routes that are being deleted, of a kind that the mesh does not implement, or
// without a grant that is enforced, are not.
func (p *Pass) AttachedRoutes(service *mesh.Service) []*mesh.AttachedRoute {
	return p.contestOn(service).routes
}

func (p *Pass) contenders(service *mesh.Service) []*mesh.AttachedRoute {
	stored, err := p.world.AttachedRoutes(service.Key)
	p.note(err)
	own := p.Attached()
	eligible := p.Policy.Contenders(notingWorld{p.world, p}, service)
	routes := make([]*mesh.AttachedRoute, 0, len(stored)+1)
	for _, route := range stored {
		if !route.Same(own) && eligible(route) {
			routes = append(routes, route)
		}
	}
	if eligible(own) {
		routes = append(routes, own)
	}
	return routes
}

// held yields each port that the route selects by the parent, in the order of the
// Service, with who holds it. It yields nothing for a parent that does not attach,
// or for a kind that the mesh does not implement.
func (p *Pass) held(parent *Parent) iter.Seq2[mesh.PortScope, *mesh.Holder] {
	return func(yield func(mesh.PortScope, *mesh.Holder) bool) {
		if len(parent.Ports) == 0 || !p.Policy.Implements(p.Route.Kind) {
			return
		}
		standing := p.contestOn(parent.Service).standing
		for _, at := range p.Attached().PortScopes(parent.Index, parent.Service) {
			if holder := standing[at]; holder != nil && !yield(at, holder) {
				return
			}
		}
	}
}

// notingWorld is the pass's world for Contenders, which passes over failures: the
// pass notes them.
type notingWorld struct {
	mesh.World
	pass *Pass
}

func (w notingWorld) Namespace(name string) (*mesh.Namespace, error) {
	namespace, err := w.World.Namespace(name)
	w.pass.note(err)
	return namespace, err
}
