package rules

import (
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

func TestRouteConflict(t *testing.T) {
	const allLost = `, so this TCPRoute is ignored there; use another port, or one route kind`
	cart80 := on(service("cart, port: 80"))
	fromShop := on(service("cart, namespace: shop, port: 80"))
	const someLost = `, so this HTTPRoute is ignored there, but not on port 8080; set port or sectionName, or use one route kind`
	const some = `; set port or sectionName, or use one route kind`
	const split = `Istio does not merge routes with and without port; set port in all, or in none`
	const together = `Cilium applies a Service's routes on every port that any selects, unlike GEP-1294; use another Service`
	const specific = `; use another port, or one route kind`
	testRule(t, routeConflict(), []ruleCase{
		{name: "alone", spec: cart80},
		{
			name: "one kind", spec: cart80,
			routes: routeText(mesh.HTTPRoute, "shop", "old", cart80),
		},
		{
			name: "another port", spec: cart80,
			routes: routeText(mesh.GRPCRoute, "shop", "old", on(service("cart, port: 8080"))),
		},
		{
			name: "another scope", namespace: "faces", spec: fromShop,
			routes: routeText(mesh.GRPCRoute, "shop", "old", cart80),
		},
		{
			name: "another transport", kind: mesh.TCPRoute, spec: on(service("dns, port: 53")),
			routes: routeText(mesh.UDPRoute, "shop", "old", on(service("dns, port: 53"))),
		},
		{
			name: "loses", spec: on(service("cart")),
			routes: routeText(mesh.GRPCRoute, "shop", "old", cart80) + routeText(mesh.GRPCRoute, "shop", "new", cart80),
			want: []string{
				`Invalid spec.parentRefs[0] "cart": port 80 of Service shop/cart is held by GRPCRoute shop/old` + someLost,
			},
		},
		{
			name: "takes", spec: on(service("cart")),
			routes: routeText(mesh.TCPRoute, "shop", "old", on(service("cart"))) + routeText(mesh.TLSRoute, "shop", "other", cart80),
			want: []string{
				`Invalid spec.parentRefs[0] "cart": this HTTPRoute takes port 80 of Service shop/cart from TLSRoute shop/other and 1 more, port 8080 from TCPRoute shop/old` + some,
			},
		},
		{
			name: "takes from several", spec: on(service("cart")),
			routes: routeText(mesh.TCPRoute, "shop", "old", on(service("cart, port: 8080"))) + routeText(mesh.TLSRoute, "shop", "other", cart80),
			want: []string{
				`Invalid spec.parentRefs[0] "cart": this HTTPRoute takes port 80 of Service shop/cart from TLSRoute shop/other, port 8080 from TCPRoute shop/old` + some,
			},
		},
		{
			name: "takes all from one", spec: on(service("cart")),
			routes: routeText(mesh.TCPRoute, "shop", "old", on(service("cart"), service("cart, port: 80"))),
			want:   []string{`Invalid spec.parentRefs[0] "cart": this HTTPRoute takes ports 80, 8080 of Service shop/cart from TCPRoute shop/old` + some},
		},
		{
			name: "loses one port and takes another", namespace: "faces", spec: on(service("cart, namespace: shop")),
			routes: routeText(mesh.GRPCRoute, "faces", "g", fromShop) + routeText(mesh.TCPRoute, "faces", "t", on(service("cart, namespace: shop"))),
			want: []string{
				`Invalid spec.parentRefs[0] "cart": port 80 of Service shop/cart is held by GRPCRoute faces/g` + someLost,
				`Invalid spec.parentRefs[0] "cart": this HTTPRoute takes port 8080 of Service shop/cart from TCPRoute faces/t; set port or sectionName, or use one route kind`,
			},
		},
		{
			name: "both lose to a third", kind: mesh.TCPRoute, spec: cart80,
			routes: routeText(mesh.TLSRoute, "shop", "t", cart80) + routeText(mesh.HTTPRoute, "shop", "h", cart80),
			want: []string{
				`Invalid spec.parentRefs[0] "cart": port 80 of Service shop/cart is held by HTTPRoute shop/h` + allLost,
			},
		},
		{
			name: "a rival of a kind that the mesh does not implement", spec: cart80,
			routes: routeText(mesh.GRPCRoute, "shop", "old", cart80),
			policy: &validate.Policy{RouteKinds: []mesh.RouteKind{mesh.HTTPRoute}},
		},
		{
			name: "a kind that the mesh does not implement", kind: mesh.TCPRoute, spec: cart80,
			routes: routeText(mesh.HTTPRoute, "shop", "old", cart80),
			policy: &validate.Policy{RouteKinds: []mesh.RouteKind{mesh.HTTPRoute}},
		},
		{
			name: "a rival without a grant", namespace: "some", spec: on(service("cart, namespace: shop")),
			routes: `{apiVersion: v1, kind: Namespace, metadata: {name: some, labels: {tier: platform}}}` + "\n---\n" + routeText(mesh.GRPCRoute, "some", "old", fromShop),
			policy: &validate.Policy{Grants: mesh.GrantPolicy{Selectors: []mesh.GrantSelector{{
				Namespaces: labels.SelectorFromSet(labels.Set{"tier": "platform"}), Roles: []mesh.Role{mesh.Consumer}, RouteKinds: []mesh.RouteKind{mesh.HTTPRoute},
			}}}},
		},
		{
			name: "a mesh that merges, the less specific kind", policy: under(mesh.Istio), spec: cart80,
			routes: routeText(mesh.GRPCRoute, "shop", "old", cart80),
			want: []string{
				`Invalid spec.parentRefs[0] "cart": this HTTPRoute shares port 80 of Service shop/cart with GRPCRoute shop/old; Istio merges them, and GEP-1294 ignores the HTTPRoute` + specific,
			},
		},
		{
			name: "a mesh that merges, the more specific kind", policy: under(mesh.Istio), kind: mesh.GRPCRoute, spec: cart80,
			routes: routeText(mesh.HTTPRoute, "shop", "old", cart80),
			want: []string{
				`Invalid spec.parentRefs[0] "cart": this GRPCRoute shares port 80 of Service shop/cart with HTTPRoute shop/old; Istio merges them, and GEP-1294 ignores the HTTPRoute` + specific,
			},
		},
		{
			name: "a mesh that merges all ports, one port", policy: under(mesh.Cilium), spec: cart80,
			routes: routeText(mesh.GRPCRoute, "shop", "old", cart80),
			want: []string{
				`Invalid spec.parentRefs[0] "cart": this HTTPRoute shares port 80 of Service shop/cart with GRPCRoute shop/old; Cilium merges them, and GEP-1294 ignores the HTTPRoute; use another Service, or one route kind`,
			},
		},
		{
			name: "a mesh that merges all ports, another port", policy: under(mesh.Cilium), spec: cart80,
			routes: routeText(mesh.GRPCRoute, "shop", "old", on(service("cart, port: 8080"))),
			want: []string{
				`Invalid spec.parentRefs[0] "cart": this HTTPRoute shares port 80 of Service shop/cart with GRPCRoute shop/old; ` + together,
			},
		},
		{
			name: "a mesh that merges all ports, another port of one kind", policy: under(mesh.Cilium), spec: cart80,
			routes: routeText(mesh.HTTPRoute, "shop", "old", on(service("cart, port: 8080"))),
			want: []string{
				`Invalid spec.parentRefs[0] "cart": this HTTPRoute shares port 80 of Service shop/cart with HTTPRoute shop/old; ` + together,
			},
		},
		{
			name: "a mesh that merges all ports, one port of one kind", policy: under(mesh.Cilium), spec: cart80,
			routes: routeText(mesh.HTTPRoute, "shop", "old", cart80),
		},
		{
			name: "a mesh that merges all ports, one of them selected by both", policy: under(mesh.Cilium), kind: mesh.GRPCRoute,
			spec:   on(service("cart, port: 80"), service("cart, port: 8080")),
			routes: routeText(mesh.HTTPRoute, "shop", "old", cart80),
			want: []string{
				`Invalid spec.parentRefs[0] "cart": this GRPCRoute shares port 80 of Service shop/cart with HTTPRoute shop/old; Cilium merges them, and GEP-1294 ignores the HTTPRoute; use another Service, or one route kind`,
				`Invalid spec.parentRefs[1] "cart": this GRPCRoute shares port 8080 of Service shop/cart with HTTPRoute shop/old; ` + together,
			},
		},
		{
			name: "a mesh that ignores sectionName", policy: under(mesh.Linkerd), spec: on(service("cart")),
			routes: routeText(mesh.GRPCRoute, "shop", "old", cart80),
			want:   []string{`Invalid spec.parentRefs[0] "cart": port 80 of Service shop/cart is held by GRPCRoute shop/old, so this HTTPRoute is ignored there, but not on port 8080; set port, or use one route kind`},
		},
		{
			name: "a mesh that splits by port, other routes on each port", policy: under(mesh.Istio), spec: on(service("cart")),
			routes: routeText(mesh.HTTPRoute, "shop", "h", cart80) + routeText(mesh.HTTPRoute, "shop", "i", on(service("cart, port: 8080"))),
			want: []string{
				`Invalid spec.parentRefs[0].port "0": HTTPRoute shop/own gets no requests to port 80 of Service shop/cart, but HTTPRoute shop/h does: ` + split,
				`Invalid spec.parentRefs[0].port "0": HTTPRoute shop/own gets no requests to port 8080 of Service shop/cart, but HTTPRoute shop/i does: ` + split,
			},
		},
		{
			name: "a mesh that merges only these", policy: under(mesh.Istio), kind: mesh.TCPRoute, spec: cart80,
			routes: routeText(mesh.HTTPRoute, "shop", "old", cart80),
			want:   []string{`Invalid spec.parentRefs[0] "cart": port 80 of Service shop/cart is held by HTTPRoute shop/old` + allLost},
		},
		{
			name: "a mesh that compares scopes, loses", policy: under(mesh.Linkerd), spec: cart80,
			routes: routeText(mesh.GRPCRoute, "faces", "g", fromShop),
			want: []string{
				`Invalid spec.parentRefs[0] "cart": GRPCRoute faces/g takes port 80 of Service shop/cart from HTTPRoute shop/own; Linkerd compares producer and consumer routes, unlike GEP-1294` + specific,
			},
		},
		{
			name: "a mesh that compares scopes, takes", policy: under(mesh.Linkerd), kind: mesh.GRPCRoute, namespace: "faces", spec: fromShop,
			routes: routeText(mesh.HTTPRoute, "shop", "p", cart80) + routeText(mesh.TCPRoute, "shop", "t", cart80) + routeText(mesh.GRPCRoute, "shop", "other", on(service("cart, port: 8080"))),
			want: []string{
				`Invalid spec.parentRefs[0] "cart": GRPCRoute faces/own takes port 80 of Service shop/cart from HTTPRoute shop/p; Linkerd compares producer and consumer routes, unlike GEP-1294` + specific,
			},
		},
		{
			name: "a mesh that compares scopes, one kind", policy: under(mesh.Linkerd), spec: cart80,
			routes: routeText(mesh.HTTPRoute, "faces", "g", fromShop),
		},
		{
			name: "a rival that points elsewhere by now", spec: cart80,
			routes: routeText(mesh.GRPCRoute, "shop", "old", on(service("cart, port: 1"))),
		},
	})
}

// TestSplitIsNotShared: a mesh that merges the kinds does not do so where one route has the port and
// one has none.
func TestSplitIsNotShared(t *testing.T) {
	c := ruleCase{
		kind: mesh.GRPCRoute, namespace: "shop", policy: under(mesh.Istio), spec: on(service("cart")),
		routes: routeText(mesh.HTTPRoute, "shop", "old", on(service("cart, port: 80"))),
		want: []string{
			`Invalid spec.parentRefs[0].port "0": GRPCRoute shop/own gets no requests to port 80 of Service shop/cart, but HTTPRoute shop/old does: ` +
				`Istio does not merge routes with and without port; set port in all, or in none`,
		},
	}
	c.testFindings(t, routeConflict())
}
