package validate

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/mesh"
)

// State is what becomes of a route on a Service port. These words are those of every
// command, page and format.
type State string

const (
	// Applies: its matches decide for the requests of this scope.
	Applies State = "applies"
	// Shares: it applies, and so do other routes there, with which it merges.
	Shares State = "shares"
	// Replaced: a producer route, for the clients of a namespace that has consumer routes
	// on the port (GEP-1294, Multiple routes for a Service).
	Replaced State = "replaced"
	// Loses: a route of a more specific kind holds the port (GEP-1294, Route types), or one that
	// the mesh does not merge with it (mesh.Owner, Split), or compares across scopes (Across).
	Loses State = "loses"
	// NoGrant: the route's namespace lacks the grant.
	NoGrant State = "no-grant"
	// Refused: the Service's side accepts no such route (GEP-724).
	Refused State = "refused"
	// Invalid: the parentRef is at fault: there is no such Service or port, or not of such a
	// kind.
	Invalid State = "invalid"
	// Unsupported: the mesh of the configuration does not act on it.
	Unsupported State = "unsupported"
	// Dormant: no mesh acts on the parentRef as it is written, until it is changed.
	Dormant State = "dormant"
	// Unknown: it cannot be known, as with files.
	Unknown State = "unknown"
)

// States returns every state, in the order in which they are listed.
func States() []State {
	return []State{Applies, Shares, Replaced, Loses, NoGrant, Refused, Invalid, Unsupported, Dormant, Unknown}
}

// Compare is negative where a is listed before b.
func (a State) Compare(b State) int {
	return cmp.Compare(slices.Index(States(), a), slices.Index(States(), b))
}

// InEffect reports whether the mesh acts on the route there.
func (a State) InEffect() bool { return a == Applies || a == Shares }

// Binding is what becomes of a route, by one of its parentRefs, for the requests of one
// scope to one port of a Service.
type Binding struct {
	Route *mesh.AttachedRoute
	// Ref is the parentRef's index.
	Ref int
	// At is the port, and whose requests: of the route's own scope, or of the namespace
	// whose consumer routes replace it. The port is zero where the parentRef selects none.
	At    mesh.PortScope
	State State
	// Fault is what is wrong, also where it is not enforced, so that the route applies.
	Fault Fault
	// By is the oldest route that it loses to, is replaced by, or shares the port with.
	By *mesh.AttachedRoute
	// Unknown are the faults that cannot be known, and count as not there.
	Unknown Faults
	// Joined: the mesh applies the route on the port since others select it, and it does not.
	Joined bool

	parent *Parent
}

// Bindings returns what becomes of all routes on the Service, in no order: of each mesh
// parentRef to it, and of those that are dormant. The error is the failure of a read.
func (t *Table) Bindings() ([]Binding, error) {
	routes, err := mesh.AttachedRoutes(t.world, t.key, t.namespace)
	if err != nil {
		return nil, err
	}
	var all []Binding
	for _, route := range routes {
		if all, err = t.of(all, route); err != nil {
			return nil, err
		}
	}
	return t.replaced(all), nil
}

// Of returns what becomes of one route on the Service, by each of its parentRefs to it.
func (t *Table) Of(route *mesh.AttachedRoute) ([]Binding, error) {
	all, err := t.of(nil, route)
	return t.replaced(all), err
}

func (t *Table) of(all []Binding, route *mesh.AttachedRoute) ([]Binding, error) {
	before := len(all)
	for i := range route.Parents {
		if ref := &route.Parents[i]; ref.ServiceKind() == "" || ref.Service(route.Namespace) != t.key {
			continue
		}
		bindings, err := t.bind(route, i)
		if err != nil {
			return nil, err
		}
		all = append(all, bindings...)
	}
	return t.joined(all, before), nil
}

// joined adds, to the bindings of a route from that index on, those to ports that it does not select, if the
// mesh applies it there since others select them.
func (t *Table) joined(all []Binding, from int) []Binding {
	profile := t.engine.policy.Mesh
	own := all[from:]
	first := slices.IndexFunc(own, func(b Binding) bool { return b.State.InEffect() })
	if first < 0 || profile == nil || !profile.PortsTogether.Value {
		return all
	}
	b, joined := own[first], len(all)
	for at, owner := range t.owners {
		if at.Scope == b.At.Scope && owner.Has(b.Route) && !slices.ContainsFunc(own, func(b Binding) bool { return b.At == at }) {
			b.At, b.Joined = at, true
			b.hold(owner)
			all = append(all, b)
		}
	}
	slices.SortFunc(all[joined:], Binding.Compare)
	return all
}

// bind answers the one question: what becomes of the route by this parentRef on each port
// that it selects? It asks in this order: is the parentRef one that a mesh acts on, is there
// a grant, does the Service's side accept the route, does it attach, does the mesh act on such
// routes, and who holds the port.
func (t *Table) bind(route *mesh.AttachedRoute, ref int) ([]Binding, error) {
	policy := t.engine.policy
	parent := t.Parent(route, ref)
	b := Binding{Route: route, Ref: ref, At: mesh.PortScope{Scope: parent.Scope}, parent: &parent}
	live := route.IsMeshParent(ref)
	if !live && (!route.Kind.GrantOnly() || !policy.Grants.Covers(parent.Ref)) {
		if parent.Ref.Class(policy.Mesh) != mesh.LookAlikeParent {
			return nil, nil
		}
		b.State = Dormant
	}
	if b.State == "" {
		if err := t.refuse(&b); err != nil {
			return nil, err
		}
	}
	if route.Kind.GrantOnly() {
		b.State = cmp.Or(b.State, Unknown)
		return []Binding{b}, nil
	}
	attached := parent.ask(whetherAttached)
	switch {
	case attached.err != nil:
		return nil, attached.err
	case b.State != "":
	case attached.unknown:
		b.State, b.Unknown = Unknown, b.Unknown|Only(attached.fault)
	case attached.fault != NoFault && len(parent.Ports) == 0:
		b.State, b.Fault = Invalid, attached.fault
	case policy.Ignores(route, t.key):
		b.State = Unsupported
	}
	if b.State == "" {
		b.Fault = cmp.Or(attached.fault, b.Fault)
	}
	if len(parent.Ports) == 0 {
		return []Binding{b}, nil
	}
	return t.onPorts(b)
}

// refuse sets the state of one that may not attach, and notes the fault where that is not
// enforced.
func (t *Table) refuse(b *Binding) error {
	outcome, err := b.parent.excluded()
	if err != nil {
		return err
	}
	b.Fault, b.Unknown = outcome.Fault, outcome.Unknown
	switch b.Fault {
	case GrantMissing:
		b.State = NoGrant
	case ConsumerRefused:
		b.State = Refused
	default:
		outcome, err = b.parent.Evaluate(Only(GrantMissing) | Only(ConsumerRefused))
		b.Fault, b.Unknown = outcome.Fault, b.Unknown|outcome.Unknown
	}
	return err
}

// onPorts returns the binding for each port that the parentRef selects.
func (t *Table) onPorts(b Binding) ([]Binding, error) {
	owners, err := t.Owners()
	if err != nil && !errors.Is(err, mesh.ErrUnknown) {
		return nil, err
	}
	bindings := make([]Binding, 0, len(b.parent.Ports))
	for _, port := range b.parent.Ports {
		here := b
		here.At = b.parent.At(port)
		here.Joined = !b.parent.selects(&port)
		if here.State == "" && here.Joined && !owners[here.At].Has(b.Route) {
			here.State = Unsupported
		}
		if here.State == "" {
			here.hold(owners[here.At])
		}
		bindings = append(bindings, here)
	}
	return bindings, nil
}

// hold sets the state of a route that takes part, by who owns the port: nobody where that
// cannot be known.
func (b *Binding) hold(owner *mesh.Owner) {
	switch {
	case owner == nil:
		b.State, b.Unknown = Unknown, b.Unknown|Only(PortsLost)
		return
	case !owner.Holds(b.Route.Kind):
		b.State, b.Fault, b.By = Loses, PortsLost, owner.Routes[0]
		return
	}
	if slices.ContainsFunc(owner.Split, b.Route.Same) {
		b.State, b.By = Loses, owner.Routes[0]
		return
	}
	if owner.Across != nil {
		b.State, b.By = Loses, owner.Across
		return
	}
	b.State = Applies
	for _, other := range owner.Routes {
		if !other.Same(b.Route) {
			b.State, b.By = Shares, other
			return
		}
	}
}

// maxReplaced is how many bindings replaced adds at most: there can be as many as producer
// routes times namespaces with consumer routes.
const maxReplaced = 1 << 14

// replaced adds, to the bindings of producer routes that are in effect, those of the namespaces
// whose consumer routes take the port from them, up to maxReplaced.
func (t *Table) replaced(bindings []Binding) []Binding {
	room := len(bindings) + maxReplaced
	for _, b := range bindings {
		if !b.State.InEffect() || b.At.Scope.Role() != mesh.Producer {
			continue
		}
		for at, owner := range t.owners {
			if at.Port == b.At.Port && at.Protocol == b.At.Protocol && at.Scope != b.At.Scope && owner.Across == nil {
				theirs := b
				theirs.At, theirs.State, theirs.By = at, Replaced, owner.Routes[0]
				if bindings = append(bindings, theirs); len(bindings) == room {
					return bindings
				}
			}
		}
	}
	return bindings
}

// Compare orders bindings by port, scope, state, and route.
func (b Binding) Compare(c Binding) int {
	return cmp.Or(cmp.Compare(b.At.Port, c.At.Port), strings.Compare(string(b.At.Protocol), string(c.At.Protocol)),
		strings.Compare(b.At.Scope.ConsumerNamespace, c.At.Scope.ConsumerNamespace), b.State.Compare(c.State), b.Route.CompareAge(c.Route))
}

// attachment returns why the parentRef should not attach, whatever the mesh does, and whatever else is wrong; or NoFault.
func (b *Binding) attachment() Fault { return b.parent.ask(whetherAttached).fault }

// detached reports whether there is such a reason.
func (b *Binding) detached() bool { return b.attachment() != NoFault }

// attaches reports whether there is none, and neither a missing grant nor a refusal is in force. Of one that is dormant, or
// cannot be known, nobody knows.
func (b *Binding) attaches() bool {
	return !slices.Contains([]State{NoGrant, Refused, Dormant, Unknown}, b.State) && !b.detached()
}

// NamesOther reports whether the parentRef names another port.
func (b *Binding) NamesOther(port int32) bool {
	return b.parent.Ref.Port != 0 && b.parent.Ref.Port != port
}

// Stays says of a stored route that lacks the grant now, or is refused, that it is not removed by that; it is empty for others.
func (b *Binding) Stays() string {
	var why string
	switch b.State {
	case NoGrant:
		why = "lacks the grant now"
	case Refused:
		why = "is refused on " + b.parent.Key.String() + " now"
	default:
		return ""
	}
	return fmt.Sprintf("%s %s: what is stored stays, and the mesh decides whether it applies", b.Route, why)
}

// Unread is the reason for Unknown.
const Unread = "it depends on objects that cannot be read"

// Reason says why the route is not in effect, in the words of the rule that is about it, and
// names that rule. Both are empty for one that is, unless only the mode or the configuration
// lets it be.
func (b *Binding) Reason() (why, rule string) {
	engine := b.parent.table.engine
	var f Finding
	switch {
	case b.State == Loses:
		return "the port belongs to " + b.By.String(), engine.byFault[PortsLost].ID
	case b.State == Replaced:
		return fmt.Sprintf("clients in namespace %s meet %s instead", b.At.Scope.ConsumerNamespace, b.By), ""
	case b.State == Unsupported:
		f = engine.byID[RuleMeshUnsupported].describe(engine.policy, b.parent)
	case b.State == Dormant:
		f = engine.describeDormant(b.parent)
	case b.State == Unknown && !b.Route.Kind.GrantOnly():
		return Unread, ""
	case b.Fault != NoFault:
		f = engine.Describe(b.Fault, b.parent)
		switch {
		case !b.State.InEffect():
		case b.detached():
			f.Problem += ", which " + engine.policy.Mesh.Title + " ignores"
		default:
			f.Problem += ", which is not enforced"
		}
	case b.Route.Kind.GrantOnly():
		return "only its grant is checked: Linkerd decides what it does", ""
	}
	return f.Problem, f.Rule
}
