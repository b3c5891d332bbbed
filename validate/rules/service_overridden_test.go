package rules

import (
	"testing"

	"github.com/gammaguard/gammaguard/mesh"
)

func TestServiceOverridden(t *testing.T) {
	const (
		ofHome    = "{apiVersion: linkerd.io/v1alpha2, kind: ServiceProfile, metadata: {namespace: shop, name: cart.shop.svc.cluster.local}}\n---\n"
		ofClients = "{apiVersion: linkerd.io/v1alpha2, kind: ServiceProfile, metadata: {namespace: faces, name: cart.shop.svc.cluster.local}}\n---\n"
		ofOther   = "{apiVersion: linkerd.io/v1alpha2, kind: ServiceProfile, metadata: {namespace: shop, name: one.shop.svc.cluster.local}}\n---\n"
	)
	cart := on(service("cart, namespace: shop, port: 80"))
	testRule(t, serviceOverridden(), []ruleCase{
		{name: "no mesh", spec: cart, routes: ofHome},
		{name: "another mesh", policy: under(mesh.Istio), spec: cart, routes: ofHome},
		{name: "that of another Service", policy: under(mesh.Linkerd), spec: cart, routes: ofOther},
		{name: "that of the clients, for a producer route", policy: under(mesh.Linkerd), spec: cart, routes: ofClients},
		{name: "a route for connections", kind: mesh.TCPRoute, policy: under(mesh.Linkerd), spec: cart},
		{
			name: "a producer route", policy: under(mesh.Linkerd), spec: cart, routes: ofHome,
			want: []string{`Invalid spec.parentRefs[0].name "cart": because of ServiceProfile shop/cart.shop.svc.cluster.local, Linkerd ignores the routes on Service shop/cart; delete the ServiceProfile, or the route`},
		},
		{
			name: "a consumer route", namespace: "faces", policy: under(mesh.Linkerd), spec: cart, routes: ofClients,
			want: []string{`Invalid spec.parentRefs[0].name "cart": because of ServiceProfile faces/cart.shop.svc.cluster.local, Linkerd ignores the routes on Service shop/cart; delete the ServiceProfile, or the route`},
		},
	})
}
