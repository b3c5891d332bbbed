package rules

import (
	"testing"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

func TestProducerRoutesReplaced(t *testing.T) {
	cart80, fromFaces := on(service("cart, port: 80")), on(service("cart, namespace: shop, port: 80"))
	anyPort := on(service("cart, namespace: shop"))
	const (
		meets  = `Invalid spec.parentRefs[0] "cart": requests from namespace faces to `
		remedy = `; copy the producer's rules you need`
	)
	producer := func(kind mesh.RouteKind, name, spec string) string { return routeText(kind, "shop", name, spec) }
	matching := func(matches string) string { return `, rules: [{matches: [` + matches + `]}]` }
	testRule(t, producerRoutesReplaced(), []ruleCase{
		{name: "no producer route", namespace: "faces", spec: fromFaces + catchAll},
		{name: "a producer route beside producer routes", spec: cart80 + catchAll, routes: producer(mesh.HTTPRoute, "old", cart80+catchAll)},
		{
			name: "producer routes on another port", namespace: "faces", spec: fromFaces + catchAll,
			routes: producer(mesh.HTTPRoute, "old", on(service("cart, port: 8080"))+catchAll),
		},
		{name: "not attached", namespace: "faces", spec: on(service("cart, namespace: shop, port: 1")) + catchAll, routes: producer(mesh.HTTPRoute, "old", cart80+catchAll)},
		{
			name: "it loses the port itself", namespace: "faces", kind: mesh.TCPRoute, spec: fromFaces,
			routes: producer(mesh.HTTPRoute, "old", cart80+catchAll) + routeText(mesh.HTTPRoute, "faces", "mine", fromFaces+catchAll),
		},
		{
			name: "no producer route has the grant", namespace: "faces", spec: on(service("probe, namespace: lab, port: 80")) + catchAll,
			routes: routeText(mesh.HTTPRoute, "lab", "old", on(service("probe"))+catchAll),
		},
		{
			name: "consumer routes have no effect", namespace: "faces", spec: fromFaces + catchAll, routes: producer(mesh.HTTPRoute, "old", cart80+catchAll),
			policy: &validate.Policy{Mesh: mesh.FindProfile(mesh.Cilium)},
		},
		{
			name: "the mesh compares kinds across scopes", namespace: "faces", kind: mesh.TCPRoute, spec: fromFaces, routes: producer(mesh.HTTPRoute, "old", cart80+catchAll),
			policy: &validate.Policy{Mesh: mesh.FindProfile(mesh.Linkerd)},
		},
		{
			name: "a request that a producer route matches", namespace: "faces", spec: fromFaces + catchAll, routes: producer(mesh.HTTPRoute, "old", cart80+catchAll),
			want: []string{meets + `port 80 of Service shop/cart no longer meet HTTPRoute shop/old, for example GET /` + remedy},
		},
		{
			name: "a request that no producer route is known to match", namespace: "faces", spec: fromFaces + matching(`{path: {value: /v2}}`),
			routes: producer(mesh.HTTPRoute, "old", cart80+matching(`{path: {value: /admin}}`)),
			want:   []string{meets + `port 80 of Service shop/cart no longer meet HTTPRoute shop/old, for example GET /v2` + remedy},
		},
		{
			name: "another kind", namespace: "faces", kind: mesh.TCPRoute, spec: fromFaces, routes: producer(mesh.GRPCRoute, "old", cart80+catchAll),
			want: []string{meets + `port 80 of Service shop/cart no longer meet GRPCRoute shop/old, for example a gRPC call of example.Other/Call` + remedy},
		},
		{
			name: "no example", namespace: "faces", kind: mesh.TCPRoute, spec: fromFaces, routes: producer(mesh.GRPCRoute, "old", cart80+matching(`{method: {service: a}}`)),
			want: []string{meets + `port 80 of Service shop/cart no longer meet GRPCRoute shop/old` + remedy},
		},
		{
			name: "several routes on several ports", namespace: "faces", spec: anyPort + catchAll,
			routes: producer(mesh.HTTPRoute, "one", cart80+catchAll) + producer(mesh.HTTPRoute, "two", on(service("cart"))+catchAll) +
				producer(mesh.HTTPRoute, "three", on(service("cart, port: 8080"))+catchAll) + producer(mesh.TCPRoute, "raw", on(service("cart"))),
			want: []string{meets + `ports 80, 8080 of Service shop/cart no longer meet HTTPRoute shop/one and 2 more, for example GET /` + remedy},
		},
		{
			name: "an older consumer route does it already", namespace: "faces", spec: fromFaces + getOnly,
			routes: producer(mesh.HTTPRoute, "old", cart80+getOnly) + routeText(mesh.HTTPRoute, "faces", "mine", fromFaces+catchAll),
		},
		{
			name: "an older consumer route does it on another port", namespace: "faces", spec: anyPort + getOnly,
			routes: producer(mesh.HTTPRoute, "old", on(service("cart"))+getOnly) + routeText(mesh.HTTPRoute, "faces", "mine", fromFaces+catchAll),
			want:   []string{meets + `port 8080 of Service shop/cart no longer meet HTTPRoute shop/old, for example GET /` + remedy},
		},
	})
}
