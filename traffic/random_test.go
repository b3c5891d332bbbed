package traffic

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

// choices make routes and requests out of bytes, so that a fuzzer can steer them.
// Once the bytes are used up every choice is the first.
type choices struct{ bytes []byte }

// randomChoices returns n choices that follow from the seed (SplitMix64).
func randomChoices(seed uint64, n int) *choices {
	bytes := make([]byte, n)
	state := seed << 32
	for i := range bytes {
		state += 0x9e3779b97f4a7c15
		z := (state ^ state>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		bytes[i] = byte(z >> 33)
	}
	return &choices{bytes}
}

// below returns a number below n.
func (c *choices) below(n int) int {
	if len(c.bytes) == 0 {
		return 0
	}
	first := int(c.bytes[0])
	c.bytes = c.bytes[1:]
	return first % n
}

func (c *choices) maybe(percent int) bool { return c.below(100) < percent }

func pick[T any](c *choices, from ...T) T { return from[c.below(len(from))] }

// routes returns a few routes on Service shop/cart, of both roles.
func (c *choices) routes() apiRoutes {
	var out apiRoutes
	grpc := c.maybe(25)
	for range 1 + c.below(4) {
		if grpc && c.maybe(60) {
			out.GRPC = append(out.GRPC, c.grpcRoute(len(out.GRPC)))
		} else {
			out.HTTP = append(out.HTTP, c.httpRoute(len(out.HTTP)))
		}
	}
	if c.maybe(10) {
		route := &gatewayv1.TCPRoute{Spec: gatewayv1.TCPRouteSpec{Rules: []gatewayv1.TCPRouteRule{{BackendRefs: []gatewayv1.BackendRef{c.backend()}}}}}
		route.ObjectMeta, route.Spec.CommonRouteSpec = c.head(0)
		out.TCP = append(out.TCP, route)
	}
	return out
}

// options are those of the specification, or of a mesh that merges HTTPRoutes and GRPCRoutes.
func (c *choices) options(t testing.TB) Options {
	t.Helper()
	if c.maybe(30) {
		return by(t, validate.Policy{Mesh: mergingMesh()})
	}
	return Options{}
}

// withoutExpressions has GRPCRoutes match methods of a service only, where a mesh would read those of
// any service as a regular expression: those are compared by examples.
func withoutExpressions(options Options, all ...apiRoutes) {
	service := "a.S"
	for _, routes := range all {
		for _, route := range routes.GRPC {
			for i := range route.Spec.Rules {
				for j := range route.Spec.Rules[i].Matches {
					if m := route.Spec.Rules[i].Matches[j].Method; options.Engine != nil && m != nil && *m.Service == "" && *m.Method != "" {
						m.Service = &service
					}
				}
			}
		}
	}
}

// head returns the metadata and the parents of a route.
func (c *choices) head(number int) (metav1.ObjectMeta, gatewayv1.CommonRouteSpec) {
	meta := metav1.ObjectMeta{Namespace: pick(c, "shop", "shop", "shop", "faces"), Name: fmt.Sprintf("%s%d", pick(c, "b", "a", "c"), number)}
	meta.CreationTimestamp = metav1.NewTime(time.Unix(int64(1+c.below(3)), 0))
	group, kind, namespace := gatewayv1.Group(""), gatewayv1.Kind("Service"), gatewayv1.Namespace("shop")
	ref := gatewayv1.ParentReference{Group: &group, Kind: &kind, Namespace: &namespace, Name: "cart"}
	if c.maybe(40) {
		port := pick(c, gatewayv1.PortNumber(80), 8080)
		ref.Port = &port
	}
	return meta, gatewayv1.CommonRouteSpec{ParentRefs: []gatewayv1.ParentReference{ref}}
}

func (c *choices) httpRoute(number int) *gatewayv1.HTTPRoute {
	route := &gatewayv1.HTTPRoute{}
	route.ObjectMeta, route.Spec.CommonRouteSpec = c.head(number)
	for range 1 + c.below(3) {
		rule := gatewayv1.HTTPRouteRule{BackendRefs: []gatewayv1.HTTPBackendRef{{BackendRef: c.backend()}}}
		for range c.below(3) {
			rule.Matches = append(rule.Matches, c.httpMatch())
		}
		route.Spec.Rules = append(route.Spec.Rules, rule)
	}
	return route
}

func (c *choices) httpMatch() gatewayv1.HTTPRouteMatch {
	var m gatewayv1.HTTPRouteMatch
	if c.maybe(80) {
		kind, text := pick(c, gatewayv1.PathMatchPathPrefix, gatewayv1.PathMatchExact), pick(c, "/a", "/a/b", "/", "/a/b/", "/ab", "/a/b/c")
		switch {
		case c.maybe(15): // of two, one can match all that the other does, a part of it, or nothing
			kind, text = gatewayv1.PathMatchRegularExpression, pick(c, "/a/[0-9]+", "/a/[0-9]", "/a/[1-9][0-9]", "/a/[0-5]+")
		case c.maybe(5): // what most of them match
			kind, text = gatewayv1.PathMatchExact, "/a/5"
		}
		m.Path = &gatewayv1.HTTPPathMatch{Type: &kind, Value: &text}
	}
	if c.maybe(30) {
		method := pick(c, gatewayv1.HTTPMethodGet, gatewayv1.HTTPMethodPost)
		m.Method = &method
	}
	for range c.below(3) {
		m.Headers = append(m.Headers, gatewayv1.HTTPHeaderMatch{Name: pick(c, gatewayv1.HTTPHeaderName("x"), "X", "y"), Value: pick(c, "1", "2")})
	}
	for range c.below(3) {
		m.QueryParams = append(m.QueryParams, gatewayv1.HTTPQueryParamMatch{Name: pick(c, gatewayv1.HTTPHeaderName("p"), "P"), Value: pick(c, "1", "2")})
	}
	return m
}

func (c *choices) grpcRoute(number int) *gatewayv1.GRPCRoute {
	route := &gatewayv1.GRPCRoute{}
	route.ObjectMeta, route.Spec.CommonRouteSpec = c.head(number)
	for range 1 + c.below(3) {
		rule := gatewayv1.GRPCRouteRule{BackendRefs: []gatewayv1.GRPCBackendRef{{BackendRef: c.backend()}}}
		for range c.below(3) {
			var m gatewayv1.GRPCRouteMatch
			if c.maybe(80) {
				service, method := pick(c, "a.S", "", "bb.S"), pick(c, "Do", "", "Undo")
				m.Method = &gatewayv1.GRPCMethodMatch{Service: &service, Method: &method}
			}
			for range c.below(3) {
				m.Headers = append(m.Headers, gatewayv1.GRPCHeaderMatch{Name: pick(c, gatewayv1.GRPCHeaderName("x"), "X", "y"), Value: pick(c, "1", "2")})
			}
			rule.Matches = append(rule.Matches, m)
		}
		route.Spec.Rules = append(route.Spec.Rules, rule)
	}
	return route
}

func (c *choices) backend() gatewayv1.BackendRef {
	port, namespace := gatewayv1.PortNumber(8080), gatewayv1.Namespace("shop")
	return gatewayv1.BackendRef{BackendObjectReference: gatewayv1.BackendObjectReference{
		Name: pick(c, gatewayv1.ObjectName("cart-v1"), "cart-v2", "gone"), Namespace: &namespace, Port: &port,
	}}
}

// request returns a request to Service shop/cart.
func (c *choices) request() Request {
	r := Request{
		Service: mesh.ServiceKey{Kind: mesh.ServiceKind, Namespace: "shop", Name: "cart"},
		Port:    pick(c, int32(80), 8080), From: pick(c, "shop", "faces", "lab"),
		Method:  pick(c, "GET", "POST", "PUT"),
		Path:    pick(c, "/", "/a", "/a/", "/a/b", "/ab", "/a/b/", "/a/b/c", "/a/b/c/d", "/b", "/a/5", "/a/57", "/a/9", "/a/05", "/a/50", "/a/099"),
		Headers: map[string]string{}, Query: map[string]string{},
	}
	for _, name := range []string{"x", "y"} {
		if c.maybe(60) {
			r.Headers[name] = pick(c, "1", "2", "3")
		}
	}
	for _, name := range []string{"p", "P"} {
		if c.maybe(60) {
			r.Query[name] = pick(c, "1", "2", "3")
		}
	}
	if c.maybe(25) {
		r.Method, r.Path = "POST", "/"+pick(c, "a.S", "bb.S", "c", "a")+"/"+pick(c, "Do", "Undo", "Go", "5", "57")
		r.Headers[contentType] = grpcContent
	}
	return r
}
