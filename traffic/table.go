package traffic

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/mesh"
)

// Reader is what a Table reads besides the routes. Its errors are those of package
// mesh: ErrNotFound, ErrUnknown, or failures.
type Reader interface {
	Service(key mesh.ServiceKey) (*mesh.Service, error)
	HasEndpoints(key mesh.ServiceKey) (bool, error)
	ReferenceGrants(namespace string) ([]mesh.ReferenceGrant, error)
}

// Options say what the mesh does where the specification leaves it open.
type Options struct {
	// Refused says why routes of a kind in a namespace have no effect on the
	// Service, such as a grant that is missing; it returns "" if they have one.
	// Nil refuses none.
	Refused func(kind mesh.RouteKind, namespace string, service mesh.ServiceKey) string
	// ServerNames: the mesh matches the hostnames of a TLSRoute by SNI. By
	// GEP-1294, hostnames field, it should not.
	ServerNames bool
	// ReferenceGrants: the mesh wants one for a backend in another namespace. By
	// GEP-1294, Namespace boundaries, it does not need one.
	ReferenceGrants bool
}

// Table holds the routes of a mesh and answers what requests meet.
type Table struct {
	reader  Reader
	options Options
	// bound are the routes with a mesh parentRef to a Service, the oldest first.
	bound map[mesh.ServiceKey][]*route
	// compare orders matches by precedence.
	compare func(a, b *entry) int
}

// New returns a Table of the routes.
func New(reader Reader, routes Routes, options Options) *Table {
	t := &Table{reader: reader, options: options, compare: compareEntries}
	t.bind(routes.lower(options.ServerNames))
	return t
}

// bind takes the routes for those that there are.
func (t *Table) bind(routes []*route) {
	t.bound = map[mesh.ServiceKey][]*route{}
	slices.SortStableFunc(routes, compareRoutes)
	for _, r := range routes {
		for key := range r.parentServices() {
			if bound := t.bound[key]; len(bound) == 0 || bound[len(bound)-1] != r {
				t.bound[key] = append(bound, r)
			}
		}
	}
}

// since returns the Table as the version that follows another one: of routes whose
// age is not known those that are new are the younger ones.
func (t *Table) since(before *Table) *Table {
	had := map[string]bool{}
	for _, routes := range before.bound {
		for _, r := range routes {
			had[r.String()] = true
		}
	}
	var routes []*route
	seen := map[*route]bool{}
	for _, bound := range t.bound {
		for _, r := range bound {
			if !seen[r] {
				seen[r] = true
				later := *r
				later.later = !had[r.String()]
				routes = append(routes, &later)
			}
		}
	}
	after := &Table{reader: t.reader, options: t.options, compare: t.compare}
	after.bind(routes)
	return after
}

// entry is a match of a rule of a route that holds a port.
type entry struct {
	*match
	route *route
	// rule and at are the indices of the rule and of the match.
	rule, at int
}

// String names the place of the match: "HTTPRoute shop/cart rule[1] match[0]".
func (e *entry) String() string { return fmt.Sprintf("%s rule[%d] match[%d]", e.route, e.rule, e.at) }

// compareEntries orders the match that takes precedence first, among matches that
// hold for one request.
func compareEntries(a, b *entry) int {
	if c := slices.Compare(b.rank[:], a.rank[:]); c != 0 {
		return c
	}
	if c := compareRoutes(a.route, b.route); c != 0 {
		return c
	}
	return cmp.Or(cmp.Compare(a.rule, b.rule), cmp.Compare(a.at, b.at))
}

// compareRoutes orders the older route first, then by namespace and name. One
// whose age is not known is taken for the youngest.
func compareRoutes(a, b *route) int {
	return cmp.Or(
		cmp.Compare(a.age(), b.age()),
		strings.Compare(a.namespace+"/"+a.name, b.namespace+"/"+b.name),
		strings.Compare(string(a.kind), string(b.kind)),
	)
}

// age is smaller for older routes; of unknown ages it is beyond all others.
func (r *route) age() int64 {
	switch {
	case r.created != 0:
		return r.created
	case r.later:
		return math.MaxInt64
	}
	return math.MaxInt64 - 1
}

// portRoutes are the routes of a Service port as the clients of one namespace find them.
type portRoutes struct {
	service *mesh.Service
	port    mesh.Port
	// scope is whose routes hold the port.
	scope mesh.Scope
	// kind is the kind of route that holds it; empty where none does.
	kind mesh.RouteKind
	// entries are the matches of all its routes, by precedence: the first that
	// holds decides.
	entries []entry
}

// portRoutes returns what clients in the namespace find at the Service's port.
// Consumer routes of their namespace replace the producer routes (GEP-1294,
// Multiple routes for a Service), and of several kinds the most specific holds
// the port (GEP-1294, Route types).
func (t *Table) portRoutes(service *mesh.Service, port mesh.Port, from string) *portRoutes {
	pr := &portRoutes{service: service, port: port, scope: mesh.ScopeOf(from, service.Key)}
	holders := t.holders(pr)
	if len(holders) == 0 && pr.scope.Role() == mesh.Consumer {
		pr.scope = mesh.Scope{}
		holders = t.holders(pr)
	}
	if len(holders) == 0 {
		return pr
	}
	for _, r := range holders {
		if pr.kind == "" || r.kind.Beats(pr.kind) {
			pr.kind = r.kind
		}
	}
	for _, r := range holders {
		if r.kind != pr.kind {
			continue
		}
		for i := range r.rules {
			for j := range r.rules[i].matches {
				pr.entries = append(pr.entries, entry{&r.rules[i].matches[j], r, i, j})
			}
		}
	}
	slices.SortStableFunc(pr.entries, func(a, b entry) int { return t.compare(&a, &b) })
	return pr
}

// holders returns the routes of any kind bound to the port in its scope.
func (t *Table) holders(pr *portRoutes) []*route {
	var holders []*route
	for _, r := range t.bound[pr.service.Key] {
		if mesh.ScopeOf(r.namespace, pr.service.Key) == pr.scope && t.unbound(r, pr) == "" {
			holders = append(holders, r)
		}
	}
	return holders
}

// unbound says why the route, which has the Service as a parent, does not bind to
// the port; it is empty if it does.
func (t *Table) unbound(r *route, pr *portRoutes) string {
	if r.kind.Transport() != pr.port.Protocol {
		return fmt.Sprintf("port %d is a %s port", pr.port.Number, pr.port.Protocol)
	}
	if t.options.Refused != nil {
		if why := t.options.Refused(r.kind, r.namespace, pr.service.Key); why != "" {
			return why
		}
	}
	why := ""
	for i := range r.parents {
		parent := &r.parents[i]
		if parent.Class() != mesh.MeshParent || parent.Service(r.namespace) != pr.service.Key {
			continue
		}
		ports, attachment := pr.service.Attach(r.kind, parent)
		if slices.ContainsFunc(ports, func(p mesh.Port) bool { return p.Number == pr.port.Number && p.Protocol == pr.port.Protocol }) {
			return ""
		}
		switch attachment {
		case mesh.NotAttachedHeadless:
			why = "the Service is headless"
		case mesh.NotAttachedExternalName:
			why = "the Service is of type ExternalName"
		default:
			why = "its parentRef selects another port"
		}
	}
	return why
}

// service returns the Service that a request is sent to. One that is not in the
// input is taken to have the port.
func (t *Table) service(key mesh.ServiceKey, port mesh.Port) (service *mesh.Service, known bool, err error) {
	service, err = t.reader.Service(key)
	switch {
	case errors.Is(err, mesh.ErrUnknown):
		return &mesh.Service{Key: key, Type: mesh.ClusterIP, Ports: []mesh.Port{port}}, false, nil
	case err != nil:
		return nil, false, err
	}
	return service, true, nil
}
