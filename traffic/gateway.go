package traffic

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/mesh"
)

// GatewayRoute is a route on Gateways that sends requests to a port of a Service. Such requests
// reach the Service as a backend, and do not meet the routes whose parent it is (GEP-1294, Multiple
// routes for a Service).
type GatewayRoute struct {
	// Route reads "HTTPRoute shop/edge".
	Route string `json:"route"`
	// Gateways are those that it attaches to: "Gateway shop/public", or "the default Gateways".
	Gateways []string `json:"gateways"`
	// Port is that of the Service; zero where the backendRef has none.
	Port int32 `json:"port,omitempty"`
	// Rules are the indices of the rules that send requests there.
	Rules []int `json:"rules"`
	// Problem says why the Gateway may not send them; empty if nothing is known to prevent it.
	Problem string `json:"problem,omitempty"`
}

// String reads "HTTPRoute shop/edge rule[0] on Gateway shop/public sends requests to port 80".
func (g *GatewayRoute) String() string {
	rules := make([]string, len(g.Rules))
	for i, rule := range g.Rules {
		rules[i] = fmt.Sprintf("rule[%d]", rule)
	}
	text := fmt.Sprintf("%s %s on %s sends requests", g.Route, strings.Join(rules, ", "), strings.Join(g.Gateways, ", "))
	if g.Port != 0 {
		text += " to port " + strconv.Itoa(int(g.Port))
	}
	if g.Problem != "" {
		text += ", but " + g.Problem
	}
	return printable.Text(text)
}

// GatewayRoutes returns, for each of the Services, the routes on Gateways that send requests to it,
// mirrored ones included, by name and port. The reader is asked for Gateways and ReferenceGrants, the profile says
// what the mesh takes for a Service. The error is the failure of a read.
func GatewayRoutes(routes iter.Seq[*mesh.Route], reader mesh.Reader, profile *mesh.Profile, services ...mesh.ServiceKey) (map[mesh.ServiceKey][]GatewayRoute, error) {
	found := make(map[mesh.ServiceKey][]GatewayRoute, len(services))
	for _, key := range services {
		found[key] = nil
	}
	for route := range routes {
		if !route.Spec.HasGateway() {
			continue
		}
		for backend := range route.Backends() {
			ref := backend.Ref
			if !ref.IsService(profile) || ref.Share() == 0 {
				continue
			}
			key := ref.Service(route.Metadata.Namespace)
			sending, wanted := found[key]
			if !wanted {
				continue
			}
			var err error
			if found[key], err = addRule(sending, reader, route, &backend, key); err != nil {
				return nil, err
			}
		}
	}
	for _, sending := range found {
		slices.SortFunc(sending, func(a, b GatewayRoute) int {
			return cmp.Or(strings.Compare(a.Route, b.Route), cmp.Compare(a.Port, b.Port))
		})
	}
	return found, nil
}

// addRule adds the rule of a backend to those of its route, which are the last ones.
func addRule(sending []GatewayRoute, reader mesh.Reader, route *mesh.Route, backend *mesh.Backend, key mesh.ServiceKey) ([]GatewayRoute, error) {
	name := route.String()
	for i := range slices.Backward(sending) {
		g := &sending[i]
		if g.Route != name {
			break
		}
		if g.Port == backend.Ref.Port {
			if g.Rules[len(g.Rules)-1] != backend.Rule {
				g.Rules = append(g.Rules, backend.Rule)
			}
			return sending, nil
		}
	}
	problem := ungated(reader, route)
	var err error
	if problem == "" {
		problem, err = unpermitted(reader, route, key)
	}
	return append(sending, GatewayRoute{Route: name, Gateways: gatewaysOf(route), Port: backend.Ref.Port, Rules: []int{backend.Rule}, Problem: problem}), err
}

// gateways returns the Gateways and ListenerSets that the route attaches to by a parentRef.
func gateways(route *mesh.Route) (keys []mesh.ObjectKey) {
	for i := range route.Spec.ParentRefs {
		ref := &route.Spec.ParentRefs[i]
		key := mesh.ObjectKey{Group: mesh.GatewayGroup, Kind: ref.EffectiveKind(), Namespace: cmp.Or(ref.Namespace, route.Metadata.Namespace), Name: ref.Name}
		if ref.Class(nil) == mesh.GatewayParent && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// ungated says that no Gateway sends the requests, since none of the route exists. What cannot be known is no problem.
func ungated(reader mesh.Reader, route *mesh.Route) string {
	keys := gateways(route)
	missing := func(key mesh.ObjectKey) bool { return errors.Is(mesh.FindObject(reader, key), mesh.ErrNotFound) }
	switch {
	case route.Spec.AttachesByDefault(), slices.ContainsFunc(keys, func(key mesh.ObjectKey) bool { return !missing(key) }):
		return ""
	case len(keys) == 1:
		return "the " + keys[0].Kind + " does not exist"
	}
	return "its Gateways do not exist"
}

// gatewaysOf names the Gateways and ListenerSets that the route attaches to.
func gatewaysOf(route *mesh.Route) []string {
	var names []string
	for _, key := range gateways(route) {
		names = append(names, key.Kind+" "+key.Namespace+"/"+key.Name)
	}
	if route.Spec.AttachesByDefault() {
		names = append(names, "the default Gateways")
	}
	return names
}

// unpermitted says why a Gateway may not send requests of the route to the Service: across
// namespaces, a ReferenceGrant must permit it (GEP-709). What cannot be known is no problem.
func unpermitted(reader mesh.Reader, route *mesh.Route, key mesh.ServiceKey) (string, error) {
	if route.Metadata.Namespace == key.Namespace {
		return "", nil
	}
	grants, err := mesh.ReferenceGrants(reader, key.Namespace)
	switch {
	case errors.Is(err, mesh.ErrUnknown):
		return "", nil
	case err != nil && !errors.Is(err, mesh.ErrNotFound):
		return "", err
	}
	for i := range grants {
		if grants[i].Permits(route.Kind, route.Metadata.Namespace, key) {
			return "", nil
		}
	}
	return "no ReferenceGrant in namespace " + key.Namespace + " permits it", nil
}

// fromGateway is the trace of a request that a Gateway sends to the Service port.
func (t *Table) fromGateway(request *Request) (*Trace, error) {
	request.From = ""
	pr, err := t.portRoutesOf(request)
	if err != nil {
		return nil, err
	}
	trace := &Trace{Request: *request, Scope: "from Gateways", Outcome: forwarded(fmt.Sprintf("%s:%d", request.Service, request.Port))}
	found, err := GatewayRoutes(slices.Values(t.gateways), t.reader, t.engine.Policy().Mesh, request.Service)
	if err != nil {
		return nil, err
	}
	for _, route := range found[request.Service] {
		if route.Port == 0 || route.Port == request.Port {
			trace.GatewayRoutes = append(trace.GatewayRoutes, route)
		}
	}
	if len(trace.GatewayRoutes) == 0 {
		trace.Notes = []string{fmt.Sprintf("no route on a Gateway sends requests to port %d of %s", request.Port, request.Service)}
	}
	if pr.kind != "" && len(trace.GatewayRoutes) > 0 {
		trace.Notes = append(trace.Notes, fmt.Sprintf("the %ss on the port do not apply to these requests: a Gateway uses the routes on the Gateway", pr.kind))
	}
	trace.Notes = append(trace.Notes, pr.notes...)
	for _, other := range t.on(request.Service) {
		trace.NotTaken = append(trace.NotTaken, NearMiss{Route: other.String(), Reason: "requests from a Gateway use the routes on the Gateway"})
	}
	return trace, nil
}
