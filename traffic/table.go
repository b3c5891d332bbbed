package traffic

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

// Options say what the mesh does where the specification leaves it open.
type Options struct {
	// Engine says what becomes of each route on a Service, by its policy: of its grant, and of
	// the mesh.
	Engine *validate.Engine
	// Live says that what is not known is what the user cannot read in a cluster, not what the input lacks.
	Live bool
	// Unread returns the kinds of which the routes in the namespace cannot be read; nil if all can be.
	Unread func(namespace string) []mesh.RouteKind
	// Stored reports whether the route, or an earlier version of it, is stored in a cluster; nil if none is.
	Stored func(route *mesh.AttachedRoute) bool
}

// Table holds the routes of a mesh and answers what requests meet. It is for one
// goroutine.
type Table struct {
	reader mesh.Reader
	engine *validate.Engine
	// options are those that it was made with.
	options Options
	// routes are all routes, the oldest first.
	routes []*route
	// bound are the routes with a mesh parentRef to a Service, the oldest first, and dormant those whose parentRefs to it no
	// mesh acts on.
	bound, dormant map[mesh.ServiceKey][]*route
	// names are those of all its routes, whatever they attach to.
	names map[string]bool
	// next is the version that follows this one, where two are compared.
	next *Table
	// views are what has been worked out for Services.
	views map[*mesh.Service]*serviceView
	// compare orders matches by precedence.
	compare func(a, b *entry) int
	// gateways are the routes that attach to Gateways.
	gateways []*mesh.Route
}

// New returns a Table of the routes.
func New(reader mesh.Reader, routes Routes, options Options) *Table {
	t := &Table{reader: reader, engine: options.Engine, options: options, compare: compareEntries, names: map[string]bool{}}
	profile := t.engine.Policy().Mesh
	lowered := routes.lower(profile)
	for _, r := range lowered {
		r.WithParents(r.Parents, profile)
	}
	t.bind(lowered)
	for i := range routes {
		r := &routes[i]
		t.names[r.String()] = true
		if r.Spec.HasGateway() {
			t.gateways = append(t.gateways, &mesh.Route{Kind: r.Kind, Metadata: mesh.Metadata{Namespace: r.Namespace, Name: r.Name}, Spec: *r.Spec})
		}
	}
	return t
}

// bind takes the routes for those that there are.
func (t *Table) bind(routes []*route) {
	t.bound, t.dormant, t.views = map[mesh.ServiceKey][]*route{}, map[mesh.ServiceKey][]*route{}, map[*mesh.Service]*serviceView{}
	slices.SortStableFunc(routes, compareRoutes)
	t.routes = routes
	for _, r := range routes {
		for i := range r.Parents {
			if r.Parents[i].Class(t.engine.Policy().Mesh) != mesh.LookAlikeParent {
				continue
			}
			key := r.Parents[i].Service(r.Namespace)
			if on := t.dormant[key]; len(on) == 0 || on[len(on)-1] != r {
				t.dormant[key] = append(on, r)
			}
		}
		for key := range r.ParentServices() {
			if bound := t.bound[key]; len(bound) == 0 || bound[len(bound)-1] != r {
				t.bound[key] = append(bound, r)
			}
		}
	}
}

// since returns the Table as the version that follows another one: of routes whose
// age is not known those that are new are the younger ones, and what the other one has and this one lacks was removed.
func (t *Table) since(before *Table) *Table {
	routes := make([]*route, len(t.routes))
	for i, r := range t.routes {
		later := *r
		if later.Created >= mesh.FirstSyntheticAge && !before.names[r.String()] {
			later.Created = mesh.LaterSyntheticAge
		}
		routes[i] = &later
	}
	return t.with(Since(t.reader, before.reader, nil), routes)
}

// turned returns the Table as if the age of all routes were known, and the order of those whose age is not were another one: the
// last by name is the oldest. Where routes without a port in a parentRef do not merge with others, they are the older ones.
func (t *Table) turned() *Table {
	routes := make([]*route, len(t.routes))
	for i, r := range t.routes {
		other := *r
		routes[i] = &other
	}
	split := t.engine.Policy().Mesh.SplitsByPort()
	behind := func(r *route) int {
		if split && !slices.ContainsFunc(r.Parents, func(p mesh.ParentRef) bool { return p.Port == 0 }) {
			return 1
		}
		return 0
	}
	slices.SortFunc(routes, func(a, b *route) int {
		return cmp.Or(cmp.Compare(a.Created, b.Created), cmp.Compare(behind(a), behind(b)), compareRoutes(b, a))
	})
	for i, r := range routes {
		if r.Created >= mesh.FirstSyntheticAge {
			r.Created = mesh.FirstSyntheticAge * int64(i+1)
		}
	}
	return t.with(t.reader, routes)
}

// with returns the Table with other routes.
func (t *Table) with(reader mesh.Reader, routes []*route) *Table {
	other := &Table{reader: reader, engine: t.engine, options: t.options, compare: t.compare, names: t.names, next: t.next}
	other.bind(routes)
	return other
}

// entry is a match of a rule of a route that holds a port.
type entry struct {
	*match
	route *route
	// rule and at are the indices of the rule and of the match.
	rule, at int
}

// reading returns how the mesh reads the rule.
func (e *entry) reading() *reading { return &e.route.rules[e.rule].reading }

// reads reports whether the match can hold for the request at all: GRPCRoutes match gRPC
// requests, unless the mesh reads them by path.
func (e *entry) reads(r *Request) bool {
	return e.route.Kind != mesh.GRPCRoute || e.byPath || r.GRPC()
}

// String names the place of the match: "HTTPRoute shop/cart rule[1] match[0]".
func (e *entry) String() string { return fmt.Sprintf("%s rule[%d] match[%d]", e.route, e.rule, e.at) }

// compareEntries orders the match that takes precedence first, among matches that
// hold for one request.
func compareEntries(a, b *entry) int {
	if c := slices.Compare(b.host[:], a.host[:]); c != 0 {
		return c
	}
	if c := b.rank.Compare(&a.rank); c != 0 {
		return c
	}
	if c := compareRoutes(a.route, b.route); c != 0 {
		return c
	}
	return cmp.Or(cmp.Compare(a.rule, b.rule), cmp.Compare(a.at, b.at))
}

// compareRoutes orders the older route first, then by namespace and name. One
// whose age is not known is taken for the youngest.
func compareRoutes(a, b *route) int { return a.CompareAge(&b.AttachedRoute) }

// serviceView is a Service with the routes on it.
type serviceView struct {
	owners   mesh.PortOwners
	routes   map[*mesh.AttachedRoute]*route
	bindings map[*mesh.AttachedRoute][]validate.Binding
}

// on returns the routes on the Service, with those that are only dormant on it behind the others.
func (t *Table) on(key mesh.ServiceKey) []*route {
	all := slices.Clip(t.bound[key])
	for _, r := range t.dormant[key] {
		if !slices.Contains(t.bound[key], r) {
			all = append(all, r)
		}
	}
	return all
}

// view returns the Service with its routes.
func (t *Table) view(service *mesh.Service) (*serviceView, error) {
	if v := t.views[service]; v != nil {
		return v, nil
	}
	v := &serviceView{routes: map[*mesh.AttachedRoute]*route{}, bindings: map[*mesh.AttachedRoute][]validate.Binding{}}
	var attached []*mesh.AttachedRoute
	for _, r := range t.on(service.Key) {
		v.routes[&r.AttachedRoute] = r
		attached = append(attached, &r.AttachedRoute)
	}
	table := t.engine.Table(mesh.ReaderFunc(func(read mesh.Read) mesh.Answer {
		switch {
		case read.Kind == mesh.ReadRoutes:
			return mesh.Answer{AttachedRoutes: mesh.InNamespace(attached, read.Namespace)}
		case read.Kind == mesh.ReadService && read.Service == service.Key:
			return mesh.Answer{Service: service}
		}
		return t.reader.Do(read)
	}), service.Key)
	bindings, err := table.Bindings()
	if err != nil {
		return nil, err
	}
	for i := range bindings {
		v.bindings[bindings[i].Route] = append(v.bindings[bindings[i].Route], bindings[i])
	}
	if v.owners, err = table.Owners(); err != nil {
		return nil, err
	}
	t.views[service] = v
	return v, nil
}

// portRoutes are the routes of a Service port as the clients of one namespace find them.
type portRoutes struct {
	*serviceView
	service *mesh.Service
	port    mesh.Port
	// scope is whose routes hold the port.
	scope mesh.Scope
	// kind is the most specific kind of route that holds it; empty where none does.
	kind mesh.RouteKind
	// owner has the routes that hold it; nil where none does.
	owner *mesh.Owner
	// entries are the matches of all its routes, by precedence: the first that
	// holds decides.
	entries []entry
	// notes say what is assumed of the Service.
	notes []string
}

// portRoutes returns what clients in the namespace find at the Service's port.
// Consumer routes of their namespace replace the producer routes (GEP-1294,
// Multiple routes for a Service).
func (t *Table) portRoutes(service *mesh.Service, port mesh.Port, from string) (*portRoutes, error) {
	view, err := t.view(service)
	if err != nil {
		return nil, err
	}
	pr := &portRoutes{serviceView: view, service: service, port: port}
	for _, pr.scope = range []mesh.Scope{mesh.ScopeOf(from, service.Key), {}} {
		owner := view.owners[mesh.PortScope{Port: port.Number, Protocol: port.Protocol, Scope: pr.scope}]
		if owner == nil || owner.Across != nil {
			continue
		}
		pr.kind, pr.owner = owner.Kind, owner
		for _, attached := range owner.Routes {
			r := view.routes[attached]
			for i := range r.rules {
				for j := range r.rules[i].matches {
					pr.entries = append(pr.entries, entry{&r.rules[i].matches[j], r, i, j})
				}
			}
		}
		break
	}
	slices.SortStableFunc(pr.entries, func(a, b entry) int { return t.compare(&a, &b) })
	return pr, nil
}

// lacks says that something is not known: "namespace shop is not in the input".
func (t *Table) lacks(what string, read mesh.Read) string {
	switch {
	case t.options.Live:
		return what + " cannot be read"
	case t.gains(read):
		return what + " is not in the base"
	}
	return what + " is not in the input"
}

// assumes says what is assumed of something that is not known.
func (t *Table) assumes(what string, read mesh.Read, assumed string) string {
	if t.gains(read) {
		assumed += " there"
	}
	return t.lacks(what, read) + ": it is assumed to " + assumed
}

// gains reports whether the version that follows this one knows what this one does not.
func (t *Table) gains(read mesh.Read) bool {
	return t.next != nil && t.next.reader.Do(read).Err == nil
}

// assumesOfNamespace is assumes for a namespace.
func (t *Table) assumesOfNamespace(name, assumed string) string {
	return t.assumes("namespace "+name, mesh.Read{Kind: mesh.ReadNamespace, Namespace: name}, assumed)
}

// unknowns says what is not known of the routes that hold the port, and assumed.
func (t *Table) unknowns(pr *portRoutes) []string {
	var doubts []string
	for i := range pr.entries {
		r := pr.entries[i].route
		for _, b := range pr.bindings[&r.AttachedRoute] {
			switch {
			case b.Unknown.Has(validate.GrantMissing):
				doubts = append(doubts, t.assumesOfNamespace(r.Namespace, "have the grant"))
			case b.Unknown.Has(validate.ConsumerRefused):
				doubts = append(doubts, t.assumesOfNamespace(pr.service.Key.Namespace, "accept consumer routes"))
			}
		}
	}
	return compact(doubts)
}

// unbound says why the route, which has the Service as a parent, has no part in the port; it
// is empty if it has.
func (pr *portRoutes) unbound(r *route) string {
	if r.Kind.Transport() != pr.port.Protocol {
		return fmt.Sprintf("port %d is a %s port", pr.port.Number, pr.port.Protocol)
	}
	why := ""
	for _, b := range pr.bindings[&r.AttachedRoute] {
		here := pr.isAt(&b)
		switch {
		case here && b.State == validate.Loses && b.Fault == validate.NoFault: // to what the mesh does not merge with it, or to another scope
			why, _ = b.Reason()
		case here && (b.State.InEffect() || b.State == validate.Loses):
			return ""
		case here, b.At.Port == 0:
			why, _ = b.Reason()
		}
		if b.State == validate.Dormant && why != "" {
			why = string(validate.Dormant) + ": " + why
		}
	}
	return cmp.Or(why, onOtherPort)
}

// isAt reports whether the binding is to the port.
func (pr *portRoutes) isAt(b *validate.Binding) bool {
	return b.At.Port == pr.port.Number && b.At.Protocol == pr.port.Protocol
}

const onOtherPort = "its parentRef selects another port"

// service returns a Service. One that is not known is taken to have the port.
func (t *Table) service(key mesh.ServiceKey, port mesh.Port) (*mesh.Service, error) {
	service, err := mesh.FindService(t.reader, key)
	if errors.Is(err, mesh.ErrUnknown) {
		return &mesh.Service{Key: key, Type: mesh.ClusterIP, Ports: []mesh.Port{port}}, nil
	}
	return service, err
}
