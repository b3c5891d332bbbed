package rules

import (
	"testing"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

func TestNoCatchAll(t *testing.T) {
	const add = ` are rejected, for example POST /; to accept them, add a catch-all rule`
	const bare = `Invalid spec.rules "": unmatched requests to `
	cart80 := on(service("cart, port: 80"))
	fromShop := on(service("cart, namespace: shop, port: 80"))
	matching := func(matches string) string { return `, rules: [{matches: [` + matches + `]}]` }
	testRule(t, noCatchAll(), []ruleCase{
		{name: "own rule", spec: cart80 + matching(`{method: GET}, {path: {value: /}}`)},
		{
			name: "hostnames that the mesh matches", spec: cart80 + `, hostnames: [a.example]` + catchAll, policy: &validate.Policy{Mesh: mesh.FindProfile(mesh.Linkerd)},
			want: []string{bare + `port 80 of Service shop/cart may be rejected (not known of Linkerd), for example GET /; to accept them, add a catch-all rule to a route without hostnames`},
		},
		{
			name: "a GRPCRoute that the mesh matches by path", spec: cart80 + getOnly, policy: &validate.Policy{Mesh: mesh.FindProfile(mesh.Istio)},
			routes: routeText(mesh.GRPCRoute, "shop", "old", cart80+catchAll),
		},
		{
			name: "a rule of a GRPCRoute that the mesh matches by path", spec: cart80 + getOnly, policy: &validate.Policy{Mesh: mesh.FindProfile(mesh.Istio)},
			routes: routeText(mesh.GRPCRoute, "shop", "old", cart80+matching(`{method: {service: a}}`)),
			want:   []string{bare + `port 80 of Service shop/cart are rejected; to accept them, add a catch-all rule`},
		},
		{
			name: "rule of a sibling", spec: cart80 + getOnly,
			routes: routeText(mesh.HTTPRoute, "shop", "old", on(service("cart"))+catchAll),
		},
		{name: "not attached", spec: on(service("gone"), service("cart, port: 1")) + getOnly},
		{
			name: "another kind has the port", spec: cart80 + getOnly,
			routes: routeText(mesh.GRPCRoute, "shop", "old", cart80+matching(`{method: {service: a}}`)),
		},
		{
			name: "no rule", spec: on(service("cart"), service("one")) + getOnly,
			want: []string{
				bare + `ports 80, 8080 of Service shop/cart` + add,
				bare + `port 80 of Service shop/one` + add,
			},
		},
		{
			name: "a sibling on another port", spec: on(service("cart")) + getOnly,
			routes: routeText(mesh.HTTPRoute, "shop", "old", cart80+catchAll),
			want: []string{
				bare + `port 8080 of Service shop/cart` + add,
			},
		},
		{
			name: "a route in another scope", namespace: "faces", spec: fromShop + getOnly,
			routes: routeText(mesh.HTTPRoute, "shop", "old", cart80+catchAll),
			want: []string{
				`Invalid spec.rules "": unmatched requests from namespace faces to port 80 of Service shop/cart` + add,
			},
		},
		{
			name: "a route of a less specific kind", kind: mesh.GRPCRoute, spec: cart80 + matching(`{method: {service: a}}`),
			routes: routeText(mesh.HTTPRoute, "shop", "old", cart80+catchAll),
			want: []string{
				bare + `port 80 of Service shop/cart are rejected, for example a gRPC call of example.Other/Call; to accept them, add a catch-all rule`,
			},
		},
		{
			name: "the example is matched by no route", spec: cart80 + getOnly,
			routes: routeText(mesh.HTTPRoute, "shop", "old", cart80+matching(`{path: {type: Exact, value: /}}`)),
			want: []string{
				bare + `port 80 of Service shop/cart are rejected, for example POST /other; to accept them, add a catch-all rule`,
			},
		},
		{
			name: "no example where a path is a regular expression", spec: cart80 + getOnly,
			routes: routeText(mesh.HTTPRoute, "shop", "old", cart80+matching(`{path: {type: RegularExpression, value: /a.*}}`)),
			want: []string{
				bare + `port 80 of Service shop/cart are rejected; to accept them, add a catch-all rule`,
			},
		},
		{
			name: "a regular expression for all paths", spec: cart80 + getOnly,
			routes: routeText(mesh.HTTPRoute, "shop", "old", cart80+matching(`{path: {type: RegularExpression, value: /.*}}`)),
		},
		{
			name: "this change takes the rule away", spec: cart80 + getOnly,
			routes: routeText(mesh.HTTPRoute, "shop", "own", cart80+catchAll),
			want: []string{
				bare + `port 80 of Service shop/cart` + add,
			},
		},
		{
			name: "a sibling that is being deleted", spec: cart80 + getOnly,
			routes: `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {namespace: shop, name: old, deletionTimestamp: "2024-05-06T07:08:09Z"}, spec: {` + cart80 + catchAll + `}}`,
		},
	})
}
