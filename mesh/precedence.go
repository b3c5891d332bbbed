package mesh

import "slices"

// PortScope is what routes compete for: one port of a Service, for those whom
// the scope affects.
type PortScope struct {
	Port     int32
	Protocol Protocol
	Scope    Scope
}

// Owner is the owner of a PortScope.
type Owner struct {
	// Kind is the most specific kind bound there.
	Kind RouteKind
	// Routes are the routes bound there that apply, the oldest first: those of that
	// kind, which merge, and of kinds that the mesh merges with it.
	Routes []*AttachedRoute
	// Displaced is the route of another kind that is bound there too and would have the port otherwise: the oldest
	// of the most specific kind; nil if there is none.
	Displaced *AttachedRoute
	// MoreDisplaced is how many routes have lost the port besides Displaced.
	MoreDisplaced int
	// Split are routes of those kinds that are bound there and do not apply, the oldest first: on a
	// mesh that does not merge routes whose parentRef has a port with those whose has none.
	Split []*AttachedRoute
	// Across is the oldest route of another scope that has the port instead of Routes, on a mesh that compares
	// scopes; nil if there is none.
	Across *AttachedRoute

	// selecting are Selecting, if they are not all of Routes.
	selecting []*AttachedRoute
	// displaced is the route that was displaced last.
	displaced *AttachedRoute
	profile   *Profile
}

// Selecting returns those of Routes that select the port themselves: not those that the mesh applies
// there since they select another port of the Service.
func (h *Owner) Selecting() []*AttachedRoute {
	if h.selecting != nil {
		return h.selecting
	}
	return h.Routes
}

// Has reports whether the route is one of Routes.
func (h *Owner) Has(route *AttachedRoute) bool {
	return h != nil && slices.ContainsFunc(h.Routes, route.Same)
}

// SplitKnown reports whether it is known that Routes apply and not Split, which would if they were older.
func (h *Owner) SplitKnown() bool { return len(h.Split) == 0 || h.Routes[0].OrderKnown(h.Split[0]) }

// Holds reports whether routes of the kind that are bound there apply.
func (h *Owner) Holds(kind RouteKind) bool { return kind == h.Kind || h.profile.merges(kind, h.Kind) }

// Of returns the routes of the kind that apply, the oldest first.
func (h *Owner) Of(kind RouteKind) []*AttachedRoute {
	of := func(route *AttachedRoute) bool { return route.Kind == kind }
	if i := slices.IndexFunc(h.Routes, func(route *AttachedRoute) bool { return !of(route) }); i < 0 {
		return h.Routes
	}
	var routes []*AttachedRoute
	for _, route := range h.Routes {
		if of(route) {
			routes = append(routes, route)
		}
	}
	return routes
}

// CatchesAll reports whether some rule matches every request that routes of the kind match: on a
// mesh that merges the kinds, an HTTPRoute matches gRPC requests too, and a GRPCRoute others where the
// mesh reads it by path.
func (h *Owner) CatchesAll(kind RouteKind) bool {
	return slices.ContainsFunc(h.Routes, func(route *AttachedRoute) bool {
		return route.CatchAll && (route.Kind == kind || route.Kind == HTTPRoute || h.profile.readsByPath(route.Kind))
	})
}

// Unmatched describes a request, of those that routes of the kind match, for which no match
// holds: "GET /". It is empty where that cannot be told.
func (h *Owner) Unmatched(kind RouteKind) string {
	own := h.Of(kind)
	if len(own) < len(h.Routes) && (kind != HTTPRoute || h.profile.readsByPath(GRPCRoute)) {
		return "" // a route of the other kind, which the mesh merges with these, may match their example
	}
	return unmatched(own)
}

// PortOwners maps each PortScope of one Service to its owner.
type PortOwners map[PortScope]*Owner

// Precedence decides who holds each port of the Service in each scope: the most
// specific kind, regardless of the routes' age (GEP-1294, Route types), together with
// the kinds that the mesh merges with it. The routes must be those that are otherwise
// valid: their grant is held and their kind enabled. One whose parentRefs do not attach
// holds nothing; one that is being deleted competes until it is gone, as meshes go on
// programming it.
func (p *Profile) Precedence(service *Service, routes []*AttachedRoute) PortOwners {
	owners := PortOwners{}
	// Most routes are bound to the same ports as the one before.
	var (
		last   *AttachedRoute
		joined []*Owner
		aged   = true // whether all come the oldest first, as caches have them
	)
	for _, route := range routes {
		if last == nil || !route.bindsLike(last) {
			last, joined = route, joined[:0]
			route.eachPort(p, service, func(at PortScope) {
				owner := owners[at]
				if owner == nil {
					owner = &Owner{Kind: route.Kind, profile: p}
					owners[at] = owner
				}
				joined = append(joined, owner)
			})
		}
		for _, owner := range joined {
			aged = owner.take(route) && aged
		}
	}
	if !aged {
		for _, owner := range owners {
			slices.SortFunc(owner.Routes, (*AttachedRoute).CompareAge)
		}
	}
	if p.SplitsByPort() {
		for at, owner := range owners {
			owner.split(service, at)
		}
	}
	if p != nil && p.PortsTogether.Value {
		owners.together()
	}
	if p.Shares(SharingAcrossScopes) {
		owners.compareScopes()
	}
	return owners
}

// compareScopes has the most specific kind on a port take it from the others, whatever their scope.
func (s PortOwners) compareScopes() {
	type port struct {
		number   int32
		protocol Protocol
	}
	first := map[port]*Owner{}
	for at, owner := range s {
		here := port{at.Port, at.Protocol}
		if other := first[here]; other == nil || owner.Kind.Beats(other.Kind) || owner.Kind == other.Kind && owner.Routes[0].CompareAge(other.Routes[0]) < 0 {
			first[here] = owner
		}
	}
	for at, owner := range s {
		if other := first[port{at.Port, at.Protocol}]; other.Kind.Beats(owner.Kind) {
			owner.Across = other.Routes[0]
		}
	}
}

// split leaves those routes whose parentRefs have a port, or those whose parentRefs have none:
// what the oldest route there has, and a port where there are two oldest, or it is not known which is
// older.
func (h *Owner) split(service *Service, at PortScope) {
	byPort := func(route *AttachedRoute, port bool) bool {
		for i := range route.Parents {
			bound := slices.ContainsFunc(route.portsBy(i, h.profile, service), func(p Port) bool { return p.Number == at.Port && p.Protocol == at.Protocol })
			if bound && (route.Parents[i].Port != 0) == port {
				return true
			}
		}
		return false
	}
	oldest := h.Routes[0]
	with := slices.ContainsFunc(h.Routes, func(route *AttachedRoute) bool {
		return (route.Created == oldest.Created || !route.OrderKnown(oldest)) && byPort(route, true)
	})
	var kept []*AttachedRoute
	for _, route := range h.Routes {
		if byPort(route, with) {
			kept = append(kept, route)
		} else {
			h.Split = append(h.Split, route)
		}
	}
	h.Routes = kept
}

// take has the route compete for what the owner has. It reports whether the route is
// younger than all those whom it joins.
func (h *Owner) take(route *AttachedRoute) bool {
	beats := route.Kind != h.Kind && route.Kind.Beats(h.Kind)
	switch {
	case !h.Holds(route.Kind) && !beats:
		h.displace(route)
		return true
	case !h.Holds(route.Kind):
		h.displace(h.Routes...)
		h.Routes = nil
	}
	if beats {
		h.Kind = route.Kind
	}
	if len(h.Routes) == 0 {
		h.Routes = append(h.Routes, route)
		return true
	}
	youngest := h.Routes[len(h.Routes)-1]
	if youngest == route { // two parentRefs to one port
		return true
	}
	h.Routes = append(h.Routes, route)
	return youngest.CompareAge(route) < 0
}

// displace notes who has lost the port.
func (h *Owner) displace(routes ...*AttachedRoute) {
	for _, route := range routes {
		switch {
		case route == h.displaced: // two parentRefs to one port
			continue
		case h.Displaced == nil:
			h.Displaced = route
		case route.Kind.Beats(h.Displaced.Kind), route.Kind == h.Displaced.Kind && route.CompareAge(h.Displaced) < 0:
			h.Displaced = route
			fallthrough
		default:
			h.MoreDisplaced++
		}
		h.displaced = route
	}
}

// bindsLike reports whether the route is bound to the same ports as the other on any
// Service, according to their parentRefs.
func (a *AttachedRoute) bindsLike(b *AttachedRoute) bool {
	return a.Kind == b.Kind && a.Namespace == b.Namespace && a.SameParents(b)
}

// SameParents reports whether both have the same parentRefs, in the same order. Caches share
// what is the same, which is seen at a glance.
func (a *AttachedRoute) SameParents(b *AttachedRoute) bool {
	if len(a.Parents) != len(b.Parents) {
		return false
	}
	if len(a.Parents) > 0 && &a.Parents[0] == &b.Parents[0] {
		return true
	}
	for i := range a.Parents {
		if !a.Parents[i].Same(&b.Parents[i]) {
			return false
		}
	}
	return true
}

// eachPort calls f with every PortScope that a parentRef of the route selects on
// the Service.
func (a *AttachedRoute) eachPort(profile *Profile, service *Service, f func(at PortScope)) {
	for i := range a.Parents {
		ports := a.portsBy(i, profile, service)
		for j := range ports {
			if profile.Selects(a.Kind, &a.Parents[i], &ports[j]) {
				f(PortScope{Port: ports[j].Number, Protocol: ports[j].Protocol, Scope: ScopeOf(a.Namespace, service.Key)})
			}
		}
	}
}

// portsBy returns the ports of the Service that the parentRef with that index
// attaches to.
func (a *AttachedRoute) portsBy(ref int, profile *Profile, service *Service) []Port {
	parent := &a.Parents[ref]
	if parent.Name != service.Key.Name || !a.IsMeshParent(ref) || parent.Service(a.Namespace) != service.Key {
		return nil
	}
	ports, _ := service.Attach(a.Kind, parent, profile)
	return ports
}

// LostTo returns who holds the PortScope instead of the route, or nil if no other
// kind has taken it from the route.
func (s PortOwners) LostTo(route *AttachedRoute, at PortScope) *Owner {
	if owner := s[at]; owner != nil && !owner.Holds(route.Kind) && owner.Kind.Beats(route.Kind) {
		return owner
	}
	return nil
}
