// Package graph draws who routes which Service: namespaces, Service ports, the routes on
// them, and their backends.
package graph

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gammaguard/gammaguard/internal/cli/answers"
	"github.com/gammaguard/gammaguard/internal/cli/bindings"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/traffic"
	"github.com/gammaguard/gammaguard/validate"
	"github.com/gammaguard/gammaguard/validate/rules"
)

// MaxRoutes is how many routes a graph shows at most: nobody could read more.
const MaxRoutes = 500

// Selection says which routes are drawn: those on Services in the namespace, or in the
// namespace themselves, or those on one Service. All if it is empty.
type Selection struct {
	Namespace string
	Service   mesh.ServiceKey
}

// Graph is a picture of routes.
type Graph struct {
	// Rows are the routes by Service, port and scope.
	Rows []*Row
	// Nodes and Edges are what is drawn, from the left to the right.
	Nodes []*Node
	Edges []*Edge

	// gateways counts the rows of routes on Gateways.
	gateways int
	// routes counts the routes, and classes are the classes of requests by Service.
	routes  int
	classes map[mesh.ServiceKey][]traffic.RequestClass
}

// Bypasses is the state of a route on Gateways that sends requests to a Service: these do not meet
// the routes on it.
const Bypasses validate.State = "bypasses"

// better reports whether a line is drawn as a, not as b, where both are so: requests that take it by a Gateway come after those that
// take it by the Service.
func better(a, b validate.State) bool {
	switch Bypasses {
	case a:
		return b != Bypasses && !b.InEffect()
	case b:
		return a.InEffect()
	}
	return a.Compare(b) < 0
}

// Row is what a route has of a Service port.
type Row struct {
	Service mesh.ServiceKey
	bindings.Route
	// Gateways are those that a route with state Bypasses attaches to: "Gateway shop/public".
	Gateways []string

	route *mesh.Route
	rules []rule
	// drawn are the IDs of what shows it on the page, and picture is that of its Service.
	drawn   []string
	picture *picture
}

// Draw draws the selected routes. Of the assumed faults, those that cannot be known count
// as not there. The book has what meshes have answered; nil for manifests. The error says how to select fewer if there are more than MaxRoutes.
func Draw(reader mesh.Reader, routes []*mesh.Route, policy *validate.Policy, selection Selection, assumed validate.Faults, book *answers.Book) (*Graph, error) {
	engine, err := validate.New(rules.Catalog(), policy)
	if err != nil {
		return nil, err
	}
	var keys []mesh.ServiceKey
	named := map[string]*mesh.Route{}
	for _, route := range routes {
		for i := range route.Spec.ParentRefs {
			ref := &route.Spec.ParentRefs[i]
			class := ref.Class(policy.Mesh)
			if key := ref.Service(route.Metadata.Namespace); (class == mesh.MeshParent || class == mesh.LookAlikeParent) && selection.has(key, route.Metadata.Namespace) {
				keys, named[nameOf(route)] = append(keys, key), route
			}
		}
	}
	if len(named) > MaxRoutes {
		return nil, fmt.Errorf("%d routes are selected, and a graph shows at most %d: select a namespace with -n, or a Service, such as service/cart -n shop", len(named), MaxRoutes)
	}
	slices.SortFunc(keys, func(a, b mesh.ServiceKey) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name), strings.Compare(a.Kind, b.Kind))
	})
	g := &Graph{}
	keys = slices.Compact(keys)
	bypassing, err := traffic.GatewayRoutes(slices.Values(routes), reader, policy.Mesh, keys...)
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		on, err := bindings.Routes(engine, reader, key, assumed, book)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		for i := range on {
			if route := named[on[i].Route]; route != nil && selection.has(key, route.Metadata.Namespace) {
				g.Rows = append(g.Rows, &Row{Service: key, Route: on[i], route: route, rules: rulesOf(route, policy.Mesh)})
			}
		}
		g.bypassed(key, bypassing[key])
	}
	g.routes = len(named)
	g.draw()
	err = g.classify(engine, reader, routes)
	return g, err
}

// classify finds the classes of requests to the Services.
func (g *Graph) classify(engine *validate.Engine, reader mesh.Reader, routes []*mesh.Route) error {
	var all traffic.Routes
	for _, route := range routes {
		all = append(all, traffic.Route{AttachedRoute: route.Attached(engine.Policy().Mesh), Spec: &route.Spec})
	}
	table := traffic.New(reader, all, traffic.Options{Engine: engine})
	g.classes = map[mesh.ServiceKey][]traffic.RequestClass{}
	for _, row := range g.Rows {
		if _, done := g.classes[row.Service]; done {
			continue
		}
		classes, err := table.ClassesOf(row.Service)
		switch {
		case errors.Is(err, mesh.ErrUnknown), errors.Is(err, mesh.ErrNotFound), errors.Is(err, traffic.ErrTooMany):
		case err != nil:
			return err
		}
		g.classes[row.Service] = classes
	}
	return nil
}

// bypassed adds the routes on Gateways that send requests to the Service, up to MaxRoutes.
func (g *Graph) bypassed(key mesh.ServiceKey, by []traffic.GatewayRoute) {
	for i := range by {
		if g.gateways == MaxRoutes {
			return
		}
		g.gateways++
		kind, _, _ := strings.Cut(by[i].Route, " ")
		reason := "requests from a Gateway use the routes on the Gateway"
		if by[i].Problem != "" {
			reason = by[i].Problem
		}
		g.Rows = append(g.Rows, &Row{Service: key, Gateways: by[i].Gateways, Route: bindings.Route{
			Route: by[i].Route, Scope: "from " + strings.Join(by[i].Gateways, ", "), Port: by[i].Port, Protocol: mesh.RouteKind(kind).Transport(), State: Bypasses, Reason: reason,
		}})
	}
}

// has reports whether a route of the namespace on the Service is selected.
func (s *Selection) has(key mesh.ServiceKey, namespace string) bool {
	if s.Service != (mesh.ServiceKey{}) {
		return key == s.Service
	}
	return s.Namespace == "" || s.Namespace == key.Namespace || s.Namespace == namespace
}

// nameOf reads "HTTPRoute shop/cart".
func nameOf(route *mesh.Route) string {
	return string(route.Kind) + " " + route.Metadata.Namespace + "/" + route.Metadata.Name
}

// Port names the Service port in its namespace: "cart:80/TCP", or "cart" where the route
// attaches to none.
func (r *Row) Port() string {
	name := serviceName(r.Service)
	if r.Route.Port != 0 {
		name += fmt.Sprintf(":%d/%s", r.Route.Port, r.Protocol)
	}
	return name
}

// backendName returns the namespace of a backend, and its name there.
func backendName(ref *mesh.BackendRef, routeNamespace string) (namespace, label string) {
	key := ref.Service(routeNamespace)
	label = serviceName(key)
	if ref.Port != 0 {
		label += ":" + strconv.Itoa(int(ref.Port))
	}
	return key.Namespace, label
}

// serviceName reads "cart", or "ServiceImport cart".
func serviceName(key mesh.ServiceKey) string {
	if key.Kind == mesh.ServiceKind {
		return key.Name
	}
	return key.Kind + " " + key.Name
}
