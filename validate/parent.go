package validate

import (
	"errors"
	"slices"

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

// allFaults is the set of all faults.
const allFaults = Faults(1)<<faults - 1

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
	// Ports are those that the route attaches to, also if it should not: a mesh may ignore sectionName.
	Ports []mesh.Port
	// Lost are the ports that others hold, in the order of the Service.
	Lost []LostPort

	table   *Table
	answers [len(faultsOf)]answer
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
// table's Service.
func (t *Table) Parent(route *mesh.AttachedRoute, index int) Parent {
	return Parent{
		Route: route, Index: index, Ref: &route.Parents[index], Key: t.key,
		Scope: mesh.ScopeOf(route.Namespace, t.key), table: t,
	}
}

// Unselected returns those of Ports that the mesh does not apply the route on, as the parentRef has no
// port. The error is that of Table.Owners.
func (p *Parent) Unselected() ([]mesh.Port, error) {
	if !slices.ContainsFunc(p.Ports, func(port mesh.Port) bool { return !p.selects(&port) }) {
		return nil, nil
	}
	owners, err := p.table.Owners()
	return slices.DeleteFunc(slices.Clone(p.Ports), func(port mesh.Port) bool {
		return p.selects(&port) || owners[p.At(port)].Has(p.Route)
	}), err
}

// selects reports whether the mesh has the parentRef select a port that it attaches to.
func (p *Parent) selects(port *mesh.Port) bool {
	return p.table.engine.policy.Mesh.Selects(p.Route.Kind, p.Ref, port)
}

// Evaluate finds the first fault of the parentRef: grant, refusal by the
// Service's side, existence, kind of Service, ports, conflict, in this order. Only
// faults that count are looked for. A grant or a refusal that cannot be known counts
// as held, or as none. The error is the failure of a read.
func (p *Parent) Evaluate(counts Faults) (Outcome, error) {
	var outcome Outcome
	for question, faults := range faultsOf {
		if counts&faults == 0 {
			continue
		}
		answer := p.ask(question)
		if answer.unknown {
			outcome.Unknown |= counts & Only(answer.fault)
		} else if counts.Has(answer.fault) {
			outcome.Fault = answer.fault
		}
		if answer.err != nil || outcome.Fault != NoFault {
			return outcome, answer.err
		}
	}
	return outcome, nil
}

// question is one of those that decide what becomes of a parentRef, in their order.
type question = int

const (
	// whetherGranted: does the route's namespace have the grant?
	whetherGranted question = iota
	// whetherRefused: does the Service's side refuse it?
	whetherRefused
	// whetherAttached: is there a Service, of a kind that can be a parent, with such ports?
	whetherAttached
	// whetherHeld: do other routes hold the ports?
	whetherHeld
)

// faultsOf are the faults that each question finds.
var faultsOf = [...]Faults{
	whetherGranted: Only(GrantMissing),
	whetherRefused: Only(ConsumerRefused),
	whetherAttached: Only(ParentNotFound) | Only(ParentExternalName) | Only(ParentHeadless) | Only(ParentPortNotFound) |
		Only(ParentProtocolMismatch),
	whetherHeld: Only(PortsLost),
}

// answer is what has been found out: a fault, or the one that cannot be known, or neither;
// and what was read for it.
type answer struct {
	asked   bool
	fault   Fault
	unknown bool
	err     error
	reads   []mesh.Read
}

// ask answers a question once. Whoever asks again has read the same.
func (p *Parent) ask(q question) *answer {
	a, recorder := &p.answers[q], p.table.recorder
	if a.asked {
		if recorder != nil {
			recorder.again(a.reads)
		}
		return a
	}
	before := recorder.mark()
	switch q {
	case whetherGranted:
		a.fault, a.unknown, a.err = p.grant()
	case whetherRefused:
		a.fault, a.unknown, a.err = p.handshake()
	case whetherAttached:
		a.fault, a.unknown, a.err = p.attach()
	case whetherHeld:
		a.fault, a.err = p.compete()
	}
	a.asked, a.reads = true, recorder.since(before)
	return a
}

// grant reads the route's namespace for the grant.
func (p *Parent) grant() (fault Fault, unknown bool, err error) {
	namespace, why := mesh.FindNamespace(p.table.world, p.Route.Namespace)
	if p.Namespace, err = mesh.Known(namespace, why); err != nil {
		return NoFault, false, err
	}
	unknown = errors.Is(why, mesh.ErrUnknown)
	if !unknown && p.table.engine.policy.Grants.Allows(p.Namespace, p.Scope.Role(), p.Route.Kind) {
		return NoFault, false, nil
	}
	return GrantMissing, unknown, nil
}

// handshake asks the Service's side (GEP-724), and sets Refusal.
func (p *Parent) handshake() (fault Fault, unknown bool, err error) {
	if p.Scope.Role() != mesh.Consumer {
		return NoFault, false, nil
	}
	p.Refusal, unknown, err = p.table.engine.policy.Grants.Handshake(p.table.world, p.Key, p.Route.Namespace, p.Route.Kind)
	if unknown || p.Refusal.By != mesh.NotRefused {
		fault = ConsumerRefused
	}
	return fault, unknown, err
}

// attach looks the Service up and attaches the route to its ports.
func (p *Parent) attach() (fault Fault, unknown bool, err error) {
	service, err := mesh.FindService(p.table.world, p.Key)
	switch {
	case errors.Is(err, mesh.ErrNotFound), errors.Is(err, mesh.ErrUnknown):
		p.Missing = err
		return ParentNotFound, errors.Is(err, mesh.ErrUnknown), nil
	case err != nil:
		return NoFault, false, err
	}
	var attachment mesh.Attachment
	p.Service = service
	p.Ports, attachment = service.Attach(p.Route.Kind, p.Ref, p.table.engine.policy.Mesh)
	return attachmentFaults[attachment], false, nil
}

// compete compares the route with the owners of the ports that it attaches to.
func (p *Parent) compete() (Fault, error) {
	if attached := p.ask(whetherAttached); attached.err != nil || len(p.Ports) == 0 || p.table.engine.policy.Ignores(p.Route, p.Key) {
		return NoFault, attached.err
	}
	owners, err := p.table.Owners()
	for _, port := range p.Ports {
		if owner := owners.LostTo(p.Route, p.At(port)); owner != nil {
			p.Lost = append(p.Lost, LostPort{p.At(port), owner})
		}
	}
	if len(p.Lost) > 0 {
		return PortsLost, err
	}
	return NoFault, err
}

// Kept returns the ports that others do not hold, if the parentRef has lost any.
func (p *Parent) Kept() []mesh.PortScope {
	var kept []mesh.PortScope
	for _, port := range p.Ports {
		if at := p.At(port); !slices.ContainsFunc(p.Lost, func(lost LostPort) bool { return lost.PortScope == at }) {
			kept = append(kept, at)
		}
	}
	return kept
}

// At returns what the parentRef competes for at a port.
func (p *Parent) At(port mesh.Port) mesh.PortScope {
	return mesh.PortScope{Port: port.Number, Protocol: port.Protocol, Scope: p.Scope}
}

// Path returns the path of the parentRef, or of a field in it.
func (p *Parent) Path(field string) string { return mesh.ParentPath(p.Index, field) }

// Reference identifies the parentRef in findings.
func (p *Parent) Reference() Reference {
	return Reference{Service: p.Key, Detail: refDetail(p.Ref.Port, p.Ref.SectionName)}
}
