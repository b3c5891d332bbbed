package mesh

import "slices"

// PortScope is what routes compete for: one port of a Service, for those whom
// the scope affects.
type PortScope struct {
	Port     int32
	Protocol Protocol
	Scope    Scope
}

// Holder says who has a PortScope.
type Holder struct {
	// Kind is the most specific kind bound there.
	Kind RouteKind
	// Routes are the routes of that kind bound there, the oldest first. Routes of
	// one kind merge.
	Routes []*AttachedRoute
}

// Standing says who holds each PortScope of one Service.
type Standing map[PortScope]*Holder

// Precedence decides who holds each port of the Service in each scope: the most
// specific kind, whatever the routes' age (GEP-1294, Route types). The routes
// must be those that are otherwise valid: their grant is held and their kind
// enabled. Those that are being deleted, or whose parentRefs do not attach,
// hold nothing.
func Precedence(service *Service, routes []*AttachedRoute) Standing {
	standing := Standing{}
	// Most routes are about the same port as the one before.
	var (
		last   PortScope
		holder *Holder
	)
	for _, route := range routes {
		route.eachPort(service, func(_ int, at PortScope) {
			if holder == nil || at != last {
				last, holder = at, standing[at]
			}
			switch {
			case holder == nil:
				holder = &Holder{Kind: route.Kind, Routes: []*AttachedRoute{route}}
				standing[at] = holder
			case route.Kind == holder.Kind:
				if holder.Routes[len(holder.Routes)-1] != route { // two parentRefs to one port
					holder.Routes = append(holder.Routes, route)
				}
			case route.Kind.Beats(holder.Kind):
				holder.Kind, holder.Routes = route.Kind, []*AttachedRoute{route}
			}
		})
	}
	for _, holder := range standing {
		slices.SortFunc(holder.Routes, (*AttachedRoute).CompareAge)
	}
	return standing
}

// eachPort calls f with every PortScope that a parentRef of the route selects on
// the Service, with the parentRef's index.
func (a *AttachedRoute) eachPort(service *Service, f func(ref int, at PortScope)) {
	if a.Deleting {
		return
	}
	for i := range a.Parents {
		ports := a.portsBy(i, service)
		for j := range ports {
			f(i, PortScope{Port: ports[j].Number, Protocol: ports[j].Protocol, Scope: ScopeOf(a.Namespace, service.Key)})
		}
	}
}

// portsBy returns the ports of the Service that the parentRef with that index
// attaches to.
func (a *AttachedRoute) portsBy(ref int, service *Service) []Port {
	parent := &a.Parents[ref]
	if parent.Name != service.Key.Name || parent.Class() != MeshParent || parent.Service(a.Namespace) != service.Key {
		return nil
	}
	ports, _ := service.Attach(a.Kind, parent)
	return ports
}

// PortScopes returns what the parentRef with that index competes for on the
// Service: nothing if it refers to another one or does not attach.
func (a *AttachedRoute) PortScopes(ref int, service *Service) []PortScope {
	ports := a.portsBy(ref, service)
	if len(ports) == 0 {
		return nil
	}
	scope := ScopeOf(a.Namespace, service.Key)
	scopes := make([]PortScope, len(ports))
	for i, port := range ports {
		scopes[i] = PortScope{Port: port.Number, Protocol: port.Protocol, Scope: scope}
	}
	return scopes
}

// LostTo returns who holds the PortScope instead of the route, or nil if no other
// kind has taken it from the route.
func (s Standing) LostTo(route *AttachedRoute, at PortScope) *Holder {
	if holder := s[at]; holder != nil && holder.Kind.Beats(route.Kind) {
		return holder
	}
	return nil
}
