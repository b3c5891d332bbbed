package rules

import (
	"strings"
	"testing"
	"time"

	"github.com/gammaguard/gammaguard/mesh"
)

func TestRouteOverlap(t *testing.T) {
	cart80 := on(service("cart, port: 80"))
	fromShop := on(service("cart, namespace: shop, port: 80"))
	matching := func(matches string) string { return `, rules: [{matches: [` + matches + `]}]` }
	const overlaps = `; change the match, or merge the rules`
	testRule(t, routeOverlap(), []ruleCase{
		{
			name: "other matches", spec: cart80 + getOnly,
			routes: routeText(mesh.HTTPRoute, "shop", "old", cart80+matching(`{method: POST}`)),
		},
		{
			name: "another port", spec: cart80 + getOnly,
			routes: routeText(mesh.HTTPRoute, "shop", "old", on(service("cart, port: 8080"))+getOnly),
		},
		{
			name: "another scope", namespace: "faces", spec: fromShop + getOnly,
			routes: routeText(mesh.HTTPRoute, "shop", "old", cart80+getOnly),
		},
		{
			name: "its own former self", spec: cart80 + getOnly,
			routes: routeText(mesh.HTTPRoute, "shop", "own", cart80+getOnly),
		},
		{
			name: "a port that neither has", spec: cart80 + getOnly,
			routes: routeText(mesh.HTTPRoute, "shop", "old", cart80+getOnly) + routeText(mesh.GRPCRoute, "shop", "g", cart80),
		},
		{
			name: "a mesh that gives equal matches to both", spec: cart80 + getOnly, policy: meshed(mesh.Cilium),
			routes: routeText(mesh.HTTPRoute, "shop", "old", cart80+getOnly),
			want: []string{
				`Invalid spec.rules[0].matches[0] "": HTTPRoute shop/old has this match on port 80 of Service shop/cart too; Cilium uses both if written alike, for example GET /` + overlaps,
			},
		},
		{
			name: "an older route that the mesh does not merge it with", spec: on(service("cart")) + getOnly, policy: meshed(mesh.Istio), created: time.Unix(2, 0),
			routes: strings.Replace(routeText(mesh.HTTPRoute, "shop", "old", cart80+getOnly), "name: old", "name: old, creationTimestamp: '1970-01-01T00:00:01Z'", 1),
		},
		{
			name: "another route takes every request first", spec: on(service("cart")) + matching(`{path: {type: RegularExpression, value: "/a/[0-9]+"}}, {path: {value: /b}}`), policy: meshed(mesh.Istio), created: time.Unix(1, 0),
			routes: routeText(mesh.HTTPRoute, "shop", "new", on(service("cart"))+catchAll),
			want: []string{
				`Invalid spec.rules[0].matches[0] "": receives no requests: HTTPRoute shop/new on port 80 of Service shop/cart matches all, and Istio ranks a RegularExpression last; use a PathPrefix or an Exact path instead`,
			},
		},
		{
			name: "another route takes every request by an expression", spec: cart80 + matching(`{path: {type: RegularExpression, value: "/a/[0-9]+"}}`), policy: meshed(mesh.Istio),
			routes: routeText(mesh.HTTPRoute, "shop", "new", cart80+matching(`{path: {type: RegularExpression, value: "/.*"}}`)),
		},
		{
			name: "another route takes every request last", spec: cart80 + matching(`{path: {type: RegularExpression, value: "/a/[0-9]+"}}`), policy: meshed(mesh.Cilium),
			routes: routeText(mesh.HTTPRoute, "shop", "new", cart80+catchAll),
		},
		{
			name: "another route takes some requests first", spec: cart80 + matching(`{path: {type: RegularExpression, value: "/a/[0-9]+"}}`), policy: meshed(mesh.Istio),
			routes: routeText(mesh.HTTPRoute, "shop", "new", cart80+getOnly),
		},
		{
			name: "equal matches", spec: cart80 + matching(`{method: GET}, {path: {value: /a/}, headers: [{name: X, value: "1"}]}`),
			routes: routeText(mesh.HTTPRoute, "shop", "old", on(service("cart"))+matching(`{path: {value: /a}, headers: [{name: x, value: "1"}]}`)),
			want: []string{
				`Invalid spec.rules[0].matches[1] "": HTTPRoute shop/old has this match on port 80 of Service shop/cart and is older, so it wins, for example GET /a with header X: 1` + overlaps,
			},
		},
		{
			name: "as old, and first by name", spec: cart80 + getOnly, created: time.Unix(1, 0),
			routes: strings.NewReplacer("metadata: {", `metadata: {creationTimestamp: "1970-01-01T00:00:01Z", `).Replace(
				routeText(mesh.HTTPRoute, "shop", "a", cart80+getOnly) + routeText(mesh.HTTPRoute, "shop", "z", cart80+getOnly)),
			want: []string{
				`Invalid spec.rules[0].matches[0] "": HTTPRoute shop/a has this match on port 80 of Service shop/cart and is as old, so it wins by name, for example GET /` + overlaps,
			},
		},
		{
			name: "told once", spec: on(service("cart")) + getOnly,
			routes: routeText(mesh.HTTPRoute, "shop", "old", on(service("cart"))+getOnly) + routeText(mesh.HTTPRoute, "shop", "mid", on(service("cart"))+getOnly),
			want: []string{
				`Invalid spec.rules[0].matches[0] "": HTTPRoute shop/old has this match on port 80 of Service shop/cart and is older, so it wins, for example GET /` + overlaps,
			},
		},
		{
			name: "rules without matches", spec: cart80 + catchAll,
			routes: routeText(mesh.HTTPRoute, "shop", "old", cart80+catchAll),
			want: []string{
				`Invalid spec.rules[0] "": HTTPRoute shop/old matches the same requests on port 80 of Service shop/cart and is older, so it wins, for example GET /` + overlaps,
			},
		},
		{
			name: "gRPC", kind: mesh.GRPCRoute, spec: cart80 + matching(`{method: {service: a.B}}`),
			routes: routeText(mesh.GRPCRoute, "shop", "old", cart80+matching(`{method: {type: Exact, service: a.B}}`)),
			want: []string{
				`Invalid spec.rules[0].matches[0] "": GRPCRoute shop/old has this match on port 80 of Service shop/cart and is older, so it wins, for example a gRPC call of a.B/Call` + overlaps,
			},
		},
		{
			name: "kinds without matches", kind: mesh.UDPRoute, spec: on(service("dns, port: 53")) + catchAll,
			routes: routeText(mesh.UDPRoute, "shop", "old", on(service("dns"))+catchAll),
			want: []string{
				`Invalid spec.rules[0] "": UDPRoute shop/old matches the same requests on port 53 of Service shop/dns and is older, so it wins` + overlaps,
			},
		},
	})
}
