package rules

import (
	"testing"

	"github.com/gammaguard/gammaguard/mesh"
)

func TestBackendHasRoutes(t *testing.T) {
	cart, fromFaces := on(service("cart, port: 80")), on(service("cart, namespace: shop, port: 80"))
	toOne := to(`{name: one, namespace: shop, port: 80}`)
	onOne := routeText(mesh.HTTPRoute, "shop", "on-one", on(service("one, port: 80")))
	const remedy = `; copy their rules, or use a backend without routes`
	testRule(t, backendHasRoutes(), []ruleCase{
		{name: "a backend without routes", spec: cart + toOne},
		{name: "its own parent", spec: on(service("cart"), service("one")) + toOne, routes: onOne},
		{name: "a backend that gets no request", spec: cart + to(`{name: one, port: 80, weight: 0}`), routes: onOne},
		{name: "routes on another port", spec: cart + to(`{name: secure, port: 443}`), routes: routeText(mesh.HTTPRoute, "shop", "raw", on(service("secure, port: 9000")))},
		{name: "routes of another transport", spec: cart + to(`{name: dns, port: 53}`), routes: routeText(mesh.UDPRoute, "shop", "dns", on(service("dns, port: 53")))},
		{name: "routes of clients elsewhere", spec: cart + toOne, routes: routeText(mesh.HTTPRoute, "faces", "on-one", on(service("one, namespace: shop")))},
		{name: "routes without a grant", spec: cart + to(`{name: probe, namespace: lab, port: 80}`), routes: routeText(mesh.HTTPRoute, "lab", "probe", on(service("probe")))},
		{name: "a parent without requests", spec: on(service("headless")) + toOne, routes: onOne},
		{name: "what it was itself before", spec: cart + toOne, routes: routeText(mesh.HTTPRoute, "shop", "own", on(service("one")))},
		{
			name: "producer routes", spec: cart + toOne, routes: onOne,
			want: []string{`Invalid spec.rules[0].backendRefs[0] "one": routes on port 80 of Service shop/one (HTTPRoute shop/on-one) do not apply to requests from this rule` + remedy},
		},
		{
			name: "several routes", spec: cart + toOne, routes: onOne + routeText(mesh.HTTPRoute, "shop", "second", on(service("one"))) + routeText(mesh.TCPRoute, "shop", "raw", on(service("one"))),
			want: []string{`Invalid spec.rules[0].backendRefs[0] "one": routes on port 80 of Service shop/one (HTTPRoute shop/on-one and 1 more) do not apply to requests from this rule` + remedy},
		},
		{
			name: "met by a consumer", namespace: "faces", spec: fromFaces + toOne, routes: onOne,
			want: []string{`Invalid spec.rules[0].backendRefs[0] "one": routes on port 80 of Service shop/one (in namespace shop) do not apply to requests from this rule` + remedy},
		},
		{
			name: "consumer routes before them", namespace: "faces", spec: fromFaces + toOne,
			routes: onOne + routeText(mesh.TCPRoute, "faces", "mine", on(service("one, namespace: shop"))),
			want:   []string{`Invalid spec.rules[0].backendRefs[0] "one": routes on port 80 of Service shop/one (TCPRoute faces/mine) do not apply to requests from this rule` + remedy},
		},
		{
			name: "mirrors too", spec: cart + `, rules: [{filters: [{type: RequestMirror, requestMirror: {backendRef: {name: one, port: 80}}}]}]`, routes: onOne,
			want: []string{`Invalid spec.rules[0].filters[0].requestMirror.backendRef "one": routes on port 80 of Service shop/one (HTTPRoute shop/on-one) do not apply to requests from this rule` + remedy},
		},
	})
}
