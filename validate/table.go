package validate

import (
	"errors"
	"slices"

	"github.com/gammaguard/gammaguard/mesh"
)

// Table is one Service, or the lack of one, with the routes on it, from one state
// of the cluster; it may or may not show later changes. It is for one goroutine.
type Table struct {
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
	owners   mesh.PortOwners
	resolved bool
	err      error
}

// Table returns the table of the Service with all its routes.
func (e *Engine) Table(world mesh.Reader, key mesh.ServiceKey) *Table {
	return &Table{engine: e, world: world, key: key}
}

// Tables are the tables of Services in one state of the cluster, each worked out once. They
// are for one goroutine.
type Tables struct {
	engine *Engine
	world  mesh.Reader
	made   map[mesh.ServiceKey]*Table
}

// Tables returns the tables of the world, which must not change while they are used.
func (e *Engine) Tables(world mesh.Reader) *Tables {
	return &Tables{engine: e, world: world, made: map[mesh.ServiceKey]*Table{}}
}

// Of returns the table of the Service with all its routes.
func (t *Tables) Of(key mesh.ServiceKey) *Table {
	table := t.made[key]
	if table == nil {
		table = t.engine.Table(t.world, key)
		t.made[key] = table
	}
	return table
}

// Judge judges, as Engine.Judge does, a route that the world has as the request has it. Many
// routes on one Service cost one table, not one each. The findings cannot be confirmed.
func (t *Tables) Judge(req *Request) (Verdict, error) {
	pass := t.engine.newPass(req.Route, t.world)
	pass.tables = t
	return t.engine.judge(req, pass)
}

// maxPortBindings bounds what routes may hold of one Service: its ports times its routes. A Service
// may have as many ports as etcd stores, about 20,000.
const maxPortBindings = 1 << 20

// Owners returns who owns each port of the Service in each scope: none where the Service
// does not exist, or has more ports times routes than maxPortBindings. The error is the failure of
// a read, or mesh.ErrUnknown if the routes are not known.
func (t *Table) Owners() (mesh.PortOwners, error) {
	t.resolve()
	return t.owners, t.err
}

func (t *Table) resolve() {
	if t.resolved {
		if t.recorder != nil {
			t.recorder.again(t.reads)
		}
		return
	}
	before := t.recorder.mark()
	t.look()
	t.resolved, t.reads = true, t.recorder.since(before)
}

func (t *Table) look() {
	routes, err := t.eligibleRoutes()
	var service *mesh.Service
	if err == nil && len(routes) > 0 { // most backends have none, and need not be looked up
		service, err = mesh.FindService(t.world, t.key)
	}
	switch {
	case errors.Is(err, mesh.ErrNotFound):
	case err != nil:
		t.err = err
	case service != nil && len(service.Ports)*len(routes) <= maxPortBindings:
		t.owners = t.engine.policy.Mesh.Precedence(service, routes)
	}
}

func (t *Table) eligibleRoutes() ([]*mesh.AttachedRoute, error) {
	stored, err := mesh.AttachedRoutes(t.world, t.key, t.namespace)
	if err != nil {
		return nil, err
	}
	routes := make([]*mesh.AttachedRoute, 0, len(stored)+1)
	// The result depends only on kind and namespace, which most routes on a Service
	// have in common.
	var (
		last *mesh.AttachedRoute
		may  bool
	)
	eligible := func(route *mesh.AttachedRoute) (bool, error) {
		if route.Dropped != "" {
			return false, nil
		}
		if last == nil || last.Kind != route.Kind || last.Namespace != route.Namespace {
			last = route
			if may, err = t.Eligible(route); err != nil {
				return false, err
			}
		}
		return may, nil
	}
	for _, route := range stored {
		if t.own != nil && route.Same(t.own) {
			continue
		}
		if may, err := eligible(route); err != nil {
			return nil, err
		} else if may {
			routes = append(routes, route)
		}
	}
	if t.own == nil {
		return routes, nil
	}
	if may, err := eligible(t.own); err != nil || !may {
		return routes, err
	}
	// In its place by age, where the others are in theirs: nothing needs to be sorted then.
	i, _ := slices.BinarySearchFunc(routes, t.own, (*mesh.AttachedRoute).CompareAge)
	return slices.Insert(routes, i, t.own), nil
}

// Eligible reports whether routes of this kind and namespace may own ports of the
// Service: the mesh acts on them, and neither a missing grant nor a refusal
// keeps them out (GEP-1294, Route types). Whether a parentRef attaches is another
// matter.
func (t *Table) Eligible(route *mesh.AttachedRoute) (bool, error) {
	scope := mesh.ScopeOf(route.Namespace, t.key)
	if t.engine.policy.Ignores(route, t.key) {
		return false, nil
	}
	parent := Parent{Route: route, Key: t.key, Scope: scope, table: t}
	outcome, err := parent.excluded()
	return outcome.Fault == NoFault, err
}

// excluded finds the first fault in force that keeps the route from owning ports, whatever else the Service is.
func (p *Parent) excluded() (Outcome, error) {
	namespace, err := mesh.Known(mesh.FindNamespace(p.table.world, p.Route.Namespace))
	if err != nil {
		return Outcome{}, err
	}
	return p.Evaluate(p.table.engine.excluding(namespace))
}
