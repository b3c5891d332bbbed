package validate

import (
	"errors"

	"github.com/gammaguard/gammaguard/mesh"
)

// Fault is what keeps a parentRef to a Service from taking effect.
type Fault uint8

// The faults, in the order in which a parentRef is evaluated. Each is what one
// rule reports, and what status reports for the parentRef.
const (
	NoFault Fault = iota
	// GrantMissing: the route's namespace lacks the grant for its role.
	GrantMissing
	// ConsumerRefused: the Service's side refuses consumer routes.
	ConsumerRefused
	// ParentNotFound: the Service does not exist.
	ParentNotFound
	// ParentExternalName, ParentHeadless: the Service is of a kind that cannot be a
	// parent (GEP-1294, Allowed service types).
	ParentExternalName
	ParentHeadless
	// ParentPortNotFound, ParentProtocolMismatch: no port of the Service is selected,
	// or none of the route's transport (GEP-1294, Ports).
	ParentPortNotFound
	ParentProtocolMismatch
	// PortsLost: routes of a more specific kind hold some or all of the ports
	// (GEP-1294, Route types).
	PortsLost

	faults // how many there are
)

// Faults is a set of faults.
type Faults uint16

// AllFaults is the set of all faults.
const AllFaults = Faults(1)<<faults - 1

// Only returns the set of one fault.
func Only(fault Fault) Faults { return 1 << fault }

// Has reports whether the fault is in the set.
func (f Faults) Has(fault Fault) bool { return f&Only(fault) != 0 }

// attachmentFaults are the faults that a Service's refusal to attach is.
var attachmentFaults = [...]Fault{
	mesh.Attached:                NoFault,
	mesh.NotAttachedExternalName: ParentExternalName,
	mesh.NotAttachedHeadless:     ParentHeadless,
	mesh.NotAttachedNoPort:       ParentPortNotFound,
	mesh.NotAttachedTransport:    ParentProtocolMismatch,
}

// Parent is a mesh parent of a route: one of its parentRefs, to a Service or
// ServiceImport, and the results of its evaluation.
type Parent struct {
	// Route is the route, Index the parentRef's index in its spec.parentRefs.
	Route *mesh.AttachedRoute
	Index int
	Ref   *mesh.ParentRef
	Key   mesh.ServiceKey
	Scope mesh.Scope

	// Namespace is the route's; nil if it does not exist or was not read.
	Namespace *mesh.Namespace
	// Refusal is why consumer routes are refused.
	Refusal mesh.Refusal
	// Service is the parent, nil if it does not exist or cannot be known; Missing
	// then says which.
	Service *mesh.Service
	Missing error
	// Ports are those that the route attaches to.
	Ports []mesh.Port
	// Lost are the ports that others hold, in the order of the Service, and Kept the
	// other ones.
	Lost []LostPort
	Kept []mesh.PortScope

	view *ServiceView
}

// LostPort is a port that routes of a more specific kind hold.
type LostPort struct {
	mesh.PortScope
	Owner *mesh.Owner
}

// Outcome is the result of an evaluation.
type Outcome struct {
	// Fault is the first fault, among those that count.
	Fault Fault
	// Unknown are those that could not be decided, because what it takes is not known.
	Unknown Faults
}

// Parent returns the parentRef of the route with that index, which must be to the
// view's Service.
func (v *ServiceView) Parent(route *mesh.AttachedRoute, index int) Parent {
	return Parent{
		Route: route, Index: index, Ref: &route.Parents[index], Key: v.key,
		Scope: mesh.ScopeOf(route.Namespace, v.key), view: v,
	}
}

// Evaluate finds the first fault of the parentRef: grant, refusal by the
// Service's side, existence, kind of Service, ports, conflict, in this order. Only
// faults that count are looked for. A grant or a refusal that cannot be known counts
// as held, or as none. The error is the failure of a read.
func (p *Parent) Evaluate(counts Faults) (Outcome, error) {
	outcome, err := p.access(counts)
	if err != nil || outcome.Fault != NoFault || counts < Only(ParentNotFound) {
		return outcome, err // nothing else is read
	}
	fault, err := p.attach()
	switch {
	case err != nil:
		return outcome, err
	case errors.Is(p.Missing, mesh.ErrUnknown):
		outcome.Unknown |= counts & Only(ParentNotFound)
	case fault != NoFault:
		if counts.Has(fault) {
			outcome.Fault = fault
		}
	case counts.Has(PortsLost):
		err = p.compete()
		if len(p.Lost) > 0 {
			outcome.Fault = PortsLost
		}
	}
	return outcome, err
}

// access is the part of Evaluate that asks whether the route may attach at all.
func (p *Parent) access(counts Faults) (outcome Outcome, err error) {
	if counts.Has(GrantMissing) {
		namespace, why := p.view.world.Namespace(p.Route.Namespace)
		if p.Namespace, err = mesh.Known(namespace, why); err != nil {
			return outcome, err
		}
		switch {
		case errors.Is(why, mesh.ErrUnknown):
			outcome.Unknown |= Only(GrantMissing)
		case !p.view.engine.policy.Grants.Allows(p.Namespace, p.Scope.Role(), p.Route.Kind):
			return Outcome{Fault: GrantMissing}, nil
		}
	}
	if p.Scope.Role() == mesh.Consumer && counts.Has(ConsumerRefused) {
		unknown, err := p.handshake()
		switch {
		case err != nil:
			return outcome, err
		case unknown:
			outcome.Unknown |= Only(ConsumerRefused)
		case p.Refusal.By != mesh.NotRefused:
			return Outcome{Fault: ConsumerRefused}, nil
		}
	}
	return outcome, nil
}

// handshake sets Refusal (GEP-724), and reports whether it cannot be known.
func (p *Parent) handshake() (unknown bool, err error) {
	namespace, whyTheirs := p.view.world.Namespace(p.Key.Namespace)
	theirs, err := mesh.Known(namespace, whyTheirs)
	if err != nil {
		return false, err
	}
	namespace, whyOwn := p.view.world.Namespace(p.Route.Namespace)
	own, err := mesh.Known(namespace, whyOwn)
	if err != nil {
		return false, err
	}
	service, err := mesh.Known(p.view.world.Service(p.Key))
	if err != nil {
		return false, err
	}
	p.Refusal = mesh.RefusesConsumers(theirs, service, own, p.Route.Kind)
	switch {
	case p.Refusal.By == mesh.NotRefused:
		return errors.Is(whyTheirs, mesh.ErrUnknown) && service == nil, nil
	case p.Refusal.Selects() && errors.Is(whyOwn, mesh.ErrUnknown):
		p.Refusal = mesh.Refusal{}
		return true, nil
	}
	return false, nil
}

// attach looks the Service up and attaches the route to its ports.
func (p *Parent) attach() (Fault, error) {
	var err error
	p.Service, err = p.view.world.Service(p.Key)
	p.Ports, p.Missing = nil, nil
	switch {
	case errors.Is(err, mesh.ErrNotFound), errors.Is(err, mesh.ErrUnknown):
		p.Service, p.Missing = nil, err
		return ParentNotFound, nil
	case err != nil:
		return NoFault, err
	}
	var attachment mesh.Attachment
	p.Ports, attachment = p.Service.Attach(p.Route.Kind, p.Ref)
	return attachmentFaults[attachment], nil
}

// compete compares the route with the owners of the ports that it attaches to.
func (p *Parent) compete() error {
	p.Lost, p.Kept = nil, nil
	if !p.view.engine.policy.Implements(p.Route.Kind) {
		return nil
	}
	owners, err := p.view.Owners()
	for _, at := range p.portScopes() {
		if owner := owners.LostTo(p.Route, at); owner != nil {
			p.Lost = append(p.Lost, LostPort{at, owner})
		} else {
			p.Kept = append(p.Kept, at)
		}
	}
	return err
}

// portScopes returns what the parentRef competes for.
func (p *Parent) portScopes() []mesh.PortScope {
	scopes := make([]mesh.PortScope, len(p.Ports))
	for i, port := range p.Ports {
		scopes[i] = mesh.PortScope{Port: port.Number, Protocol: port.Protocol, Scope: p.Scope}
	}
	return scopes
}

// Path returns the path of the parentRef, or of a field in it.
func (p *Parent) Path(field string) string { return mesh.ParentPath(p.Index, field) }

// Reference identifies the parentRef in findings.
func (p *Parent) Reference() Reference {
	return Reference{Service: p.Key, Detail: refDetail(p.Ref.Port, p.Ref.SectionName)}
}
