package verify_test

import (
	"cmp"
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/test/worlds"
)

// tame takes out of a world what the mesh does otherwise than the Gateway API says: the formats are rendered by the
// Gateway API alone, and what a mesh makes of the rest is test/truth's to say. Only what Cilium makes of a world is
// rendered in full.
func tame(w *worlds.World, name mesh.ProfileName) {
	if name == mesh.Cilium {
		tameCilium(w)
		return
	}
	if name != mesh.Linkerd || len(w.HTTP) > 0 {
		w.GRPC = nil // of a mesh that merges both kinds, the order is its own
	}
	seen := map[string]bool{}
	for _, route := range w.HTTP {
		tameParents(w, route, name)
		route.Spec.Rules = slices.DeleteFunc(route.Spec.Rules, func(rule gatewayv1.HTTPRouteRule) bool {
			for i := range rule.Matches { // Kuma's reconciler leaves out a slash at the end
				if path := rule.Matches[i].Path; name == mesh.Kuma && *path.Type == gatewayv1.PathMatchPathPrefix && *path.Value != "/" {
					trimmed := strings.TrimSuffix(*path.Value, "/")
					path.Value = &trimmed
				}
			}
			key := jsonOf(rule.Matches) // Kuma merges rules with the same
			again := seen[key]
			seen[key] = true
			return again && name == mesh.Kuma
		})
		for i := range route.Spec.Rules {
			tameRule(&route.Spec.Rules[i], name, route.Namespace)
		}
	}
	w.HTTP = slices.DeleteFunc(w.HTTP, func(route *gatewayv1.HTTPRoute) bool { return len(route.Spec.Rules) == 0 })
	slices.SortStableFunc(w.HTTP, func(a, b *gatewayv1.HTTPRoute) int { return worlds.CompareAge(*a, *b) })
}

func tameParents(w *worlds.World, route *gatewayv1.HTTPRoute, name mesh.ProfileName) {
	switch name {
	case mesh.Istio: // the split by port
		route.Spec.ParentRefs[0].Port = nil
		if w.Seed%2 == 0 {
			route.Spec.ParentRefs[0].Port = &worlds.Ports[0]
		}
	case mesh.Kuma: // consumer routes add to producer routes
		route.Namespace = worlds.Namespace
	default:
	}
}

func tameRule(rule *gatewayv1.HTTPRouteRule, name mesh.ProfileName, namespace string) {
	if rule.Timeouts != nil {
		rule.Timeouts.BackendRequest = nil
	}
	for i := range rule.Matches {
		if path := rule.Matches[i].Path; name == mesh.Istio && *path.Type == gatewayv1.PathMatchRegularExpression {
			exact := gatewayv1.PathMatchExact
			path.Type = &exact
		}
	}
	rule.Filters = slices.DeleteFunc(rule.Filters, func(f gatewayv1.HTTPRouteFilter) bool {
		return name == mesh.Linkerd && (f.URLRewrite != nil || f.RequestMirror != nil)
	})
	for i := range rule.Filters {
		f := &rule.Filters[i]
		switch {
		case f.RequestMirror != nil && f.RequestMirror.Fraction != nil: // a form of its own in each format
			percent := int32(10)
			f.RequestMirror.Fraction, f.RequestMirror.Percent = nil, &percent
		case f.URLRewrite != nil:
			tamePath(f.URLRewrite.Path, name)
		case f.RequestRedirect != nil:
			tamePath(f.RequestRedirect.Path, name)
		}
	}
	for i := range rule.BackendRefs {
		ref := &rule.BackendRefs[i]
		if name == mesh.Kuma && ref.Namespace != nil && string(*ref.Namespace) != namespace { // no ReferenceGrant
			ref.Namespace, ref.Name = nil, "one"
		}
	}
}

// tamePath has a path changed as a whole, where the mesh has a way of its own with prefixes.
func tamePath(path *gatewayv1.HTTPPathModifier, name mesh.ProfileName) {
	if path != nil && path.ReplacePrefixMatch != nil && name != mesh.Linkerd && name != mesh.Kuma {
		path.Type, path.ReplaceFullPath, path.ReplacePrefixMatch = gatewayv1.FullPathHTTPPathModifier, path.ReplacePrefixMatch, nil
	}
}

// flat is a match with its rule.
type flat struct {
	match gatewayv1.HTTPRouteMatch
	rule  *gatewayv1.HTTPRouteRule
	route *gatewayv1.HTTPRoute
}

// inEffect returns the routes that clients in the namespace meet at a port, the oldest first: their own, or else
// the producer's.
func inEffect(w *worlds.World, from string, port int32) []*gatewayv1.HTTPRoute {
	for _, namespace := range []string{from, worlds.Namespace} {
		var found []*gatewayv1.HTTPRoute
		for _, route := range w.HTTP {
			if at := route.Spec.ParentRefs[0].Port; route.Namespace == namespace && (at == nil || *at == port) {
				found = append(found, route)
			}
		}
		if len(found) > 0 {
			return found
		}
	}
	return nil
}

// ordered returns the matches of routes by precedence (Gateway API, HTTPRouteRule.matches).
func ordered(routes []*gatewayv1.HTTPRoute) []flat {
	var all []flat
	for _, route := range routes {
		for i := range route.Spec.Rules {
			for _, m := range route.Spec.Rules[i].Matches {
				all = append(all, flat{m, &route.Spec.Rules[i], route})
			}
		}
	}
	order := map[gatewayv1.PathMatchType]int{gatewayv1.PathMatchExact: 2, gatewayv1.PathMatchRegularExpression: 1}
	length := func(m *gatewayv1.HTTPRouteMatch) int {
		if *m.Path.Type == gatewayv1.PathMatchPathPrefix {
			return len(strings.TrimRight(*m.Path.Value, "/"))
		}
		return 0
	}
	is := func(set bool) int { return map[bool]int{true: 1}[set] }
	slices.SortStableFunc(all, func(a, b flat) int {
		return cmp.Or(
			order[*b.match.Path.Type]-order[*a.match.Path.Type], length(&b.match)-length(&a.match),
			is(b.match.Method != nil)-is(a.match.Method != nil), len(b.match.Headers)-len(a.match.Headers), len(b.match.QueryParams)-len(a.match.QueryParams),
		)
	})
	return all
}
