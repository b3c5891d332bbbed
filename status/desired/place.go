package desired

import (
	"cmp"
	"errors"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

// Place is one Service, or the lack of one, with all that bears on the routes
// that refer to it. It is for one goroutine, and for one look at the world: what
// changes there later it may or may not show.
type Place struct {
	key      mesh.ServiceKey
	world    mesh.World
	policy   *validate.Policy
	settings Settings

	// service is nil if it does not exist.
	service *mesh.Service
	// namespace is the Service's, nil if it does not exist.
	namespace *mesh.Namespace
	routes    []*mesh.AttachedRoute
	standing  mesh.Standing

	// namespaces are those of the routes, and rules the catalogue by ID, both as
	// far as they were needed.
	namespaces map[string]*mesh.Namespace
	rules      map[string]*validate.Rule
}

// At looks at a Service and its routes. It fails only if the world could not be
// asked.
func At(key mesh.ServiceKey, world mesh.World, policy *validate.Policy, settings Settings) (*Place, error) {
	settings.ControllerName = cmp.Or(settings.ControllerName, ControllerName)
	settings.ConflictReason = cmp.Or(settings.ConflictReason, Conflicted)
	p := &Place{key: key, world: world, policy: policy, settings: settings}
	var err error
	if p.service, err = world.Service(key); err != nil {
		if p.service = nil; !errors.Is(err, mesh.ErrNotFound) {
			return nil, err
		}
	}
	if p.namespace, err = p.namespaceOf(key.Namespace); err != nil {
		return nil, err
	}
	if p.routes, err = world.AttachedRoutes(key); err != nil {
		return nil, err
	}
	if p.service != nil {
		p.standing = mesh.Precedence(p.service, p.contenders())
	}
	return p, nil
}

// Exists says whether the Service exists.
func (p *Place) Exists() bool { return p.service != nil }

// Routes returns the routes with a parentRef to the Service.
func (p *Place) Routes() []*mesh.AttachedRoute { return p.routes }

func (p *Place) contenders() []*mesh.AttachedRoute {
	contends := p.policy.Contenders(p.world, p.service)
	contenders := make([]*mesh.AttachedRoute, 0, len(p.routes))
	for _, route := range p.routes {
		if contends(route) {
			contenders = append(contenders, route)
		}
	}
	return contenders
}

// namespaceOf returns a namespace, or nil if it does not exist.
func (p *Place) namespaceOf(name string) (*mesh.Namespace, error) {
	if namespace, seen := p.namespaces[name]; seen {
		return namespace, nil
	}
	namespace, err := p.world.Namespace(name)
	if err != nil {
		if namespace = nil; !errors.Is(err, mesh.ErrNotFound) {
			return nil, err
		}
	}
	if p.namespaces == nil {
		p.namespaces = map[string]*mesh.Namespace{}
	}
	p.namespaces[name] = namespace
	return namespace, nil
}

// Entries returns what the route's status must say about its parentRefs to this
// Service, in their order, and nothing about those that are as they should be.
// The route need not be one of Routes: it may be a later state of one. Routes that
// are being deleted have no entries, as they are on their way out.
func (p *Place) Entries(route *mesh.AttachedRoute) ([]Entry, error) {
	if route.Deleting {
		return nil, nil
	}
	own, err := p.namespaceOf(route.Namespace)
	if err != nil || p.policy.ModeIn(own) == mesh.Audit {
		return nil, err
	}
	var entries []Entry
	for i := range route.Parents {
		parent := &route.Parents[i]
		if parent.Name != p.key.Name || parent.Class() != mesh.MeshParent || parent.Service(route.Namespace) != p.key {
			continue
		}
		condition, err := p.judge(route, i, own)
		if err != nil {
			return nil, err
		}
		if condition.Type != "" {
			condition.ObservedGeneration = route.Generation
			entries = append(entries, Entry{Ref: i, Condition: condition})
		}
	}
	return entries, nil
}

// judge returns the first thing that is wrong with the parentRef: an empty
// condition if nothing is. What it says of a namespace without the grant does not
// depend on whether the Service exists.
func (p *Place) judge(route *mesh.AttachedRoute, ref int, own *mesh.Namespace) (Condition, error) {
	role := mesh.ScopeOf(route.Namespace, p.key).Role()
	if !p.policy.HoldsGrant(own, role, route.Kind) {
		return p.rejected(route, ref, NamespaceNotGranted, "grant-missing")
	}
	if role == mesh.Consumer && p.policy.RefusesConsumers(p.namespace, p.service) != mesh.NotRefused {
		return p.rejected(route, ref, ConsumerRefused, "consumer-refused")
	}
	if p.service == nil {
		return p.rejected(route, ref, NoMatchingParent, "parent-not-found")
	}
	switch _, attachment := p.service.Attach(route.Kind, &route.Parents[ref]); attachment {
	case mesh.Attached:
	case mesh.NotAttachedExternalName:
		return p.rejected(route, ref, NoMatchingParent, "parent-external-name")
	case mesh.NotAttachedHeadless:
		return p.rejected(route, ref, NoMatchingParent, "parent-headless")
	case mesh.NotAttachedNoPort:
		return p.rejected(route, ref, NoMatchingParent, "parent-port-not-found")
	case mesh.NotAttachedTransport:
		return p.rejected(route, ref, NoMatchingParent, "parent-protocol-mismatch")
	}
	return p.conflict(route, ref), nil
}

// rejected returns the condition for a fault that the rule is about, in the words
// of the rule.
func (p *Place) rejected(route *mesh.AttachedRoute, ref int, reason, ruleID string) (Condition, error) {
	rule := p.rules[ruleID]
	if rule == nil {
		rule = validate.Find(ruleID)
		if p.rules == nil {
			p.rules = map[string]*validate.Rule{}
		}
		p.rules[ruleID] = rule
	}
	condition := Condition{Type: Accepted, Status: "False", Reason: reason, Message: rule.Title + " (" + ruleID + ")"}
	finding, err := rule.ParentFault(p.policy, p.world, route, ref)
	if finding != nil {
		condition.Message = finding.Message()
	}
	return condition, err
}

// Of returns what the route's status must say about all its parentRefs, in their
// order.
func Of(route *mesh.AttachedRoute, world mesh.World, policy *validate.Policy, settings Settings) ([]Entry, error) {
	places := map[mesh.ServiceKey]bool{}
	var entries []Entry
	for i := range route.Parents {
		parent := &route.Parents[i]
		key := parent.Service(route.Namespace)
		if parent.Class() != mesh.MeshParent || places[key] {
			continue
		}
		places[key] = true
		place, err := At(key, world, policy, settings)
		if err != nil {
			return nil, err
		}
		here, err := place.Entries(route)
		if err != nil {
			return nil, err
		}
		entries = append(entries, here...)
	}
	sortByRef(entries)
	return entries, nil
}
