package worlds

import (
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gammaguard/gammaguard/mesh"
)

// httpEffects adds filters and timeouts, of those that go together.
func (c *choices) httpEffects(rule *gatewayv1.HTTPRouteRule) {
	add := func(filter gatewayv1.HTTPRouteFilter) { rule.Filters = append(rule.Filters, filter) }
	if c.maybe(20) {
		add(gatewayv1.HTTPRouteFilter{Type: gatewayv1.HTTPRouteFilterRequestHeaderModifier, RequestHeaderModifier: c.headerFilter()})
	}
	if c.maybe(15) {
		add(gatewayv1.HTTPRouteFilter{Type: gatewayv1.HTTPRouteFilterResponseHeaderModifier, ResponseHeaderModifier: c.headerFilter()})
	}
	prefix := true // a prefix can be replaced where each match looks for one
	for i := range rule.Matches {
		prefix = prefix && *rule.Matches[i].Path.Type == gatewayv1.PathMatchPathPrefix
	}
	prefix = prefix && len(rule.Matches) == 1
	switch c.below(8) {
	case 0:
		redirect := &gatewayv1.HTTPRequestRedirectFilter{Path: c.pathModifier(prefix)}
		status := pick(c, 301, 302)
		redirect.StatusCode = &status
		if c.maybe(50) {
			host := gatewayv1.PreciseHostname("example.com")
			redirect.Hostname = &host
		}
		if c.maybe(30) {
			scheme := "https"
			redirect.Scheme = &scheme
		}
		if c.maybe(30) {
			port := gatewayv1.PortNumber(8443)
			redirect.Port = &port
		}
		add(gatewayv1.HTTPRouteFilter{Type: gatewayv1.HTTPRouteFilterRequestRedirect, RequestRedirect: redirect})
		return
	case 1:
		rewrite := &gatewayv1.HTTPURLRewriteFilter{Path: c.pathModifier(prefix)}
		if rewrite.Path == nil || c.maybe(40) {
			host := gatewayv1.PreciseHostname("inner.example.com")
			rewrite.Hostname = &host
		}
		add(gatewayv1.HTTPRouteFilter{Type: gatewayv1.HTTPRouteFilterURLRewrite, URLRewrite: rewrite})
	case 2:
		add(gatewayv1.HTTPRouteFilter{Type: gatewayv1.HTTPRouteFilterRequestMirror, RequestMirror: c.mirror(pick[gatewayv1.ObjectName](c, "two", "two", "three", "missing"))})
	}
	if c.maybe(20) {
		request := pick(c, gatewayv1.Duration("10s"), "1s", "500ms")
		rule.Timeouts = &gatewayv1.HTTPRouteTimeouts{Request: &request}
		if c.maybe(40) {
			try := gatewayv1.Duration("200ms")
			rule.Timeouts.BackendRequest = &try
		}
		if c.maybe(30) {
			attempts := 1 + c.below(3)
			rule.Retry = &gatewayv1.HTTPRouteRetry{Attempts: &attempts}
		}
	}
}

// mirror returns copies of requests to a Service.
func (c *choices) mirror(to gatewayv1.ObjectName) *gatewayv1.HTTPRequestMirrorFilter {
	group, kind, port := gatewayv1.Group(""), gatewayv1.Kind(mesh.ServiceKind), Ports[0]
	namespace := gatewayv1.Namespace(Namespace)
	mirror := &gatewayv1.HTTPRequestMirrorFilter{BackendRef: gatewayv1.BackendObjectReference{Group: &group, Kind: &kind, Namespace: &namespace, Name: to, Port: &port}}
	switch c.below(4) {
	case 0, 1:
		percent := pick[int32](c, 0, 10, 50, 100)
		mirror.Percent = &percent
	case 2:
		of := pick[int32](c, 10, 1000)
		mirror.Fraction = &gatewayv1.Fraction{Numerator: pick[int32](c, 1, 5), Denominator: &of}
	}
	return mirror
}

// headerFilter changes a few headers, each once.
func (c *choices) headerFilter() *gatewayv1.HTTPHeaderFilter {
	out := &gatewayv1.HTTPHeaderFilter{}
	if c.maybe(60) {
		out.Set = []gatewayv1.HTTPHeader{{Name: "X-Set", Value: pick(c, "yes", "no")}}
	}
	if c.maybe(40) {
		out.Add = []gatewayv1.HTTPHeader{{Name: "x-add", Value: pick(c, "1", "2")}}
	}
	if len(out.Set)+len(out.Add) == 0 || c.maybe(30) {
		out.Remove = []string{"x-remove"}
	}
	return out
}

// pathModifier returns a change of the path, or nil.
func (c *choices) pathModifier(prefix bool) *gatewayv1.HTTPPathModifier {
	text := pick(c, "/", "/new", "/new/", "/n/m")
	switch {
	case c.maybe(30):
		return nil
	case prefix && c.maybe(70):
		return &gatewayv1.HTTPPathModifier{Type: gatewayv1.PrefixMatchHTTPPathModifier, ReplacePrefixMatch: &text}
	}
	return &gatewayv1.HTTPPathModifier{Type: gatewayv1.FullPathHTTPPathModifier, ReplaceFullPath: &text}
}
