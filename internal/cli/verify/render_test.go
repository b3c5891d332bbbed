package verify_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gammaguard/gammaguard/test/worlds"
)

type object = map[string]any

func jsonOf(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // a test's own value
	}
	return string(text)
}

// target returns the namespace, name and port of a backend.
func target(ref *gatewayv1.BackendObjectReference, of *gatewayv1.HTTPRoute) (namespace, name string, port int32) {
	namespace = of.Namespace
	if ref.Namespace != nil {
		namespace = string(*ref.Namespace)
	}
	return namespace, string(ref.Name), *ref.Port
}

// envoyRoutes renders matches as routes of Envoy. Cluster names a backend.
func envoyRoutes(all []flat, cluster func(namespace, name string, port int32) string) []any {
	var out []any
	for i := range all {
		f := &all[i]
		route := object{"name": f.route.Name, "match": envoyMatch(&f.match)}
		envoyFilters(route, f, cluster)
		out = append(out, route)
	}
	return out
}

func envoyMatch(m *gatewayv1.HTTPRouteMatch) object {
	text := func(regular bool, value string) object {
		if regular {
			return object{"safeRegex": object{"regex": value}}
		}
		return object{"exact": value}
	}
	out := object{}
	switch *m.Path.Type {
	case gatewayv1.PathMatchExact:
		out["path"] = *m.Path.Value
	case gatewayv1.PathMatchRegularExpression:
		out["safeRegex"] = object{"regex": *m.Path.Value}
	default:
		out["pathSeparatedPrefix"] = strings.TrimRight(*m.Path.Value, "/")
		if out["pathSeparatedPrefix"] == "" {
			delete(out, "pathSeparatedPrefix")
			out["prefix"] = "/"
		}
	}
	var headers, params []any
	if m.Method != nil {
		headers = append(headers, object{"name": ":method", "stringMatch": object{"exact": string(*m.Method)}})
	}
	for _, h := range m.Headers {
		headers = append(headers, object{"name": string(h.Name), "stringMatch": text(*h.Type == gatewayv1.HeaderMatchRegularExpression, h.Value)})
	}
	for _, q := range m.QueryParams {
		params = append(params, object{"name": string(q.Name), "stringMatch": text(*q.Type == gatewayv1.QueryParamMatchRegularExpression, q.Value)})
	}
	if headers != nil {
		out["headers"] = headers
	}
	if params != nil {
		out["queryParameters"] = params
	}
	return out
}

// envoyHeaders adds the changes of a modifier to a route or a weighted cluster.
func envoyHeaders(to object, what string, f *gatewayv1.HTTPHeaderFilter) {
	if f == nil {
		return
	}
	var add []any
	option := func(h gatewayv1.HTTPHeader, action string) {
		add = append(add, object{"header": object{"key": string(h.Name), "value": h.Value}, "appendAction": action})
	}
	for _, h := range f.Set {
		option(h, "OVERWRITE_IF_EXISTS_OR_ADD")
	}
	for _, h := range f.Add {
		option(h, "APPEND_IF_EXISTS_OR_ADD")
	}
	added, _ := to[what+"HeadersToAdd"].([]any)
	removed, _ := to[what+"HeadersToRemove"].([]string)
	to[what+"HeadersToAdd"], to[what+"HeadersToRemove"] = append(added, add...), append(removed, f.Remove...)
}

func envoyFilters(route object, f *flat, cluster func(namespace, name string, port int32) string) {
	action := object{"timeout": "0s"}
	for i := range f.rule.Filters {
		filter := &f.rule.Filters[i]
		envoyHeaders(route, "request", filter.RequestHeaderModifier)
		envoyHeaders(route, "response", filter.ResponseHeaderModifier)
		if to := filter.RequestRedirect; to != nil {
			codes := map[int]string{301: "MOVED_PERMANENTLY", 302: "FOUND"}
			redirect := object{"responseCode": codes[*to.StatusCode]}
			if to.Hostname != nil {
				redirect["hostRedirect"] = string(*to.Hostname)
			}
			if to.Scheme != nil {
				redirect["schemeRedirect"] = *to.Scheme
			}
			if to.Port != nil {
				redirect["portRedirect"] = *to.Port
			}
			if to.Path != nil {
				redirect["pathRedirect"] = *to.Path.ReplaceFullPath
			}
			route["redirect"] = redirect
			return
		}
		if to := filter.URLRewrite; to != nil {
			if to.Hostname != nil {
				action["hostRewriteLiteral"] = string(*to.Hostname)
			}
			if to.Path != nil {
				action["regexRewrite"] = object{"pattern": object{"regex": "^/.*$"}, "substitution": *to.Path.ReplaceFullPath}
			}
		}
		if to := filter.RequestMirror; to != nil {
			policy := object{"cluster": cluster(target(&to.BackendRef, f.route))}
			if to.Percent != nil {
				policy["runtimeFraction"] = object{"defaultValue": object{"numerator": *to.Percent}}
			}
			action["requestMirrorPolicies"] = []any{policy}
		}
	}
	if t := f.rule.Timeouts; t != nil && t.Request != nil {
		action["timeout"] = seconds(string(*t.Request)) // the form of protobuf
	}
	var clusters []any
	total := int32(0)
	for i := range f.rule.BackendRefs {
		ref := &f.rule.BackendRefs[i]
		weighted := object{"name": cluster(target(&ref.BackendObjectReference, f.route)), "weight": *ref.Weight}
		for j := range ref.Filters {
			envoyHeaders(weighted, "request", ref.Filters[j].RequestHeaderModifier)
			envoyHeaders(weighted, "response", ref.Filters[j].ResponseHeaderModifier)
		}
		clusters = append(clusters, weighted)
		total += *ref.Weight
	}
	if total == 0 {
		route["directResponse"] = object{"status": 500}
		return
	}
	action["weightedClusters"] = object{"clusters": clusters}
	route["route"] = action
}

func seconds(text string) string {
	d, err := time.ParseDuration(text)
	if err != nil {
		panic(err) // a test's own value
	}
	return fmt.Sprintf("%gs", d.Seconds())
}

// renderIstio renders what istioctl prints for a sidecar in the namespace.
func renderIstio(w *worlds.World, from string) []any {
	var all []any
	for _, port := range worlds.Ports {
		var hosts []any
		for _, service := range w.Services {
			host := service.Name + "." + service.Namespace
			routes := []any{object{"match": object{"prefix": "/"}, "route": object{"cluster": istioCluster(service.Namespace, service.Name, port), "timeout": "0s"}}}
			if service.Name == worlds.Service {
				if found := inEffect(w, from, port); len(found) > 0 {
					routes = envoyRoutes(ordered(found), istioCluster)
				}
			}
			hosts = append(hosts, object{"name": host + ".svc.cluster.local:" + fmt.Sprint(port), "domains": []any{host + ".svc.cluster.local", host, host + ".svc"}, "routes": routes})
		}
		hosts = append(hosts, object{"name": "allow_any", "domains": []any{"*"}, "routes": []any{object{"match": object{"prefix": "/"}, "route": object{"cluster": "PassthroughCluster"}}}})
		all = append(all, object{"name": fmt.Sprint(port), "ignorePortInHostMatching": true, "virtualHosts": hosts})
	}
	return all
}

func istioCluster(namespace, name string, port int32) string {
	return fmt.Sprintf("outbound|%d||%s.%s.svc.cluster.local", port, name, namespace)
}

// renderDump renders Envoy's config_dump of such a sidecar, with what else such a dump holds.
func renderDump(w *worlds.World, from string) any {
	var dynamic []any
	for _, config := range renderIstio(w, from) {
		dynamic = append(dynamic, object{"version_info": "1", "route_config": snake(config), "last_updated": "2026-11-24T00:00:00Z"})
	}
	return object{"configs": []any{
		object{"@type": "type.googleapis.com/envoy.admin.v3.BootstrapConfigDump", "bootstrap": object{"node": object{"id": "sidecar", "metadata": object{"NAMESPACE": from, "OTHER": []any{1}}}}},
		object{"@type": "type.googleapis.com/envoy.admin.v3.ClustersConfigDump", "dynamic_active_clusters": []any{object{"cluster": object{"name": "xds"}}}},
		object{"@type": "type.googleapis.com/envoy.admin.v3.RoutesConfigDump", "dynamic_route_configs": dynamic},
		object{"@type": "type.googleapis.com/envoy.admin.v3.SecretsConfigDump", "dynamic_active_secrets": []any{object{"secret": object{"inline": theSecret}}}},
	}}
}

const theSecret = "s3cr3t-of-the-proxy"

// snake returns the value with the names of fields in snake_case.
func snake(value any) any {
	switch value := value.(type) {
	case object:
		out := object{}
		for name, field := range value {
			var snaked strings.Builder
			for _, r := range name {
				if unicode.IsUpper(r) {
					snaked.WriteByte('_')
				}
				snaked.WriteRune(unicode.ToLower(r))
			}
			out[snaked.String()] = snake(field)
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i := range value {
			out[i] = snake(value[i])
		}
		return out
	}
	return value
}

// renderKuma renders a MeshHTTPRoute for each route, as Kuma's reconciler converts them.
func renderKuma(w *worlds.World) any {
	var items []any
	service := func(namespace, name string, port int32) string {
		return fmt.Sprintf("%s_%s_svc_%d", name, namespace, port)
	}
	for i, route := range w.HTTP {
		var rules, to []any
		for j := range route.Spec.Rules {
			rules = append(rules, kumaRule(&route.Spec.Rules[j], route, service))
		}
		for _, port := range worlds.Ports {
			if at := route.Spec.ParentRefs[0].Port; at == nil || *at == port {
				ref := object{"kind": "MeshService", "name": service(worlds.Namespace, worlds.Service, port)}
				if w.Seed%2 == 0 { // the form of newer releases
					ref = object{"kind": "MeshService", "name": worlds.Service, "namespace": worlds.Namespace, "sectionName": fmt.Sprint(port)}
				}
				to = append(to, object{"targetRef": ref, "rules": rules})
			}
		}
		items = append(items, object{
			"apiVersion": "kuma.io/v1alpha1", "kind": "MeshHTTPRoute",
			"metadata": object{"namespace": "kuma-system", "name": fmt.Sprintf("%02d-%s", i, route.Name), "labels": object{"kuma.io/mesh": "default"}},
			"spec":     object{"targetRef": object{"kind": "Mesh"}, "to": to},
		})
	}
	return object{"apiVersion": "v1", "kind": "List", "items": items}
}

func kumaRule(rule *gatewayv1.HTTPRouteRule, route *gatewayv1.HTTPRoute, service func(namespace, name string, port int32) string) object {
	var refs, filters []any
	for i := range rule.BackendRefs {
		ref := &rule.BackendRefs[i]
		refs = append(refs, object{"kind": "MeshService", "name": service(target(&ref.BackendObjectReference, route)), "weight": *ref.Weight})
	}
	for i := range rule.Filters {
		var filter object
		if err := json.Unmarshal([]byte(jsonOf(rule.Filters[i])), &filter); err != nil {
			panic(err) // a test's own value
		}
		if to := rule.Filters[i].RequestMirror; to != nil {
			mirror := object{"backendRef": object{"kind": "MeshService", "name": service(target(&to.BackendRef, route))}}
			if to.Percent != nil {
				mirror["percentage"] = *to.Percent
			}
			filter["requestMirror"] = mirror
		}
		filters = append(filters, filter)
	}
	if refs == nil {
		refs = []any{}
	}
	return object{"matches": rule.Matches, "default": object{"filters": filters, "backendRefs": refs}}
}

// renderLinkerd renders what linkerd diagnostics policy prints for a Service port, for clients in the namespace.
func renderLinkerd(w *worlds.World, from string, port int32) any {
	var routes []any
	for _, route := range inEffect(w, from, port) {
		var rules []any
		for i := range route.Spec.Rules {
			rules = append(rules, linkerdRule(w, route, &route.Spec.Rules[i], port))
		}
		routes = append(routes, object{"metadata": linkerdResource("HTTPRoute", route.Namespace, route.Name, 0), "rules": rules})
	}
	if len(routes) == 0 {
		backend := linkerdBackend(w, worlds.Namespace, worlds.Service, port)
		routes = []any{object{"metadata": object{"Kind": object{"Default": "http"}}, "rules": []any{object{
			"matches":  []any{object{"path": object{"Kind": object{"Prefix": "/"}}}},
			"backends": object{"Kind": object{"FirstAvailable": object{"backends": []any{backend}}}},
		}}}}
	}
	return object{
		"metadata": linkerdResource("Service", worlds.Namespace, worlds.Service, port),
		"protocol": object{"Kind": object{"Detect": object{"timeout": object{"seconds": 10}, "http1": object{"routes": routes}, "http2": object{"routes": routes}}}},
	}
}

func linkerdResource(kind, namespace, name string, port int32) object {
	resource := object{"group": "core", "kind": kind, "namespace": namespace, "name": name}
	if port != 0 {
		resource["port"] = port
	}
	return object{"Kind": object{"Resource": resource}}
}

func linkerdBackend(w *worlds.World, namespace, name string, port int32) object {
	if !w.Has(fmt.Sprintf("Service %s/%s:%d", namespace, name, port)) {
		return object{"backend": object{"metadata": linkerdResource("Service", namespace, name, port)}, "filters": []any{object{"Kind": object{"FailureInjector": object{"status": 500, "message": "Service not found"}}}}}
	}
	return object{"backend": object{
		"metadata": linkerdResource("Service", namespace, name, port),
		"Kind":     object{"Balancer": object{"discovery": object{"Kind": object{"Dst": object{"path": fmt.Sprintf("%s.%s.svc.cluster.local:%d", name, namespace, port)}}}}},
	}}
}

func linkerdRule(w *worlds.World, route *gatewayv1.HTTPRoute, rule *gatewayv1.HTTPRouteRule, port int32) object {
	var matches, backends []any
	for i := range rule.Matches {
		matches = append(matches, linkerdMatch(&rule.Matches[i]))
	}
	for i := range rule.BackendRefs {
		ref := &rule.BackendRefs[i]
		namespace, name, to := target(&ref.BackendObjectReference, route)
		backend := linkerdBackend(w, namespace, name, to)
		for j := range ref.Filters {
			filters, _ := backend["filters"].([]any)
			backend["filters"] = append(filters, linkerdFilter(&ref.Filters[j]))
		}
		backends = append(backends, object{"backend": backend, "weight": *ref.Weight})
	}
	out := object{"matches": matches, "backends": object{"Kind": object{"RandomAvailable": object{"backends": backends}}}}
	if backends == nil {
		out["backends"] = object{"Kind": object{"FirstAvailable": object{"backends": []any{linkerdBackend(w, worlds.Namespace, worlds.Service, port)}}}}
	}
	var filters []any
	for i := range rule.Filters {
		filters = append(filters, linkerdFilter(&rule.Filters[i]))
	}
	out["filters"] = filters
	if t := rule.Timeouts; t != nil && t.Request != nil {
		d, err := time.ParseDuration(string(*t.Request))
		if err != nil {
			panic(err) // a test's own value
		}
		out["timeouts"] = object{"request": object{"seconds": int64(d / time.Second), "nanos": int64(d % time.Second)}}
	}
	return out
}

func linkerdMatch(m *gatewayv1.HTTPRouteMatch) object {
	kinds := map[gatewayv1.PathMatchType]string{gatewayv1.PathMatchExact: "Exact", gatewayv1.PathMatchPathPrefix: "Prefix", gatewayv1.PathMatchRegularExpression: "Regex"}
	out := object{"path": object{"Kind": object{kinds[*m.Path.Type]: *m.Path.Value}}}
	var headers, params []any
	for _, h := range m.Headers {
		value := object{"Exact": base64.StdEncoding.EncodeToString([]byte(h.Value))}
		if *h.Type == gatewayv1.HeaderMatchRegularExpression {
			value = object{"Regex": h.Value}
		}
		headers = append(headers, object{"name": string(h.Name), "Value": value})
	}
	for _, q := range m.QueryParams {
		params = append(params, object{"name": string(q.Name), "Value": object{"Exact": q.Value}})
	}
	out["headers"], out["query_params"] = headers, params
	if m.Method != nil {
		out["method"] = object{"Type": object{"Registered": slices.Index([]string{"GET", "POST", "PUT", "DELETE"}, string(*m.Method))}}
	}
	return out
}

func linkerdFilter(f *gatewayv1.HTTPRouteFilter) object {
	headers := func(all []gatewayv1.HTTPHeader) object {
		var out []any
		for _, h := range all {
			out = append(out, object{"name": string(h.Name), "value": base64.StdEncoding.EncodeToString([]byte(h.Value))})
		}
		return object{"headers": out}
	}
	modifier := func(f *gatewayv1.HTTPHeaderFilter) object {
		return object{"add": headers(f.Add), "set": headers(f.Set), "remove": f.Remove}
	}
	switch {
	case f.RequestHeaderModifier != nil:
		return object{"Kind": object{"RequestHeaderModifier": modifier(f.RequestHeaderModifier)}}
	case f.ResponseHeaderModifier != nil:
		return object{"Kind": object{"ResponseHeaderModifier": modifier(f.ResponseHeaderModifier)}}
	}
	to := f.RequestRedirect
	redirect := object{"status": *to.StatusCode}
	if to.Hostname != nil {
		redirect["host"] = string(*to.Hostname)
	}
	if to.Scheme != nil {
		redirect["scheme"] = object{"Type": object{"Registered": slices.Index([]string{"http", "https"}, *to.Scheme)}}
	}
	if to.Port != nil {
		redirect["port"] = *to.Port
	}
	if to.Path != nil && to.Path.ReplaceFullPath != nil {
		redirect["path"] = object{"Replace": object{"Full": *to.Path.ReplaceFullPath}}
	} else if to.Path != nil {
		redirect["path"] = object{"Replace": object{"Prefix": *to.Path.ReplacePrefixMatch}}
	}
	return object{"Kind": object{"Redirect": redirect}}
}
