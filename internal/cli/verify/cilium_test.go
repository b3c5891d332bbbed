package verify_test

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gammaguard/gammaguard/test/worlds"
)

// This file writes worlds as Cilium's operator does, of 1.20.2: operator/pkg/model/ingestion/gamma.go and gateway.go, and
// operator/pkg/model/translation/envoy_virtual_host.go. test/truth asks the operator itself.

// ciliumMatch is a match for one port of the Service. Matches of the same key become one route of Envoy.
type ciliumMatch struct {
	flat
	port int32
	key  string
	refs []gatewayv1.HTTPBackendRef
}

// ciliumMatches returns the matches of all routes, those of HTTPRoutes first, and the ports that any route selects.
func ciliumMatches(w *worlds.World) (all []ciliumMatch, ports []int32) {
	routes := slices.Clone(w.HTTP)
	for _, route := range w.GRPC {
		routes = append(routes, byPath(route))
	}
	for i, route := range routes {
		grpc := i >= len(w.HTTP)
		rulesOf := map[string]map[int]bool{}
		for j := range route.Spec.Rules {
			for k := range route.Spec.Rules[j].Matches {
				key := ciliumKey(&route.Spec.Rules[j], k)
				if rulesOf[key] == nil {
					rulesOf[key] = map[int]bool{}
				}
				rulesOf[key][j] = true
			}
		}
		for _, port := range ciliumPorts(w, route.Spec.ParentRefs[0].Port, map[bool]string{false: "http", true: "grpc"}[grpc]) {
			ports = append(ports, port)
			for j := range route.Spec.Rules {
				rule := &route.Spec.Rules[j]
				for k := range rule.Matches {
					key := ciliumKey(rule, k)
					if !grpc && len(rulesOf[key]) > 1 { // such rules of an HTTPRoute are kept apart
						key = fmt.Sprintf("%s %d %d", route.Name, j, k)
					}
					all = append(all, ciliumMatch{flat{rule.Matches[k], rule, route}, port, key, ciliumRefs(w, rule, route)})
				}
			}
		}
	}
	slices.Sort(ports)
	return all, slices.Compact(ports)
}

// byPath returns the HTTPRoute that Cilium makes of a GRPCRoute: its matches are those of paths. Filters of backendRefs are
// ignored. A match of any path has the prefix "", which is not the "/" of HTTPRoutes.
func byPath(from *gatewayv1.GRPCRoute) *gatewayv1.HTTPRoute {
	to := &gatewayv1.HTTPRoute{ObjectMeta: from.ObjectMeta}
	to.Spec.CommonRouteSpec = from.Spec.CommonRouteSpec
	for i := range from.Spec.Rules {
		var rule gatewayv1.HTTPRouteRule
		for _, m := range from.Spec.Rules[i].Matches {
			rule.Matches = append(rule.Matches, matchByPath(&m))
		}
		if len(rule.Matches) == 0 {
			rule.Matches = append(rule.Matches, matchByPath(&gatewayv1.GRPCRouteMatch{}))
		}
		for _, f := range from.Spec.Rules[i].Filters {
			rule.Filters = append(rule.Filters, gatewayv1.HTTPRouteFilter{RequestHeaderModifier: f.RequestHeaderModifier, ResponseHeaderModifier: f.ResponseHeaderModifier, RequestMirror: f.RequestMirror})
		}
		for _, ref := range from.Spec.Rules[i].BackendRefs {
			rule.BackendRefs = append(rule.BackendRefs, gatewayv1.HTTPBackendRef{BackendRef: ref.BackendRef})
		}
		to.Spec.Rules = append(to.Spec.Rules, rule)
	}
	return to
}

func matchByPath(m *gatewayv1.GRPCRouteMatch) (out gatewayv1.HTTPRouteMatch) {
	kind, path := gatewayv1.PathMatchPathPrefix, ""
	if m.Method != nil {
		switch {
		case m.Method.Service != nil && m.Method.Method != nil:
			kind, path = gatewayv1.PathMatchExact, "/"+*m.Method.Service+"/"+*m.Method.Method
		case m.Method.Service != nil:
			path = "/" + *m.Method.Service + "/"
		case m.Method.Method != nil:
			kind, path = gatewayv1.PathMatchRegularExpression, "/.+/"+*m.Method.Method
		}
	}
	out.Path = &gatewayv1.HTTPPathMatch{Type: &kind, Value: &path}
	for _, h := range m.Headers {
		out.Headers = append(out.Headers, gatewayv1.HTTPHeaderMatch{Type: (*gatewayv1.HeaderMatchType)(h.Type), Name: gatewayv1.HTTPHeaderName(h.Name), Value: h.Value})
	}
	return out
}

// ciliumPorts returns the ports that a parentRef selects: its own, or else all with the appProtocol.
func ciliumPorts(w *worlds.World, own *gatewayv1.PortNumber, protocol string) (ports []int32) {
	if own != nil {
		return []int32{*own}
	}
	for _, service := range w.Services {
		for _, port := range service.Spec.Ports {
			if service.Name == worlds.Service && port.AppProtocol != nil && *port.AppProtocol == protocol {
				ports = append(ports, port.Port)
			}
		}
	}
	return ports
}

// ciliumKey is equal for matches that are written alike.
func ciliumKey(rule *gatewayv1.HTTPRouteRule, match int) string {
	m := rule.Matches[match]
	m.Headers, m.QueryParams = slices.Clone(m.Headers), slices.Clone(m.QueryParams)
	slices.SortFunc(m.Headers, func(a, b gatewayv1.HTTPHeaderMatch) int { return cmp.Compare(jsonOf(a), jsonOf(b)) })
	slices.SortFunc(m.QueryParams, func(a, b gatewayv1.HTTPQueryParamMatch) int { return cmp.Compare(jsonOf(a), jsonOf(b)) })
	scheme := slices.ContainsFunc(rule.Filters, func(f gatewayv1.HTTPRouteFilter) bool {
		return f.RequestRedirect != nil && f.RequestRedirect.Scheme != nil
	})
	return fmt.Sprint(jsonOf(m), scheme)
}

// ciliumRefs returns the backends of a rule that exist and that need no ReferenceGrant: there are none in worlds.
func ciliumRefs(w *worlds.World, rule *gatewayv1.HTTPRouteRule, route *gatewayv1.HTTPRoute) (kept []gatewayv1.HTTPBackendRef) {
	for _, ref := range rule.BackendRefs {
		if ciliumTakes(w, &ref.BackendObjectReference, route) {
			kept = append(kept, ref)
		}
	}
	return kept
}

func ciliumTakes(w *worlds.World, ref *gatewayv1.BackendObjectReference, route *gatewayv1.HTTPRoute) bool {
	namespace, name, port := target(ref, route)
	return namespace == route.Namespace && w.Has(fmt.Sprintf("Service %s/%s:%d", namespace, name, port))
}

// ciliumGroups returns the matches of each route of Envoy, by precedence. The first of a group says all but the backends,
// which are those of all.
func ciliumGroups(all []ciliumMatch) (groups [][]ciliumMatch) {
	at := map[string]int{}
	for _, m := range all {
		i, known := at[m.key]
		if !known {
			i, at[m.key] = len(groups), len(groups)
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], m)
	}
	length := func(m *gatewayv1.HTTPRouteMatch, kind gatewayv1.PathMatchType) int {
		switch {
		case *m.Path.Type != kind:
			return 0
		case kind == gatewayv1.PathMatchPathPrefix:
			return max(1, len(strings.TrimSuffix(*m.Path.Value, "/")))
		}
		return len(*m.Path.Value)
	}
	slices.SortStableFunc(groups, func(x, y []ciliumMatch) int {
		a, b := &x[0].match, &y[0].match
		for _, kind := range []gatewayv1.PathMatchType{gatewayv1.PathMatchExact, gatewayv1.PathMatchRegularExpression, gatewayv1.PathMatchPathPrefix} {
			if by := length(b, kind) - length(a, kind); by != 0 {
				return by
			}
		}
		is := func(set bool) int { return map[bool]int{true: 1}[set] }
		return cmp.Or(is(b.Method != nil)-is(a.Method != nil), len(b.Headers)-len(a.Headers), len(b.QueryParams)-len(a.QueryParams))
	})
	return groups
}

// refsOf returns the backends of a group.
func refsOf(group []ciliumMatch) (refs []gatewayv1.HTTPBackendRef) {
	for _, m := range group {
		refs = append(refs, m.refs...)
	}
	return refs
}

// tameCilium sorts the routes of a world, the oldest first, and takes out what is not compared.
func tameCilium(w *worlds.World) {
	slices.SortFunc(w.HTTP, func(a, b *gatewayv1.HTTPRoute) int { return worlds.CompareAge(*a, *b) })
	slices.SortFunc(w.GRPC, func(a, b *gatewayv1.GRPCRoute) int { return worlds.CompareAge(*a, *b) })
	matches, _ := ciliumMatches(w)
	for _, group := range ciliumGroups(matches) {
		refs := refsOf(group)
		// Where several backends all have weight 0, the proxies refuse the routes, and keep the former ones, of which a
		// world has none.
		if len(refs) > 1 && !slices.ContainsFunc(refs, func(ref gatewayv1.HTTPBackendRef) bool { return *ref.Weight > 0 }) {
			*refs[0].Weight = 1
		}
	}
}

func ciliumCluster(namespace, name string, port int32) string {
	return fmt.Sprintf("%s:%s:%d", namespace, name, port)
}

// ciliumRoute renders a group as a route of Envoy.
func ciliumRoute(w *worlds.World, group []ciliumMatch) object {
	lead, refs := &group[0], refsOf(group)
	match := envoyMatch(&lead.match)
	out, action := object{"match": match}, object{}
	var last gatewayv1.HTTPRouteFilter // the last of each type counts
	for _, f := range lead.rule.Filters {
		last.RequestHeaderModifier = cmp.Or(f.RequestHeaderModifier, last.RequestHeaderModifier)
		last.ResponseHeaderModifier = cmp.Or(f.ResponseHeaderModifier, last.ResponseHeaderModifier)
		last.RequestRedirect = cmp.Or(f.RequestRedirect, last.RequestRedirect)
		last.URLRewrite = cmp.Or(f.URLRewrite, last.URLRewrite)
		if to := f.RequestMirror; to != nil && ciliumTakes(w, &to.BackendRef, lead.route) {
			policies, _ := action["requestMirrorPolicies"].([]any)
			action["requestMirrorPolicies"] = append(policies, ciliumMirror(to, lead.route))
		}
	}
	if len(lead.refs) == 0 && last.RequestRedirect == nil { // whatever the others of the group have
		out["directResponse"] = object{"status": 500}
		return out
	}
	envoyHeaders(out, "request", last.RequestHeaderModifier)
	envoyHeaders(out, "response", last.ResponseHeaderModifier)
	if to := last.RequestRedirect; to != nil {
		if to.Scheme != nil { // against loops
			headers, _ := match["headers"].([]any)
			match["headers"] = append(headers, object{"name": "X-Forwarded-Proto", "stringMatch": object{"exact": *to.Scheme, "ignoreCase": true}, "invertMatch": true})
		}
		out["redirect"] = ciliumRedirect(to, lead.port)
		return out
	}
	ciliumRewrite(action, last.URLRewrite, *lead.match.Path.Value)
	ciliumTimeout(action, lead.rule.Timeouts)
	byName := map[string]gatewayv1.HTTPRouteFilter{} // the last filter of a Service and port counts
	for _, ref := range lead.refs {
		for _, f := range ref.Filters {
			byName[ciliumCluster(target(&ref.BackendObjectReference, lead.route))] = f
			if len(refs) == 1 {
				envoyHeaders(out, "request", f.RequestHeaderModifier)
				envoyHeaders(out, "response", f.ResponseHeaderModifier)
			}
		}
	}
	var clusters []any
	for _, ref := range refs {
		name := ciliumCluster(target(&ref.BackendObjectReference, lead.route)) // all are of the Service's namespace
		cluster := object{"name": name, "weight": *ref.Weight}
		envoyHeaders(cluster, "request", byName[name].RequestHeaderModifier)
		envoyHeaders(cluster, "response", byName[name].ResponseHeaderModifier)
		clusters = append(clusters, cluster)
	}
	if len(refs) == 1 {
		action["cluster"] = clusters[0].(object)["name"]
	} else {
		action["weightedClusters"] = object{"clusters": clusters}
	}
	out["route"] = action
	return out
}

// ciliumMirror renders copies of whole percents of the requests.
func ciliumMirror(to *gatewayv1.HTTPRequestMirrorFilter, route *gatewayv1.HTTPRoute) object {
	parts, of := int32(100), int32(100)
	switch {
	case to.Percent != nil:
		parts = *to.Percent
	case to.Fraction != nil:
		parts, of = to.Fraction.Numerator, *to.Fraction.Denominator
	}
	return object{
		"cluster":         ciliumCluster(target(&to.BackendRef, route)),
		"runtimeFraction": object{"defaultValue": object{"numerator": parts * 100 / of}},
	}
}

// ciliumRedirect renders a redirect of a route that selects the port.
func ciliumRedirect(to *gatewayv1.HTTPRequestRedirectFilter, port int32) object {
	out := object{"responseCode": map[int]string{301: "MOVED_PERMANENTLY", 302: "FOUND"}[*to.StatusCode], "portRedirect": port}
	if to.Hostname != nil {
		out["hostRedirect"] = string(*to.Hostname)
	}
	if to.Scheme != nil {
		out["schemeRedirect"], out["portRedirect"] = *to.Scheme, map[string]int32{"http": 80, "https": 443}[*to.Scheme]
	}
	if to.Port != nil {
		out["portRedirect"] = *to.Port
	}
	switch {
	case to.Path == nil:
	case to.Path.ReplaceFullPath != nil:
		out["pathRedirect"] = *to.Path.ReplaceFullPath
	default:
		out["prefixRewrite"] = *to.Path.ReplacePrefixMatch
	}
	return out
}

// ciliumRewrite adds a rewrite of a match of the prefix.
func ciliumRewrite(action object, to *gatewayv1.HTTPURLRewriteFilter, prefix string) {
	if to == nil {
		return
	}
	if to.Hostname != nil {
		action["hostRewriteLiteral"] = string(*to.Hostname)
	}
	change := func(pattern, substitution string) {
		action["regexRewrite"] = object{"pattern": object{"regex": pattern}, "substitution": substitution}
	}
	switch {
	case to.Path == nil:
	case to.Path.ReplaceFullPath != nil:
		change("^/.*$", *to.Path.ReplaceFullPath)
	default:
		switch replacement := strings.TrimSuffix(*to.Path.ReplacePrefixMatch, "/"); {
		case replacement == "":
			change("^"+regexp.QuoteMeta(prefix)+"(/?)(.*)", `/\2`)
		case prefix == "/":
			change("^/(.*)", replacement+`/\1`)
		default:
			action["prefixRewrite"] = replacement
		}
	}
}

// ciliumTimeout adds the shorter timeout, or what turns off that of Envoy.
func ciliumTimeout(action object, timeouts *gatewayv1.HTTPRouteTimeouts) {
	var least time.Duration
	if timeouts != nil {
		for _, text := range []*gatewayv1.Duration{timeouts.Request, timeouts.BackendRequest} {
			if text == nil {
				continue
			}
			d, err := time.ParseDuration(string(*text))
			if err != nil {
				panic(err) // a test's own value
			}
			if least == 0 || d < least {
				least = d
			}
		}
	}
	if least == 0 {
		action["maxStreamDuration"] = object{"maxStreamDuration": "0s"}
		return
	}
	action["timeout"] = fmt.Sprintf("%gs", least.Seconds())
}

// renderCilium renders the CiliumEnvoyConfig of the Service: its ports have the same routes. In every second world, nothing
// turns off Envoy's timeout of routes that have none, which is no difference either.
func renderCilium(w *worlds.World) any {
	matches, ports := ciliumMatches(w)
	var routes []any
	for _, group := range ciliumGroups(matches) {
		route := ciliumRoute(w, group)
		if action, ok := route["route"].(object); ok && w.Seed%2 == 0 {
			delete(action, "maxStreamDuration")
		}
		routes = append(routes, route)
	}
	return object{"apiVersion": "v1", "kind": "List", "items": []any{object{
		"apiVersion": "cilium.io/v2", "kind": "CiliumEnvoyConfig", "metadata": object{"namespace": worlds.Namespace, "name": worlds.Service},
		"spec": object{
			"services":        []any{object{"name": worlds.Service, "namespace": worlds.Namespace, "listener": "", "ports": ports}},
			"backendServices": []any{object{"name": worlds.Service, "namespace": worlds.Namespace, "number": []any{"80"}}},
			"resources": []any{
				object{"@type": "type.googleapis.com/envoy.config.listener.v3.Listener", "name": "listener"},
				object{"@type": "type.googleapis.com/envoy.config.route.v3.RouteConfiguration", "name": "listener-insecure", "virtualHosts": []any{object{"name": "*", "domains": []any{"*"}, "routes": routes}}},
				object{"@type": "type.googleapis.com/envoy.config.cluster.v3.Cluster", "name": "shop:cart:80"},
			},
		},
	}}}
}
