package validate

import (
	"errors"
	"iter"
	"slices"

	"github.com/gammaguard/gammaguard/mesh"
)

// Pass is one run of the rules over one route. Rules read the route and the
// cluster through it, and report to it.
type Pass struct {
	Route  *mesh.Route
	Policy *Policy

	engine   *Engine
	world    *recorder
	rule     activeRule
	parents  []Parent
	backends []BackendService
	// otherTables are the tables that OwnersAmong has made.
	otherTables []*Table
	// tables are those of a world that has the route as it is; nil where it may not.
	tables      *Tables
	attached    *mesh.AttachedRoute
	modified    []mesh.ModifiedHeader
	expressions []mesh.Expression
	// contents is set once modified and expressions are known: most routes have neither.
	contents bool
	findings []Finding
	unknown  []Finding
	err      error
}

func (e *Engine) newPass(route *mesh.Route, world mesh.Reader) *Pass {
	return &Pass{Route: route, Policy: e.policy, engine: e, world: newRecorder(world)}
}

// run runs one rule, if it is about routes of the kind.
func (p *Pass) run(rule activeRule) {
	if len(rule.Kinds) > 0 && !slices.Contains(rule.Kinds, p.Route.Kind) {
		return
	}
	p.rule = rule
	if rule.Route != nil {
		p.world.begin()
		rule.Route(p)
	}
	switch rule.Fault {
	case NoFault:
	case GrantMissing:
		p.each(p.granted(), p.evaluate)
	case ConsumerRefused:
		p.each(p.refusable(), p.evaluate)
	default:
		p.each(p.Parents(), p.evaluate)
	}
	if rule.Parent != nil {
		p.each(p.Parents(), func(parent *Parent) {
			p.Ports(parent)
			rule.Parent(p, parent)
		})
	}
	if rule.Other != nil {
		for i := range p.Route.Spec.ParentRefs {
			if isOtherParent(&p.Route.Spec.ParentRefs[i]) {
				p.world.begin()
				rule.Other(p, i)
			}
		}
	}
	if rule.Backend != nil {
		backends := p.Backends()
		for i := range backends {
			p.world.begin()
			rule.Backend(p, &backends[i])
		}
	}
}

func (p *Pass) each(parents []Parent, f func(*Parent)) {
	for i := range parents {
		p.world.begin()
		f(&parents[i])
	}
}

// evaluate reports the parent's fault, if it is the one that the rule is about.
func (p *Pass) evaluate(parent *Parent) {
	outcome, err := parent.Evaluate(Only(p.rule.Fault))
	p.note(err)
	switch {
	case outcome.Fault != NoFault:
		p.Report(p.rule.Describe(p.Policy, parent))
	case outcome.Unknown != 0:
		p.Unknown(p.rule.Describe(p.Policy, parent))
	}
}

// Ports looks up the Service of a mesh parent, and returns the ports that the route attaches to.
// Rule.Parent is called with the parent after that.
func (p *Pass) Ports(parent *Parent) []mesh.Port {
	p.note(parent.ask(whetherAttached).err)
	return parent.Ports
}

// Parents returns the mesh parents of the route as they are written, with the
// results of the rules that ran before.
func (p *Pass) Parents() []Parent {
	if p.parents == nil {
		p.parents = make([]Parent, 0, len(p.Route.Spec.ParentRefs))
		p.parents = p.selected(p.parents, func(ref *mesh.ParentRef) bool { return ref.Class(p.Policy.Mesh) == mesh.MeshParent })
	}
	return p.parents
}

// HasParent reports whether the Service is a mesh parent of the route.
func (p *Pass) HasParent(key mesh.ServiceKey) bool {
	parents := p.Parents()
	for i := range parents { // they are large
		if parents[i].Key == key {
			return true
		}
	}
	return false
}

// granted returns the parents that need a grant, those included that are no mesh
// parents but that some mesh may act on.
func (p *Pass) granted() []Parent {
	others := func(ref *mesh.ParentRef) bool {
		return ref.Class(p.Policy.Mesh) != mesh.MeshParent && p.Policy.Grants.Covers(ref)
	}
	return p.selected(p.Parents(), others)
}

// refusable returns the parents that the Service's side can refuse. Of a route of which only
// the grant is checked, no other rule refuses look-alikes.
func (p *Pass) refusable() []Parent {
	if !p.Route.Kind.GrantOnly() {
		return p.Parents()
	}
	return p.selected(p.Parents(), func(ref *mesh.ParentRef) bool { return ref.Class(p.Policy.Mesh) == mesh.LookAlikeParent })
}

// selected adds the parentRefs that are selected to the parents.
func (p *Pass) selected(parents []Parent, selects func(*mesh.ParentRef) bool) []Parent {
	route := p.Attached()
	for i := range route.Parents {
		if ref := &route.Parents[i]; selects(ref) {
			parents = append(parents, p.table(parents, ref.Service(route.Namespace)).Parent(route, i))
		}
	}
	return parents
}

// table returns the table of a parent Service: of the routes in this route's scope,
// with this route as it is now.
func (p *Pass) table(parents []Parent, key mesh.ServiceKey) *Table {
	for i := range parents {
		if parents[i].Key == key {
			return parents[i].table
		}
	}
	if p.tables != nil {
		return p.tables.Of(key)
	}
	own := p.Attached()
	return &Table{engine: p.engine, world: p.world, key: key, namespace: own.Namespace, own: own, recorder: p.world}
}

// Owned yields each port that the route selects by the parent, in the order of the
// Service, with its owner. It yields nothing for a kind that the mesh does not
// implement, or where the routes cannot be known.
func (p *Pass) Owned(parent *Parent) iter.Seq2[mesh.PortScope, *mesh.Owner] {
	return func(yield func(mesh.PortScope, *mesh.Owner) bool) {
		if len(parent.Ports) == 0 || p.Policy.Ignores(p.Attached(), parent.Key) {
			return
		}
		owners, err := parent.table.Owners()
		p.note(err)
		for _, port := range parent.Ports {
			if at := parent.At(port); owners[at] != nil && !yield(at, owners[at]) {
				return
			}
		}
	}
}

// Unselected is that of the parent.
func (p *Pass) Unselected(parent *Parent) []mesh.Port {
	ports, err := parent.Unselected()
	p.note(err)
	return ports
}

// OwnersAmong returns who owns the ports of a Service among the routes of one namespace, or of
// all if it is empty, with the route as it is now: none if that cannot be known.
func (p *Pass) OwnersAmong(service mesh.ServiceKey, namespace string) mesh.PortOwners {
	if p.tables != nil {
		owners, err := p.tables.Of(service).Owners()
		p.note(err)
		return owners
	}
	i := slices.IndexFunc(p.otherTables, func(t *Table) bool { return t.key == service && t.namespace == namespace })
	if i < 0 {
		i = len(p.otherTables)
		p.otherTables = append(p.otherTables, &Table{
			engine: p.engine, world: p.world, key: service, namespace: namespace, own: p.Attached(), recorder: p.world,
		})
	}
	owners, err := p.otherTables[i].Owners()
	p.note(err)
	return owners
}

// Unenrolled returns why the mesh applies no route on the parent's Service, or nil.
func (p *Pass) Unenrolled(parent *Parent) *mesh.Gap {
	gap, err := p.engine.Unenrolled(p.world, parent.Key, parent.Scope)
	p.note(err)
	return gap
}

// Service returns the Service or ServiceImport, or nil and mesh.ErrNotFound,
// mesh.ErrNotServed or mesh.ErrUnknown.
func (p *Pass) Service(key mesh.ServiceKey) (*mesh.Service, error) {
	service, err := mesh.FindService(p.world, key)
	p.note(err)
	return service, err
}

// Namespace returns the namespace, or nil where it does not exist or cannot be known.
func (p *Pass) Namespace(name string) *mesh.Namespace {
	namespace, err := mesh.FindNamespace(p.world, name)
	p.note(err)
	if err != nil {
		return nil
	}
	return namespace
}

// HasEndpoints reports whether the Service has an endpoint; known is false where
// that cannot be known.
func (p *Pass) HasEndpoints(key mesh.ServiceKey) (has, known bool) {
	has, err := mesh.HasEndpoints(p.world, key)
	p.note(err)
	return has, err == nil
}

// ReferenceGrants returns the ReferenceGrants in a namespace; known is false
// where these cannot be known.
func (p *Pass) ReferenceGrants(namespace string) (grants []mesh.ReferenceGrant, known bool) {
	grants, err := mesh.ReferenceGrants(p.world, namespace)
	p.note(err)
	return grants, err == nil
}

// Object reports whether an object of another implementation exists, as
// mesh.FindObject does.
func (p *Pass) Object(key mesh.ObjectKey) error { return mesh.FindObject(p.world, key) }

func isOtherParent(ref *mesh.ParentRef) bool {
	return ref.Class(nil) == mesh.ImplementationSpecificParent
}

// BackendService is a backendRef of the route to a Service or ServiceImport.
type BackendService struct {
	mesh.Backend
	Key mesh.ServiceKey
}

// Backends returns every backendRef to a Service or ServiceImport, if the route
// has a mesh parent.
func (p *Pass) Backends() []BackendService {
	if p.backends == nil && len(p.Parents()) > 0 {
		p.backends = make([]BackendService, 0, len(p.Route.Spec.Rules))
		for backend := range p.Route.Backends() {
			if backend.Ref.IsService(p.Policy.Mesh) {
				p.backends = append(p.backends, BackendService{backend, backend.Ref.Service(p.Route.Metadata.Namespace)})
			}
		}
	}
	return p.backends
}

// ModifiedHeaders returns the headers that the filters of a route with a mesh parent name.
func (p *Pass) ModifiedHeaders() []mesh.ModifiedHeader {
	p.look()
	return p.modified
}

// Expressions returns the regular expressions of a route with a mesh parent.
func (p *Pass) Expressions() []mesh.Expression {
	p.look()
	return p.expressions
}

// look goes through the rules of a route with a mesh parent, once.
func (p *Pass) look() {
	if !p.contents && len(p.Parents()) > 0 {
		p.modified, p.expressions = p.Route.ModifiedHeaders(), p.Route.Expressions()
	}
	p.contents = true
}

// Attached returns the route at hand as other routes see it.
func (p *Pass) Attached() *mesh.AttachedRoute {
	if p.attached == nil {
		p.attached = p.Route.Attached(p.Policy.Mesh)
	}
	return p.attached
}

// Report adds a finding of the rule that is running.
func (p *Pass) Report(f Finding) {
	f.Rule, f.ofTraffic = p.rule.ID, p.rule.OfTraffic
	f.quote()
	if p.rule.actionOf(&f) == Deny {
		f.reads = slices.Clone(p.world.Reads)
	}
	if p.findings == nil {
		p.findings = make([]Finding, 0, 4)
	}
	p.findings = append(p.findings, f)
}

// ReportOnce reports the finding, unless the rule has reported one on the field.
func (p *Pass) ReportOnce(f Finding) {
	if !slices.ContainsFunc(p.findings, func(g Finding) bool { return g.Rule == p.rule.ID && g.Field == f.Field }) {
		p.Report(f)
	}
}

// Unknown keeps the finding among the verdict's unknowns: what the rule would need cannot be known. Like a finding, it is not kept
// where the rule only warns and the route's annotation silences it. A backend that several rules do not know is one unknown, of the last rule.
func (p *Pass) Unknown(f Finding) {
	f.Rule = p.rule.ID
	if p.rule.actionOf(&f) != Deny && ignored(p.Route)[f.Rule] {
		return
	}
	f.quote()
	if p.rule.Backend != nil {
		p.unknown = slices.DeleteFunc(p.unknown, func(u Finding) bool { return u.Field == f.Field })
	}
	p.unknown = append(p.unknown, f)
}

// note keeps the first error of a read that failed.
func (p *Pass) note(err error) {
	if err != nil && p.err == nil && !errors.Is(err, mesh.ErrNotFound) && !errors.Is(err, mesh.ErrUnknown) {
		p.err = err
	}
}
