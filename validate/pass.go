package validate

import (
	"errors"

	"github.com/gammaguard/gammaguard/mesh"
)

// Pass is one run of the rules over one route. Rules read the route and the world
// through it, and report to it.
type Pass struct {
	Route  *mesh.Route
	Policy *Policy

	world    mesh.World
	rule     *Rule
	refs     []Parent
	resolved bool
	backends []BackendService
	attached *mesh.AttachedRoute
	contests []*contest
	findings []Finding
	unknown  []Finding
	err      error
}

// Parent is a mesh parent of the route: a parentRef to a Service or ServiceImport.
type Parent struct {
	// Index is the parentRef's index in spec.parentRefs.
	Index int
	Ref   *mesh.ParentRef
	Key   mesh.ServiceKey
	Scope mesh.Scope
	// Service is the parent, or nil if it does not exist or cannot be known.
	// Only what Pass.Parents returns has it, and the fields below.
	Service *mesh.Service
	// Attachment says whether, and Ports to which ports, the route attaches.
	Attachment mesh.Attachment
	Ports      []mesh.Port
}

// Path returns the path of the parentRef, or of a field in it.
func (p *Parent) Path(field string) string { return parentPath(p.Index, field) }

// MeshRefs returns the mesh parents of the route as they are written, without
// looking at the world.
func (p *Pass) MeshRefs() []Parent {
	if p.refs == nil {
		p.refs = make([]Parent, 0, len(p.Route.Spec.ParentRefs))
		for i := range p.Route.Spec.ParentRefs {
			ref := &p.Route.Spec.ParentRefs[i]
			if ref.Class() != mesh.MeshParent {
				continue
			}
			key := ref.Service(p.Route.Metadata.Namespace)
			p.refs = append(p.refs, Parent{Index: i, Ref: ref, Key: key, Scope: mesh.ScopeOf(p.Route.Metadata.Namespace, key)})
		}
	}
	return p.refs
}

// Parents returns the mesh parents of the route with their Services.
func (p *Pass) Parents() []Parent {
	parents := p.MeshRefs()
	if !p.resolved {
		p.resolved = true
		for i := range parents {
			parent := &parents[i]
			if parent.Service = p.Service(parent.Key); parent.Service != nil {
				parent.Ports, parent.Attachment = parent.Service.Attach(p.Route.Kind, parent.Ref)
			}
		}
	}
	return parents
}

// Service returns the Service or ServiceImport, or nil if it does not exist or
// cannot be known. To tell these apart is for Missing.
func (p *Pass) Service(key mesh.ServiceKey) *mesh.Service {
	service, err := p.world.Service(key)
	p.note(err)
	if err != nil {
		return nil
	}
	return service
}

// Missing returns mesh.ErrNotFound or mesh.ErrNotServed if the Service does not
// exist. If that cannot be known it returns nil, and keeps the finding among the
// verdict's unknowns.
func (p *Pass) Missing(key mesh.ServiceKey, f Finding) error {
	_, err := p.world.Service(key)
	p.note(err)
	switch {
	case errors.Is(err, mesh.ErrNotFound):
		return err
	case errors.Is(err, mesh.ErrUnknown):
		p.Unknown(f)
	}
	return nil
}

// Namespace returns the namespace, or nil if it does not exist; known is false
// where that cannot be known.
func (p *Pass) Namespace(name string) (namespace *mesh.Namespace, known bool) {
	namespace, err := p.world.Namespace(name)
	p.note(err)
	if err != nil {
		return nil, errors.Is(err, mesh.ErrNotFound)
	}
	return namespace, true
}

// Unknown keeps the finding among the verdict's unknowns: what the rule would
// need cannot be known.
func (p *Pass) Unknown(f Finding) {
	f.Rule = p.rule.ID
	p.unknown = append(p.unknown, f)
}

// HasEndpoints says whether the Service has an endpoint; known is false where
// that cannot be known.
func (p *Pass) HasEndpoints(key mesh.ServiceKey) (has, known bool) {
	has, err := p.world.HasEndpoints(key)
	p.note(err)
	return has, err == nil
}

// ReferenceGrants returns the ReferenceGrants in a namespace; known is false
// where these cannot be known.
func (p *Pass) ReferenceGrants(namespace string) (grants []mesh.ReferenceGrant, known bool) {
	grants, err := p.world.ReferenceGrants(namespace)
	p.note(err)
	return grants, err == nil
}

// BackendService is a backendRef of the route to a Service or ServiceImport.
type BackendService struct {
	mesh.Backend
	Key mesh.ServiceKey
	// Service is nil if it does not exist or cannot be known.
	Service *mesh.Service
}

// BackendServices returns every backendRef to a Service or ServiceImport, if the
// route has a mesh parent.
func (p *Pass) BackendServices() []BackendService {
	if p.backends == nil && len(p.MeshRefs()) > 0 {
		p.backends = make([]BackendService, 0, 2*len(p.Route.Spec.Rules))
		for backend := range p.Route.Backends() {
			if backend.Ref.IsService() {
				key := backend.Ref.Service(p.Route.Metadata.Namespace)
				p.backends = append(p.backends, BackendService{backend, key, p.Service(key)})
			}
		}
	}
	return p.backends
}

// Attached returns the route at hand as other routes see it.
func (p *Pass) Attached() *mesh.AttachedRoute {
	if p.attached == nil {
		p.attached = p.Route.Attached()
	}
	return p.attached
}

// Report adds a finding of the rule that is running.
func (p *Pass) Report(f Finding) {
	f.Rule = p.rule.ID
	if p.findings == nil {
		p.findings = make([]Finding, 0, 4)
	}
	p.findings = append(p.findings, f)
}

// note keeps the first error that says that the world could not be asked.
func (p *Pass) note(err error) {
	if err != nil && p.err == nil && !errors.Is(err, mesh.ErrNotFound) && !errors.Is(err, mesh.ErrUnknown) {
		p.err = err
	}
}

// Reference identifies the parentRef in findings.
func (p *Parent) Reference() Reference {
	return Reference{Service: p.Key, Detail: refDetail(p.Ref.Port, p.Ref.SectionName)}
}
