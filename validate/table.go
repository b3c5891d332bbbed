package validate

import (
	"errors"
	"fmt"

	"github.com/gammaguard/gammaguard/mesh"
)

// ServiceView is one Service, or the lack of one, with the routes on it, from one state
// of the cluster; it may or may not show later changes. It is for one goroutine.
type ServiceView struct {
	engine *Engine
	world  mesh.Reader
	key    mesh.ServiceKey
	// namespace is the one whose routes are read; empty for all.
	namespace string
	// own is a route that replaces its stored state; nil for none.
	own *mesh.AttachedRoute
	// recorder is the reader, if it records its reads; reads are those that resolve
	// the view, which count for every rule that uses the result.
	recorder *recorder
	reads    []mesh.Read

	// The following are worked out when first needed.
	routes   []*mesh.AttachedRoute
	owners   mesh.PortOwners
	resolved bool
	err      error
}

// View returns a view of the Service with all its routes.
func (e *Engine) View(world mesh.Reader, key mesh.ServiceKey) *ServiceView {
	return &ServiceView{engine: e, world: world, key: key}
}

// mostHeld bounds what routes may hold of one Service: its ports times its routes. A Service
// may have as many ports as etcd stores, about 20,000.
const mostHeld = 1 << 20

// Owners returns who owns each port of the Service in each scope: none where the Service
// does not exist, or has more ports times routes than mostHeld. The error is the failure of
// a read, or mesh.ErrUnknown if the routes are not known.
func (v *ServiceView) Owners() (mesh.PortOwners, error) {
	v.resolve()
	return v.owners, v.err
}

// EligibleRoutes returns the routes that take part on the Service, in no order.
func (v *ServiceView) EligibleRoutes() ([]*mesh.AttachedRoute, error) {
	v.resolve()
	return v.routes, v.err
}

func (v *ServiceView) resolve() {
	switch {
	case v.recorder == nil && !v.resolved:
		v.look()
	case !v.resolved:
		v.reads = v.recorder.during(v.look)
	case v.recorder != nil:
		v.recorder.again(v.reads)
	}
	v.resolved = true
}

func (v *ServiceView) look() {
	service, err := v.world.Service(v.key)
	if err == nil {
		v.routes, err = v.eligibleRoutes()
	}
	if err != nil {
		if !errors.Is(err, mesh.ErrNotFound) {
			v.err = err
		}
		return
	}
	if len(service.Ports)*len(v.routes) > mostHeld {
		return
	}
	v.owners = v.engine.policy.Mesh.Precedence(service, v.routes)
}

func (v *ServiceView) eligibleRoutes() ([]*mesh.AttachedRoute, error) {
	stored, err := v.world.AttachedRoutes(v.key, v.namespace)
	if err != nil {
		return nil, err
	}
	routes := make([]*mesh.AttachedRoute, 0, len(stored)+1)
	// The result depends only on kind and namespace, which most routes on a Service
	// have in common.
	var (
		last     *mesh.AttachedRoute
		eligible bool
	)
	add := func(route *mesh.AttachedRoute) error {
		if last == nil || last.Kind != route.Kind || last.Namespace != route.Namespace {
			last = route
			if eligible, err = v.Eligible(route); err != nil {
				return err
			}
		}
		if eligible {
			routes = append(routes, route)
		}
		return nil
	}
	for _, route := range stored {
		if v.own != nil && route.Same(v.own) {
			continue
		}
		if err := add(route); err != nil {
			return nil, err
		}
	}
	if v.own != nil {
		err = add(v.own)
	}
	return routes, err
}

// Eligible reports whether routes of this kind and namespace may own ports of the
// Service: the mesh implements the kind, and neither a missing grant nor a refusal
// keeps them out (GEP-1294, Route types). Whether a parentRef attaches is another
// matter.
func (v *ServiceView) Eligible(route *mesh.AttachedRoute) (bool, error) {
	if !v.engine.policy.Implements(route.Kind) {
		return false, nil
	}
	_, outcome, err := v.access(route)
	return outcome.Fault == NoFault, err
}

// Ineligible says why the route is not eligible; why is empty if it is. Unknown are
// the faults that cannot be known.
func (v *ServiceView) Ineligible(route *mesh.AttachedRoute) (why string, unknown Faults, err error) {
	if !v.engine.policy.Implements(route.Kind) {
		return fmt.Sprintf("the mesh does not implement %s", route.Kind), 0, nil
	}
	parent, outcome, err := v.access(route)
	if outcome.Fault != NoFault {
		why = v.engine.Describe(outcome.Fault, parent).Problem
	}
	return why, outcome.Unknown, err
}

// access evaluates the faults that keep routes of this kind and namespace out.
func (v *ServiceView) access(route *mesh.AttachedRoute) (*Parent, Outcome, error) {
	parent := &Parent{Route: route, Key: v.key, Scope: mesh.ScopeOf(route.Namespace, v.key), view: v}
	namespace, err := mesh.Known(v.world.Namespace(route.Namespace))
	if err != nil {
		return parent, Outcome{}, err
	}
	outcome, err := parent.access(v.engine.excluding(namespace))
	return parent, outcome, err
}
