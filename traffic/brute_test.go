package traffic

import (
	"fmt"
	"regexp"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// A second opinion, written apart from the engine and from nothing but the texts
// of HTTPRouteRule.matches, GRPCRouteRule.matches and GEP-1294: it lists all matches
// that hold and drops those that the text says are beaten, criterion by criterion.

// opinion is a match that holds for a request, in the terms of the texts.
type opinion struct {
	place           string
	exact           bool
	prefixLength    int
	method          bool
	headers, params int
	service, rpc    int
	created         int64
	name            string
	rule, match     int
}

// bruteDecide says which match decides a request to service/cart of shop: its
// place, "none", or "the Service" where no route holds the port. A mesh that merges
// HTTPRoutes and GRPCRoutes is Istio, which reads both by path.
func bruteDecide(routes apiRoutes, merges bool, r *Request) string {
	for _, namespace := range []string{r.From, "shop"} { // consumer routes replace producer routes
		kind, http := "", false
		for _, route := range routes.TCP {
			if bound(route.Namespace, namespace, route.Spec.ParentRefs, r.Port) {
				kind = "TCPRoute"
			}
		}
		for _, route := range routes.HTTP {
			if bound(route.Namespace, namespace, route.Spec.ParentRefs, r.Port) {
				kind, http = "HTTPRoute", true
			}
		}
		for _, route := range routes.GRPC {
			if bound(route.Namespace, namespace, route.Spec.ParentRefs, r.Port) {
				kind = "GRPCRoute"
			}
		}
		switch {
		case kind == "GRPCRoute" && merges:
			held := bruteGRPC(routes, namespace, r, true)
			if http {
				held = append(bruteHTTP(routes, namespace, r, true), held...)
			}
			return byTheLetter(held)
		case kind == "TCPRoute":
			return fmt.Sprintf("TCPRoute %s/%s rule[0] match[0]", namespace, routes.TCP[0].Name)
		case kind == "HTTPRoute":
			return byTheLetter(bruteHTTP(routes, namespace, r, merges))
		case kind == "GRPCRoute":
			return byTheLetter(bruteGRPC(routes, namespace, r, false))
		}
	}
	return "the Service"
}

func bound(of, namespace string, parents []gatewayv1.ParentReference, port int32) bool {
	return of == namespace && (parents[0].Port == nil || *parents[0].Port == port)
}

func bruteHTTP(routes apiRoutes, namespace string, r *Request, expressionsLast bool) []opinion {
	var held []opinion
	for _, route := range routes.HTTP {
		if !bound(route.Namespace, namespace, route.Spec.ParentRefs, r.Port) {
			continue
		}
		for i, rule := range route.Spec.Rules {
			matches := rule.Matches
			if len(matches) == 0 {
				matches = make([]gatewayv1.HTTPRouteMatch, 1)
			}
			for j, m := range matches {
				o := opinion{
					place: fmt.Sprintf("HTTPRoute %s/%s rule[%d] match[%d]", route.Namespace, route.Name, i, j), rule: i, match: j,
					created: route.CreationTimestamp.Unix(), name: route.Namespace + "/" + route.Name,
				}
				if brutePath(m.Path, r.Path, expressionsLast, &o) && bruteMethod(m.Method, r.Method, &o) && bruteHeaders(m.Headers, r, &o) && bruteParams(m.QueryParams, r, &o) {
					held = append(held, o)
				}
			}
		}
	}
	return held
}

// brutePath reports whether a path matches. Where an expression stands is specific to the implementation: before every
// prefix, unless it is said to be last, and then the longer one is first.
func brutePath(m *gatewayv1.HTTPPathMatch, path string, expressionsLast bool, o *opinion) bool {
	if m == nil {
		o.prefixLength = 1
		return true
	}
	if *m.Type == gatewayv1.PathMatchRegularExpression {
		if o.prefixLength = 1 << 20; expressionsLast {
			o.prefixLength = len(*m.Value) - 1<<20
		}
		return regexp.MustCompile("^" + *m.Value + "$").MatchString(path)
	}
	if *m.Type == gatewayv1.PathMatchExact {
		o.exact = true
		return path == *m.Value
	}
	// Element by element; a trailing slash of the prefix is ignored.
	var wanted []string
	for element := range strings.SplitSeq(*m.Value, "/") {
		if element != "" {
			wanted = append(wanted, element)
		}
	}
	o.prefixLength = max(1, len(strings.Join(wanted, "/"))+min(1, len(wanted)))
	got := strings.Split(path, "/")[1:]
	for i, element := range wanted {
		if i >= len(got) || got[i] != element {
			return false
		}
	}
	return true
}

func bruteMethod(m *gatewayv1.HTTPMethod, method string, o *opinion) bool {
	o.method = m != nil
	return m == nil || string(*m) == method
}

func bruteHeaders(matches []gatewayv1.HTTPHeaderMatch, r *Request, o *opinion) bool {
	seen := map[string]bool{}
	for _, m := range matches {
		name := strings.ToLower(string(m.Name))
		if seen[name] {
			continue // only the first entry counts
		}
		seen[name] = true
		if got, ok := r.Headers[name]; !ok || got != m.Value {
			return false
		}
	}
	o.headers = len(seen)
	return true
}

func bruteParams(matches []gatewayv1.HTTPQueryParamMatch, r *Request, o *opinion) bool {
	seen := map[string]bool{}
	for _, m := range matches {
		if name := string(m.Name); !seen[name] {
			seen[name] = true
			if got, ok := r.Query[name]; !ok || got != m.Value {
				return false
			}
		}
	}
	o.params = len(seen)
	return true
}

func bruteGRPC(routes apiRoutes, namespace string, r *Request, byPath bool) []opinion {
	var held []opinion
	if r.Headers["content-type"] != "application/grpc" && !byPath {
		return nil
	}
	call := strings.Split(r.Path, "/")
	for _, route := range routes.GRPC {
		if !bound(route.Namespace, namespace, route.Spec.ParentRefs, r.Port) {
			continue
		}
		for i, rule := range route.Spec.Rules {
			matches := rule.Matches
			if len(matches) == 0 {
				matches = make([]gatewayv1.GRPCRouteMatch, 1)
			}
			for j, m := range matches {
				o := opinion{
					place: fmt.Sprintf("GRPCRoute %s/%s rule[%d] match[%d]", route.Namespace, route.Name, i, j), rule: i, match: j,
					created: route.CreationTimestamp.Unix(), name: route.Namespace + "/" + route.Name,
				}
				switch {
				case byPath:
					if !bruteCall(m.Method, r.Path, &o) {
						continue
					}
					if len(rule.Matches) == 0 && route.Spec.ParentRefs[0].Port == nil {
						o.prefixLength--
					}
				case m.Method != nil:
					o.service, o.rpc = len(*m.Method.Service), len(*m.Method.Method)
					if o.service > 0 && *m.Method.Service != call[1] || o.rpc > 0 && *m.Method.Method != call[2] {
						continue
					}
				}
				var headers []gatewayv1.HTTPHeaderMatch
				for _, h := range m.Headers {
					headers = append(headers, gatewayv1.HTTPHeaderMatch{Name: gatewayv1.HTTPHeaderName(h.Name), Value: h.Value})
				}
				if bruteHeaders(headers, r, &o) {
					held = append(held, o)
				}
			}
		}
	}
	return held
}

// bruteCall reports whether a path is that of a gRPC method, as Istio reads it: an exact path, a
// prefix that ends in a slash, or an expression, which comes after every prefix.
func bruteCall(m *gatewayv1.GRPCMethodMatch, path string, o *opinion) bool {
	const expressions, others = -1 << 20, -1 << 21
	if m == nil || *m.Service == "" && *m.Method == "" {
		o.prefixLength = others
		return true
	}
	elements := strings.Split(path, "/")[1:]
	switch {
	case *m.Service == "":
		o.prefixLength = expressions + len(*m.Method)
		return len(elements) == 2 && elements[0] != "" && elements[1] == *m.Method
	case *m.Method == "":
		o.prefixLength = len("/" + *m.Service + "/")
		return elements[0] == *m.Service
	}
	o.exact = true
	return path == "/"+*m.Service+"/"+*m.Method
}

// byTheLetter drops the beaten, one criterion of the texts after the other.
func byTheLetter(held []opinion) string {
	most := func(count func(o opinion) int) {
		best := -1 << 62
		for _, o := range held {
			best = max(best, count(o))
		}
		var left []opinion
		for _, o := range held {
			if count(o) == best {
				left = append(left, o)
			}
		}
		held = left
	}
	yes := map[bool]int{true: 1}
	most(func(o opinion) int { return yes[o.exact] })
	most(func(o opinion) int { return o.prefixLength })
	most(func(o opinion) int { return o.service })
	most(func(o opinion) int { return o.rpc })
	most(func(o opinion) int { return yes[o.method] })
	most(func(o opinion) int { return o.headers })
	most(func(o opinion) int { return o.params })
	most(func(o opinion) int { return -int(o.created) })
	first := ""
	for _, o := range held {
		if first == "" || o.name < first {
			first = o.name
		}
	}
	most(func(o opinion) int { return yes[o.name == first] })
	most(func(o opinion) int { return yes[strings.HasPrefix(o.place, "GRPCRoute ")] }) // of merged kinds, where names are equal
	most(func(o opinion) int { return -o.rule })
	most(func(o opinion) int { return -o.match })
	if len(held) == 0 {
		return "none"
	}
	return held[0].place
}
