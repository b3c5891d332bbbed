package rules

import (
	"testing"

	"github.com/gammaguard/gammaguard/mesh"
)

func TestParentAppProtocol(t *testing.T) {
	testRule(t, parentAppProtocol(), []ruleCase{
		{name: "nothing said, or not known", spec: on(service("cart"), service("plain, port: 81"))},
		{name: "a port that fits is selected", kind: mesh.GRPCRoute, spec: on(service("plain, port: 81"), service("plain, sectionName: unsaid"))},
		{name: "TLSRoute on TLS", kind: mesh.TLSRoute, spec: on(service("secure"))},
		{name: "TCPRoute on anything", kind: mesh.TCPRoute, spec: on(service("secure"), service("plain"))},
		{name: "not attached", spec: on(service("secure, port: 1"), service("gone"))},
		{
			name: "a mesh that selects ports by appProtocol", policy: under(mesh.Cilium), spec: on(service("plain"), service("plain, port: 82")),
			want: []string{
				`Invalid spec.parentRefs[0] "plain": Cilium ignores an HTTPRoute without port on port 81 of Service shop/plain, which needs appProtocol http; set port, or appProtocol`,
			},
		},
		{
			name: "a mesh that has the ports of a Service share its routes", policy: under(mesh.Cilium), spec: on(service("plain")),
			routes: routeText(mesh.HTTPRoute, "shop", "old", on(service("plain, port: 81"), service("plain, port: 82"))),
		},
		{
			name: "HTTPRoute on TLS and TCP", spec: on(service("secure"), service("secure, port: 9000")),
			want: []string{
				`Invalid spec.parentRefs[0].name "secure": HTTPRoute does not support appProtocol TLS (port 443), tcp (port 9000) of Service shop/secure; use another route kind or appProtocol`,
				`Invalid spec.parentRefs[1].name "secure": HTTPRoute does not support appProtocol tcp (port 9000) of Service shop/secure; use another route kind or appProtocol`,
			},
		},
		{
			name: "GRPCRoute on plain HTTP", kind: mesh.GRPCRoute, spec: on(service("plain, port: 80")),
			want: []string{
				`Invalid spec.parentRefs[0].name "plain": GRPCRoute does not support appProtocol http (port 80) of Service shop/plain; use another route kind or appProtocol`,
			},
		},
		{
			name: "one port of all", kind: mesh.TLSRoute, spec: on(service("secure"), service("plain")),
			want: []string{
				`Invalid spec.parentRefs[1].name "plain": TLSRoute does not support appProtocol http (port 80) of Service shop/plain; set port in the parentRef: 81, 82`,
			},
		},
		{
			name: "TLSRoute on plain HTTP", kind: mesh.TLSRoute, spec: on(service("plain, sectionName: http")),
			want: []string{
				`Invalid spec.parentRefs[0].name "plain": TLSRoute does not support appProtocol http (port 80) of Service shop/plain; use another route kind or appProtocol`,
			},
		},
	})
}
