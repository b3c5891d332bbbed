package rules

import (
	"testing"

	"github.com/gammaguard/gammaguard/mesh"
)

func TestParentProtocolMismatch(t *testing.T) {
	testRule(t, parentProtocolMismatch(), []ruleCase{
		{name: "fits", spec: on(service("cart"), service("dns"), service("dns, port: 53"))},
		{name: "UDP fits", kind: mesh.UDPRoute, spec: on(service("dns"), service("dns, port: 53"), service("syslog"))},
		{name: "no such port is another matter", kind: mesh.UDPRoute, spec: on(service("cart, port: 53"), service("headless"))},
		{
			name: "does not fit", spec: on(service("syslog"), service("syslog, port: 514"), service("dns, sectionName: dns"), service("dns, port: 53, sectionName: dns")),
			want: []string{
				`Invalid spec.parentRefs[0].name "syslog": Service shop/syslog has no TCP port; use a Service with a TCP port or another route kind`,
				`Invalid spec.parentRefs[1].port 514: port 514 of Service shop/syslog is not a TCP port; use a TCP port or another route kind`,
				`Invalid spec.parentRefs[2].sectionName "dns": port dns of Service shop/dns is not a TCP port; use a TCP port or another route kind`,
				`Invalid spec.parentRefs[3].port 53: port 53 of Service shop/dns is not a TCP port; use a TCP port or another route kind`,
			},
		},
		{
			name: "UDPRoute", kind: mesh.UDPRoute, spec: on(service("cart"), service("dns, sectionName: web")),
			want: []string{
				`Invalid spec.parentRefs[0].name "cart": Service shop/cart has no UDP port; use a Service with a UDP port or another route kind`,
				`Invalid spec.parentRefs[1].sectionName "web": port web of Service shop/dns is not a UDP port; use a UDP port or another route kind`,
			},
		},
	})
}
