package rules

import (
	"strings"
	"testing"

	"github.com/gammaguard/gammaguard/mesh"
)

func TestParentPortNotFound(t *testing.T) {
	const cartPorts = "use one of its ports: 80 (http), 8080 (admin)"
	many := `{apiVersion: v1, kind: Service, metadata: {namespace: shop, name: many}, spec: {ports: [` +
		strings.Join([]string{`{port: 1}`, `{port: 2}`, `{port: 3}`, `{port: 4}`, `{port: 5}`, `{port: 6}`, `{port: 7}`, `{port: 8}`}, ", ") + `]}}`
	testRule(t, parentPortNotFound(), []ruleCase{
		{name: "found", spec: on(service("cart"), service("cart, port: 80"), service("cart, sectionName: admin"), service("cart, port: 80, sectionName: http"))},
		{name: "not judged", spec: on(service("gone, port: 1"), service("headless, port: 1"), service("alias, port: 1"), service("dns, sectionName: dns"))},
		{
			name: "no such port", spec: on(service("cart, port: 81"), service("cart, sectionName: grpc"), service("cart, port: 81, sectionName: http")),
			want: []string{
				`Invalid spec.parentRefs[0].port 81: Service shop/cart has no port 81; ` + cartPorts,
				`Invalid spec.parentRefs[1].sectionName "grpc": Service shop/cart has no port named grpc; ` + cartPorts,
				`Invalid spec.parentRefs[2].port 81: Service shop/cart has no port 81; ` + cartPorts,
			},
		},
		{
			name: "both, but not of one port", spec: on(service("cart, port: 80, sectionName: admin"), service("cart, port: 80, sectionName: grpc")),
			want: []string{
				`Invalid spec.parentRefs[0].sectionName "admin": port 80 of Service shop/cart is not named admin; ` + cartPorts,
				`Invalid spec.parentRefs[1].sectionName "grpc": Service shop/cart has no port named grpc; ` + cartPorts,
			},
		},
		{
			name: "no ports at all", spec: on(service("portless")),
			want: []string{
				`Invalid spec.parentRefs[0].name "portless": Service shop/portless has no ports; add a TCP port to it`,
			},
		},
		{
			name: "ports of the other protocol are no help", kind: mesh.UDPRoute, spec: on(service("dns, port: 54"), service("cart, sectionName: dns")),
			want: []string{
				`Invalid spec.parentRefs[0].port 54: Service shop/dns has no port 54; use one of its ports: 53 (dns), 5353 (alt)`,
				`Invalid spec.parentRefs[1].sectionName "dns": Service shop/cart has no port named dns; add a UDP port to it`,
			},
		},
		{
			name: "a long list", spec: on(service("many, port: 9")),
			routes: many,
			want: []string{
				`Invalid spec.parentRefs[0].port 9: Service shop/many has no port 9; use one of its ports: 1, 2, 3, 4, 5, 6 and 2 more`,
			},
		},
	})
}
