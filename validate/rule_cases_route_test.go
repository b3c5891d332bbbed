package validate

import (
	"k8s.io/apimachinery/pkg/labels"

	"github.com/gammaguard/gammaguard/mesh"
)

func routeCases() []ruleCase {
	cart80 := on(service("cart, port: 80"))
	fromShop := on(service("cart, namespace: shop, port: 80"))
	matching := func(matches string) string { return `, rules: [{matches: [` + matches + `]}]` }
	const ignored = `spec.hostnames "a.example": a mesh matches by the parent Service and infers nothing from hostnames; `
	const matchHost = `match the Host header in the rules instead`
	const bare = `Invalid spec.rules "": unmatched requests to `
	const add = ` are rejected; if unwanted, add a rule without matches`
	const specific = `; use another port, or one route kind`
	const allLost = `, so this TCPRoute is ignored there; use another port, or one route kind`
	const someLost = `, so this HTTPRoute is ignored there, but not on port 8080; set port or sectionName, or use one route kind`
	const overlaps = `; change the match, or merge the rules`
	return []ruleCase{
		{"hostnames-ignored", "none", mesh.HTTPRoute, "shop", cart80, "", nil, nil},
		{"hostnames-ignored", "some", mesh.GRPCRoute, "shop", cart80 + `, hostnames: [a.example]`, "", nil, []string{`Invalid ` + ignored + matchHost}},
		{"hostnames-ignored", "beside a Gateway", mesh.HTTPRoute, "shop", on(`{name: edge}`, service("cart")) + `, hostnames: [a.example]`, "", nil, []string{`Invalid ` + ignored + matchHost}},
		{"hostnames-ignored", "demanded by the schema", mesh.TLSRoute, "shop", cart80 + `, hostnames: [a.example]`, "", nil, []string{
			`Invalid ` + ignored + `do not rely on them to narrow what this route matches`,
		}},

		{"no-catch-all", "own rule", mesh.HTTPRoute, "shop", cart80 + matching(`{method: GET}, {path: {value: /}}`), "", nil, nil},
		{"no-catch-all", "rule of a sibling", mesh.HTTPRoute, "shop", cart80 + getOnly, routeText(mesh.HTTPRoute, "shop", "old", on(service("cart"))+catchAll), nil, nil},
		{"no-catch-all", "not attached", mesh.HTTPRoute, "shop", on(service("gone"), service("cart, port: 1")) + getOnly, "", nil, nil},
		{"no-catch-all", "another kind has the port", mesh.HTTPRoute, "shop", cart80 + getOnly, routeText(mesh.GRPCRoute, "shop", "old", cart80+matching(`{method: {service: a}}`)), nil, nil},
		{"no-catch-all", "no rule", mesh.HTTPRoute, "shop", on(service("cart"), service("one")) + getOnly, "", nil, []string{
			bare + `ports 80, 8080 of Service shop/cart` + add,
			bare + `port 80 of Service shop/one` + add,
		}},
		{"no-catch-all", "a sibling on another port", mesh.HTTPRoute, "shop", on(service("cart")) + getOnly, routeText(mesh.HTTPRoute, "shop", "old", cart80+catchAll), nil, []string{
			bare + `port 8080 of Service shop/cart` + add,
		}},
		{"no-catch-all", "a route in another scope", mesh.HTTPRoute, "faces", fromShop + getOnly, routeText(mesh.HTTPRoute, "shop", "old", cart80+catchAll), nil, []string{
			bare + `port 80 of Service shop/cart` + add,
		}},
		{"no-catch-all", "a route of a less specific kind", mesh.GRPCRoute, "shop", cart80 + matching(`{method: {service: a}}`), routeText(mesh.HTTPRoute, "shop", "old", cart80+catchAll), nil, []string{
			bare + `port 80 of Service shop/cart` + add,
		}},
		{"no-catch-all", "this change takes the rule away", mesh.HTTPRoute, "shop", cart80 + getOnly, routeText(mesh.HTTPRoute, "shop", "own", cart80+catchAll), nil, []string{
			bare + `port 80 of Service shop/cart` + add,
		}},
		{
			"no-catch-all", "a sibling that is being deleted", mesh.HTTPRoute, "shop", cart80 + getOnly,
			`{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {namespace: shop, name: old, deletionTimestamp: "2024-05-06T07:08:09Z"}, spec: {` + cart80 + catchAll + `}}`, nil,
			[]string{
				bare + `port 80 of Service shop/cart` + add,
			},
		},

		{"route-conflict", "alone", mesh.HTTPRoute, "shop", cart80, "", nil, nil},
		{"route-conflict", "one kind", mesh.HTTPRoute, "shop", cart80, routeText(mesh.HTTPRoute, "shop", "old", cart80), nil, nil},
		{"route-conflict", "another port", mesh.HTTPRoute, "shop", cart80, routeText(mesh.GRPCRoute, "shop", "old", on(service("cart, port: 8080"))), nil, nil},
		{"route-conflict", "another scope", mesh.HTTPRoute, "faces", fromShop, routeText(mesh.GRPCRoute, "shop", "old", cart80), nil, nil},
		{"route-conflict", "another transport", mesh.TCPRoute, "shop", on(service("dns, port: 53")), routeText(mesh.UDPRoute, "shop", "old", on(service("dns, port: 53"))), nil, nil},
		{"route-conflict", "loses", mesh.HTTPRoute, "shop", on(service("cart")), routeText(mesh.GRPCRoute, "shop", "old", cart80) + routeText(mesh.GRPCRoute, "shop", "new", cart80), nil, []string{
			`Invalid spec.parentRefs[0] "cart": port 80 of Service shop/cart is held by GRPCRoute shop/old` + someLost,
		}},
		{"route-conflict", "takes", mesh.HTTPRoute, "shop", on(service("cart")), routeText(mesh.TCPRoute, "shop", "old", on(service("cart"))) + routeText(mesh.TLSRoute, "shop", "other", cart80), nil, []string{
			`Invalid spec.parentRefs[0] "cart": HTTPRoute shop/own takes ports 80, 8080 of Service shop/cart from TCPRoute shop/old` + specific,
		}},
		{
			"route-conflict", "loses one port and takes another", mesh.HTTPRoute, "faces", on(service("cart, namespace: shop")),
			routeText(mesh.GRPCRoute, "faces", "g", fromShop) + routeText(mesh.TCPRoute, "faces", "t", on(service("cart, namespace: shop"))), nil,
			[]string{
				`Invalid spec.parentRefs[0] "cart": port 80 of Service shop/cart is held by GRPCRoute faces/g` + someLost,
				`Invalid spec.parentRefs[0] "cart": HTTPRoute faces/own takes port 8080 of Service shop/cart from TCPRoute faces/t` + specific,
			},
		},
		{"route-conflict", "both lose to a third", mesh.TCPRoute, "shop", cart80, routeText(mesh.TLSRoute, "shop", "t", cart80) + routeText(mesh.HTTPRoute, "shop", "h", cart80), nil, []string{
			`Invalid spec.parentRefs[0] "cart": port 80 of Service shop/cart is held by HTTPRoute shop/h` + allLost,
		}},
		{"route-conflict", "a rival of a kind that the mesh does not implement", mesh.HTTPRoute, "shop", cart80, routeText(mesh.GRPCRoute, "shop", "old", cart80), &Policy{RouteKinds: []mesh.RouteKind{mesh.HTTPRoute}}, nil},
		{"route-conflict", "a kind that the mesh does not implement", mesh.TCPRoute, "shop", cart80, routeText(mesh.HTTPRoute, "shop", "old", cart80), &Policy{RouteKinds: []mesh.RouteKind{mesh.HTTPRoute}}, nil},
		{
			"route-conflict", "a rival without a grant", mesh.HTTPRoute, "some", on(service("cart, namespace: shop")),
			`{apiVersion: v1, kind: Namespace, metadata: {name: some, labels: {tier: platform}}}` + "\n---\n" + routeText(mesh.GRPCRoute, "some", "old", fromShop),
			&Policy{Grants: mesh.GrantPolicy{Selectors: []mesh.GrantSelector{{
				Namespaces: labels.SelectorFromSet(labels.Set{"tier": "platform"}), Roles: []mesh.Role{mesh.Consumer}, RouteKinds: []mesh.RouteKind{mesh.HTTPRoute},
			}}}}, nil,
		},
		{"route-conflict", "a rival that points elsewhere by now", mesh.HTTPRoute, "shop", cart80, routeText(mesh.GRPCRoute, "shop", "old", on(service("cart, port: 1"))), nil, nil},

		{"route-overlap", "other matches", mesh.HTTPRoute, "shop", cart80 + getOnly, routeText(mesh.HTTPRoute, "shop", "old", cart80+matching(`{method: POST}`)), nil, nil},
		{"route-overlap", "another port", mesh.HTTPRoute, "shop", cart80 + getOnly, routeText(mesh.HTTPRoute, "shop", "old", on(service("cart, port: 8080"))+getOnly), nil, nil},
		{"route-overlap", "another scope", mesh.HTTPRoute, "faces", fromShop + getOnly, routeText(mesh.HTTPRoute, "shop", "old", cart80+getOnly), nil, nil},
		{"route-overlap", "its own former self", mesh.HTTPRoute, "shop", cart80 + getOnly, routeText(mesh.HTTPRoute, "shop", "own", cart80+getOnly), nil, nil},
		{"route-overlap", "a port that neither has", mesh.HTTPRoute, "shop", cart80 + getOnly, routeText(mesh.HTTPRoute, "shop", "old", cart80+getOnly) + routeText(mesh.GRPCRoute, "shop", "g", cart80), nil, nil},
		{
			"route-overlap", "equal matches", mesh.HTTPRoute, "shop", cart80 + matching(`{method: GET}, {path: {value: /a/}, headers: [{name: X, value: "1"}]}`),
			routeText(mesh.HTTPRoute, "shop", "old", on(service("cart"))+matching(`{path: {value: /a}, headers: [{name: x, value: "1"}]}`)), nil,
			[]string{
				`Invalid spec.rules[0].matches[1] "": HTTPRoute shop/old has this match on port 80 of Service shop/cart and is older, so it wins` + overlaps,
			},
		},
		{"route-overlap", "told once", mesh.HTTPRoute, "shop", on(service("cart")) + getOnly, routeText(mesh.HTTPRoute, "shop", "old", on(service("cart"))+getOnly) + routeText(mesh.HTTPRoute, "shop", "mid", on(service("cart"))+getOnly), nil, []string{
			`Invalid spec.rules[0].matches[0] "": HTTPRoute shop/old has this match on port 80 of Service shop/cart and is older, so it wins` + overlaps,
		}},
		{"route-overlap", "rules without matches", mesh.HTTPRoute, "shop", cart80 + catchAll, routeText(mesh.HTTPRoute, "shop", "old", cart80+catchAll), nil, []string{
			`Invalid spec.rules[0] "": HTTPRoute shop/old takes the same requests on port 80 of Service shop/cart and is older, so it wins` + overlaps,
		}},
		{"route-overlap", "gRPC", mesh.GRPCRoute, "shop", cart80 + matching(`{method: {service: a.B}}`), routeText(mesh.GRPCRoute, "shop", "old", cart80+matching(`{method: {type: Exact, service: a.B}}`)), nil, []string{
			`Invalid spec.rules[0].matches[0] "": GRPCRoute shop/old has this match on port 80 of Service shop/cart and is older, so it wins` + overlaps,
		}},
		{"route-overlap", "kinds without matches", mesh.UDPRoute, "shop", on(service("dns, port: 53")) + catchAll, routeText(mesh.UDPRoute, "shop", "old", on(service("dns"))+catchAll), nil, []string{
			`Invalid spec.rules[0] "": UDPRoute shop/old takes the same requests on port 53 of Service shop/dns and is older, so it wins` + overlaps,
		}},
	}
}
