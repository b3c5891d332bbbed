package traffic

import (
	"cmp"
	"fmt"
	"iter"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/json"

	"github.com/gammaguard/gammaguard/mesh"
)

// Routes are the routes that there are, of every kind, in any order.
type Routes struct {
	HTTP []*gatewayv1.HTTPRoute
	GRPC []*gatewayv1.GRPCRoute
	TLS  []*gatewayv1.TLSRoute
	TCP  []*gatewayv1.TCPRoute
	UDP  []*gatewayv1.UDPRoute
}

// route is a route of any kind, with the API's defaults filled in.
type route struct {
	mesh.AttachedRoute // Created is zero where it is not known
	// later: it was not there in the version before, so that it is younger than those
	// of unknown age that were.
	later bool
	rules []rule
}

// rule is a rule of a route. It has at least one match, unless it can match
// nothing.
type rule struct {
	name     string
	matches  []match
	effects  Effects
	backends []backendRef
}

// backendRef is a backendRef of any kind of route.
type backendRef struct {
	ref     mesh.BackendRef
	weight  int64
	effects Effects
}

// lower brings the routes of all kinds into one form.
func (r *Routes) lower(sni bool) []*route {
	var routes []*route
	for _, in := range r.HTTP {
		out := newRoute(mesh.HTTPRoute, &in.ObjectMeta, &in.Spec.CommonRouteSpec)
		rules := in.Spec.Rules
		if len(rules) == 0 { // the API's default: one rule for every request
			rules = []gatewayv1.HTTPRouteRule{{}}
		}
		for i := range rules {
			out.rules = append(out.rules, lowerHTTPRule(&rules[i]))
		}
		routes = append(routes, out)
	}
	for _, in := range r.GRPC {
		out := newRoute(mesh.GRPCRoute, &in.ObjectMeta, &in.Spec.CommonRouteSpec)
		for i := range in.Spec.Rules {
			out.rules = append(out.rules, lowerGRPCRule(&in.Spec.Rules[i]))
		}
		routes = append(routes, out)
	}
	for _, in := range r.TLS {
		out := newRoute(mesh.TLSRoute, &in.ObjectMeta, &in.Spec.CommonRouteSpec)
		matches := anything()
		if sni {
			matches = lowerHostnames(in.Spec.Hostnames)
		}
		for _, rule := range in.Spec.Rules {
			out.addRule(rule.Name, matches, rule.BackendRefs)
		}
		routes = append(routes, out)
	}
	for _, in := range r.TCP {
		out := newRoute(mesh.TCPRoute, &in.ObjectMeta, &in.Spec.CommonRouteSpec)
		for _, rule := range in.Spec.Rules {
			out.addRule(rule.Name, anything(), rule.BackendRefs)
		}
		routes = append(routes, out)
	}
	for _, in := range r.UDP {
		out := newRoute(mesh.UDPRoute, &in.ObjectMeta, &in.Spec.CommonRouteSpec)
		for _, rule := range in.Spec.Rules {
			out.addRule(rule.Name, anything(), rule.BackendRefs)
		}
		routes = append(routes, out)
	}
	return routes
}

func newRoute(kind mesh.RouteKind, meta *metav1.ObjectMeta, spec *gatewayv1.CommonRouteSpec) *route {
	r := &route{AttachedRoute: mesh.AttachedRoute{Kind: kind, Namespace: cmp.Or(meta.Namespace, metav1.NamespaceDefault), Name: meta.Name}}
	if !meta.CreationTimestamp.IsZero() {
		r.Created = meta.CreationTimestamp.Unix()
	}
	for _, p := range spec.ParentRefs {
		parent := mesh.ParentRef{
			Kind: string(value(p.Kind)), Namespace: string(value(p.Namespace)), Name: string(p.Name),
			SectionName: string(value(p.SectionName)), Port: value(p.Port),
		}
		if p.Group != nil {
			group := string(*p.Group)
			parent.Group = &group
		}
		r.Parents = append(r.Parents, parent)
	}
	return r
}

// addRule adds a rule of a TLSRoute, TCPRoute or UDPRoute.
func (r *route) addRule(name *gatewayv1.SectionName, matches []match, refs []gatewayv1.BackendRef) {
	lowered := rule{name: string(value(name)), matches: matches}
	for i := range refs {
		lowered.backends = append(lowered.backends, lowerBackend(&refs[i], nil))
	}
	r.rules = append(r.rules, lowered)
}

func lowerHTTPRule(in *gatewayv1.HTTPRouteRule) rule {
	out := rule{name: string(value(in.Name)), effects: lowerFilters(in.Filters)}
	out.effects.addTimeouts(in.Timeouts, in.Retry, in.SessionPersistence)
	for i := range in.Matches {
		out.matches = append(out.matches, lowerHTTPMatch(&in.Matches[i]))
	}
	if len(in.Matches) == 0 {
		out.matches = []match{lowerHTTPMatch(&gatewayv1.HTTPRouteMatch{})}
	}
	for i := range in.BackendRefs {
		out.backends = append(out.backends, lowerBackend(&in.BackendRefs[i].BackendRef, in.BackendRefs[i].Filters))
	}
	return out
}

func lowerGRPCRule(in *gatewayv1.GRPCRouteRule) rule {
	out := rule{name: string(value(in.Name)), effects: lowerFilters(asHTTPFilters(in.Filters))}
	out.effects.addTimeouts(nil, nil, in.SessionPersistence)
	for i := range in.Matches {
		out.matches = append(out.matches, lowerGRPCMatch(&in.Matches[i]))
	}
	if len(in.Matches) == 0 {
		out.matches = []match{lowerGRPCMatch(&gatewayv1.GRPCRouteMatch{})}
	}
	for i := range in.BackendRefs {
		out.backends = append(out.backends, lowerBackend(&in.BackendRefs[i].BackendRef, asHTTPFilters(in.BackendRefs[i].Filters)))
	}
	return out
}

func lowerBackend(in *gatewayv1.BackendRef, filters []gatewayv1.HTTPRouteFilter) backendRef {
	out := backendRef{ref: lowerReference(&in.BackendObjectReference), weight: 1, effects: lowerFilters(filters)}
	if in.Weight != nil {
		out.weight = int64(*in.Weight)
	}
	return out
}

func lowerReference(in *gatewayv1.BackendObjectReference) mesh.BackendRef {
	return mesh.BackendRef{
		Group: string(value(in.Group)), Kind: string(value(in.Kind)),
		Namespace: string(value(in.Namespace)), Name: string(in.Name), Port: value(in.Port),
	}
}

// value returns what the pointer points to, or the zero value.
func value[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// parentServices yields the Services that the route's mesh parentRefs name.
func (r *route) parentServices() iter.Seq[mesh.ServiceKey] {
	return func(yield func(mesh.ServiceKey) bool) {
		for i := range r.Parents {
			if r.IsMeshParent(i) && !yield(r.Parents[i].Service(r.Namespace)) {
				return
			}
		}
	}
}

// Add adds a route as the API server stores it. Whose it is, and its age, are as
// given.
func (r *Routes) Add(whose *mesh.AttachedRoute, data []byte) error {
	switch whose.Kind {
	case mesh.HTTPRoute:
		return add(&r.HTTP, whose, data)
	case mesh.GRPCRoute:
		return add(&r.GRPC, whose, data)
	case mesh.TLSRoute:
		return add(&r.TLS, whose, data)
	case mesh.TCPRoute:
		return add(&r.TCP, whose, data)
	case mesh.UDPRoute:
		return add(&r.UDP, whose, data)
	}
	return fmt.Errorf("%s is not a kind of route", whose.Kind)
}

// add decodes a route and appends it to those of its kind.
func add[T any, P interface {
	*T
	metav1.Object
}](routes *[]*T, whose *mesh.AttachedRoute, data []byte) error {
	route := P(new(T))
	if err := json.UnmarshalCaseSensitivePreserveInts(data, route); err != nil {
		return fmt.Errorf("%s: %w", whose, err)
	}
	route.SetNamespace(whose.Namespace)
	route.SetName(whose.Name)
	route.SetCreationTimestamp(metav1.Time{})
	if whose.Created != 0 {
		route.SetCreationTimestamp(metav1.Unix(whose.Created, 0))
	}
	*routes = append(*routes, route)
	return nil
}
