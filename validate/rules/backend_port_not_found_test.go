package rules

import (
	"testing"

	"github.com/gammaguard/gammaguard/mesh"
)

func TestBackendPortNotFound(t *testing.T) {
	cart := on(service("cart"))
	testRule(t, backendPortNotFound(), []ruleCase{
		{name: "found", spec: cart + to(`{name: cart, port: 8080}, {name: dns, port: 53}, {group: multicluster.x-k8s.io, kind: ServiceImport, name: cards, port: 80}`)},
		{name: "not judged", spec: cart + to(`{name: alias, port: 81}, {name: gone, port: 1}, {name: cart}`)},
		{
			name: "no such port", spec: cart + to(`{name: alias, port: 1}, {name: cart, port: 81}, {name: portless, port: 80}`),
			want: []string{
				`Invalid spec.rules[0].backendRefs[1].port 81: Service shop/cart has no TCP port 81; use one of its ports: 80 (http), 8080 (admin)`,
				`Invalid spec.rules[0].backendRefs[2].port 80: Service shop/portless has no TCP port 80; add a TCP port to it`,
			},
		},
		{
			name: "of the other transport", kind: mesh.UDPRoute, spec: on(service("dns")) + to(`{name: syslog, port: 514}, {name: cart, port: 80}`),
			want: []string{
				`Invalid spec.rules[0].backendRefs[1].port 80: Service shop/cart has no UDP port 80; add a UDP port to it`,
			},
		},
	})
}
