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
				`Invalid spec.parentRefs[1].sectionName "grpc": Service shop/cart has no port named grpc; name one of its ports: 80 (http), 8080 (admin)`,
				`Invalid spec.parentRefs[2].port 81: Service shop/cart has no port 81; ` + cartPorts,
			},
		},
		{
			name: "both, but not of one port", spec: on(service("cart, port: 80, sectionName: admin"), service("cart, port: 80, sectionName: grpc")),
			want: []string{
				`Invalid spec.parentRefs[0].sectionName "admin": port 80 of Service shop/cart is not named admin; use port: 8080, or sectionName: http, or omit it`,
				`Invalid spec.parentRefs[1].sectionName "grpc": Service shop/cart has no port named grpc; use sectionName: http, or omit it`,
			},
		},
		{
			name: "a number for a name", spec: on(service("cart, sectionName: \"8080\""), service("many, sectionName: \"1\""), service("many, port: 1, sectionName: a"), service("sole, sectionName: a"), service("sole, port: 53, sectionName: a"),
				service("half, port: 80, sectionName: web")),
			routes: many + "\n---\n{apiVersion: v1, kind: Service, metadata: {namespace: shop, name: sole}, spec: {ports: [{port: 80, name: web}, {port: 53, protocol: UDP, name: dns}]}}" +
				"\n---\n{apiVersion: v1, kind: Service, metadata: {namespace: shop, name: half}, spec: {ports: [{port: 80}, {port: 81, name: web}]}}",
			want: []string{
				`Invalid spec.parentRefs[0].sectionName "8080": Service shop/cart has no port named 8080; use sectionName: admin, or port: 8080`,
				`Invalid spec.parentRefs[1].sectionName "1": Service shop/many has no port named 1; replace sectionName with port: 1`,
				`Invalid spec.parentRefs[2].sectionName "a": Service shop/many has no port named a; omit sectionName`,
				`Invalid spec.parentRefs[3].sectionName "a": Service shop/sole has no port named a; use sectionName: web, or port: 80`,
				`Invalid spec.parentRefs[4].sectionName "a": Service shop/sole has no port named a; use one of its ports: 80 (web)`,
				`Invalid spec.parentRefs[5].sectionName "web": port 80 of Service shop/half is not named web; use port: 81, or omit sectionName`,
			},
		},
		{
			name: "no ports at all", spec: on(service("portless")),
			want: []string{
				`Invalid spec.parentRefs[0].name "portless": Service shop/portless has no ports; add a TCP port to it`,
			},
		},
		{
			name: "a port without a number", spec: on(service("unfinished, port: 80")),
			routes: "{apiVersion: v1, kind: Service, metadata: {namespace: shop, name: unfinished}, spec: {ports: [{name: http}]}}",
			want: []string{
				`Invalid spec.parentRefs[0].port 80: Service shop/unfinished has no port 80; give each of its ports a number`,
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
