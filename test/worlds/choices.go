package worlds

import (
	"fmt"
	"math/rand/v2"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/traffic"
)

// choices make routes and requests at random.
type choices struct {
	*rand.Rand
	options Options
}

func (c *choices) below(n int) int { return c.IntN(n) }

func (c *choices) maybe(percent int) bool { return c.below(100) < percent }

func pick[T any](c *choices, from ...T) T { return from[c.below(len(from))] }

// What matches look for, and what requests have.
var (
	paths   = []string{"/", "/a", "/a/b", "/a/b/", "/ab", "/a/b/c", "/shop.Cart", "/shop.Cart/Add"}
	regular = []string{"/a/.*", "/[ab]+", "/a|/b", "/.*/c", "/shop.Cart/A.*"}
	headers = []string{"x-one", "X-Two"}
	params  = []string{"p", "q"}
	values  = []string{"1", "2", "12"}
	methods = []gatewayv1.HTTPMethod{"GET", "POST", "PUT"}
	calls   = []string{"shop.Cart", "shop.Order", "shop"}
	names   = []string{"Add", "Get"}
)

// head returns the metadata and the parents of a route. Ages may be equal.
func (c *choices) head(number int) (metav1.ObjectMeta, gatewayv1.CommonRouteSpec) {
	meta := metav1.ObjectMeta{Namespace: Namespace, Name: fmt.Sprintf("%s%d", pick(c, "b", "a", "c"), number), CreationTimestamp: created(c.below(4)), Generation: 1}
	if c.options.Profile == nil || c.options.Profile.ConsumerRoutes.Value {
		meta.Namespace = pick(c, Namespace, Namespace, Clients)
	}
	group, kind, namespace := gatewayv1.Group(""), gatewayv1.Kind(mesh.ServiceKind), gatewayv1.Namespace(Namespace)
	ref := gatewayv1.ParentReference{Group: &group, Kind: &kind, Namespace: &namespace, Name: Service}
	if c.maybe(40) {
		port := pick(c, Ports[:2]...)
		ref.Port = &port
	}
	return meta, gatewayv1.CommonRouteSpec{ParentRefs: []gatewayv1.ParentReference{ref}}
}

func (c *choices) httpRoute(number int) *gatewayv1.HTTPRoute {
	route := &gatewayv1.HTTPRoute{TypeMeta: metav1.TypeMeta{APIVersion: gatewayv1.GroupVersion.String(), Kind: string(mesh.HTTPRoute)}}
	route.ObjectMeta, route.Spec.CommonRouteSpec = c.head(number)
	for range 1 + c.below(3) {
		var rule gatewayv1.HTTPRouteRule
		for range c.below(3) {
			rule.Matches = append(rule.Matches, c.httpMatch())
		}
		if len(rule.Matches) == 0 { // the API's default
			rule.Matches = append(rule.Matches, gatewayv1.HTTPRouteMatch{Path: path(gatewayv1.PathMatchPathPrefix, "/")})
		}
		if !c.options.Plain {
			c.httpEffects(&rule)
		}
		for range c.backends(&rule) {
			ref := gatewayv1.HTTPBackendRef{BackendRef: c.backend(route.Namespace)}
			if !c.options.Plain && c.maybe(15) {
				ref.Filters = append(ref.Filters, gatewayv1.HTTPRouteFilter{Type: gatewayv1.HTTPRouteFilterRequestHeaderModifier, RequestHeaderModifier: c.headerFilter()})
			}
			if !c.options.Plain && c.maybe(10) {
				ref.Filters = append(ref.Filters, gatewayv1.HTTPRouteFilter{Type: gatewayv1.HTTPRouteFilterResponseHeaderModifier, ResponseHeaderModifier: c.headerFilter()})
			}
			rule.BackendRefs = append(rule.BackendRefs, ref)
		}
		route.Spec.Rules = append(route.Spec.Rules, rule)
	}
	return route
}

// backends returns how many backends a rule has: none with a redirect.
func (c *choices) backends(rule *gatewayv1.HTTPRouteRule) int {
	for i := range rule.Filters {
		if rule.Filters[i].RequestRedirect != nil {
			return 0
		}
	}
	if !c.options.Plain && c.maybe(4) {
		return 0
	}
	return 1 + c.below(3)
}

func path(kind gatewayv1.PathMatchType, text string) *gatewayv1.HTTPPathMatch {
	return &gatewayv1.HTTPPathMatch{Type: &kind, Value: &text}
}

func (c *choices) httpMatch() gatewayv1.HTTPRouteMatch {
	m := gatewayv1.HTTPRouteMatch{Path: path(gatewayv1.PathMatchPathPrefix, "/")}
	switch {
	case c.maybe(10):
		m.Path = path(gatewayv1.PathMatchRegularExpression, pick(c, regular...))
	case c.maybe(80):
		m.Path = path(pick(c, gatewayv1.PathMatchPathPrefix, gatewayv1.PathMatchPathPrefix, gatewayv1.PathMatchExact), pick(c, paths...))
	}
	if c.maybe(30) {
		method := pick(c, methods...)
		m.Method = &method
	}
	for _, name := range headers {
		if c.maybe(25) {
			m.Headers = append(m.Headers, c.headerMatch(name))
		}
	}
	for _, name := range params {
		if c.maybe(15) {
			kind := gatewayv1.QueryParamMatchExact
			m.QueryParams = append(m.QueryParams, gatewayv1.HTTPQueryParamMatch{Type: &kind, Name: gatewayv1.HTTPHeaderName(name), Value: pick(c, values...)})
		}
	}
	return m
}

func (c *choices) headerMatch(name string) gatewayv1.HTTPHeaderMatch {
	kind, value := gatewayv1.HeaderMatchExact, pick(c, values...)
	if c.maybe(20) {
		kind, value = gatewayv1.HeaderMatchRegularExpression, pick(c, "1.*", "[12]")
	}
	return gatewayv1.HTTPHeaderMatch{Type: &kind, Name: gatewayv1.HTTPHeaderName(name), Value: value}
}

func (c *choices) grpcRoute(number int) *gatewayv1.GRPCRoute {
	route := &gatewayv1.GRPCRoute{TypeMeta: metav1.TypeMeta{APIVersion: gatewayv1.GroupVersion.String(), Kind: string(mesh.GRPCRoute)}}
	route.ObjectMeta, route.Spec.CommonRouteSpec = c.head(number)
	for range 1 + c.below(3) {
		var rule gatewayv1.GRPCRouteRule
		for range c.below(3) {
			rule.Matches = append(rule.Matches, c.grpcMatch())
		}
		if c.maybe(25) {
			rule.Filters = append(rule.Filters, gatewayv1.GRPCRouteFilter{Type: gatewayv1.GRPCRouteFilterRequestHeaderModifier, RequestHeaderModifier: c.headerFilter()})
		}
		if c.maybe(15) {
			rule.Filters = append(rule.Filters, gatewayv1.GRPCRouteFilter{Type: gatewayv1.GRPCRouteFilterResponseHeaderModifier, ResponseHeaderModifier: c.headerFilter()})
		}
		if c.maybe(10) {
			rule.Filters = append(rule.Filters, gatewayv1.GRPCRouteFilter{Type: gatewayv1.GRPCRouteFilterRequestMirror, RequestMirror: c.mirror("two")})
		}
		for range 1 + c.below(2) {
			ref := gatewayv1.GRPCBackendRef{BackendRef: c.backend(route.Namespace)}
			if c.maybe(15) {
				ref.Filters = append(ref.Filters, gatewayv1.GRPCRouteFilter{Type: gatewayv1.GRPCRouteFilterRequestHeaderModifier, RequestHeaderModifier: c.headerFilter()})
			}
			rule.BackendRefs = append(rule.BackendRefs, ref)
		}
		route.Spec.Rules = append(route.Spec.Rules, rule)
	}
	return route
}

func (c *choices) grpcMatch() gatewayv1.GRPCRouteMatch {
	var m gatewayv1.GRPCRouteMatch
	if c.maybe(75) {
		kind := gatewayv1.GRPCMethodMatchExact
		m.Method = &gatewayv1.GRPCMethodMatch{Type: &kind}
		if c.maybe(85) {
			service := pick(c, calls...)
			m.Method.Service = &service
		}
		if m.Method.Service == nil || c.maybe(60) {
			method := pick(c, names...)
			m.Method.Method = &method
		}
	}
	if c.maybe(30) {
		kind := gatewayv1.GRPCHeaderMatchExact
		m.Headers = append(m.Headers, gatewayv1.GRPCHeaderMatch{Type: &kind, Name: gatewayv1.GRPCHeaderName(pick(c, headers...)), Value: pick(c, values...)})
	}
	return m
}

// backend returns a backendRef of a route in the namespace: of its own namespace, of another, and
// seldom to a Service that is not there.
func (c *choices) backend(namespace string) gatewayv1.BackendRef {
	group, kind, port, weight := gatewayv1.Group(""), gatewayv1.Kind(mesh.ServiceKind), pick(c, Ports...), pick[int32](c, 0, 1, 1, 1, 2, 3, 50, 90)
	name := gatewayv1.ObjectName(pick(c, "one", "two", "three", Service))
	in := gatewayv1.Namespace(Namespace)
	switch {
	case c.maybe(10):
		name, in = "four", Clients
	case c.maybe(4):
		name = "missing"
	}
	ref := gatewayv1.BackendRef{BackendObjectReference: gatewayv1.BackendObjectReference{Group: &group, Kind: &kind, Name: name, Port: &port}, Weight: &weight}
	if string(in) != namespace {
		ref.Namespace = &in
	}
	return ref
}

// Requests returns requests to the Service, of which many meet what the routes look for.
func (w *World) Requests(n int) []traffic.Request {
	c := &choices{rand.New(rand.NewPCG(w.Seed, 2)), w.options}
	out := make([]traffic.Request, n)
	for i := range out {
		r := traffic.Request{Service: Key, Port: pick(c, Ports...), From: pick(c, Namespace, Clients), Headers: map[string]string{}, Query: map[string]string{}}
		for _, name := range []string{"x-one", "x-two"} {
			if c.maybe(50) {
				r.Headers[name] = pick(c, "1", "2", "12", "3")
			}
		}
		if len(w.GRPC) > 0 && c.maybe(50) {
			r.Path, r.Headers["content-type"] = "/"+pick(c, calls...)+"/"+pick(c, names...), "application/grpc"
			r.Method = "POST"
		} else {
			r.Path, r.Method = pick(c, paths...)+pick(c, "", "", "/c", "x"), pick(c, "GET", "POST", "PUT", "DELETE")
			for _, name := range params {
				if c.maybe(40) {
					r.Query[name] = pick(c, values...)
				}
			}
		}
		out[i] = r
	}
	return out
}
