package rules

import (
	"testing"

	"github.com/gammaguard/gammaguard/mesh"
)

func TestHostnamesIgnored(t *testing.T) {
	cart80 := on(service("cart, port: 80"))
	const ignored = `spec.hostnames "a.example": a mesh matches traffic by the parent Service, not by hostnames; `
	const matchHost = `match the Host header in the rules instead`
	testRule(t, hostnamesIgnored(), []ruleCase{
		{name: "none", spec: cart80},
		{
			name: "some", kind: mesh.GRPCRoute, spec: cart80 + `, hostnames: [a.example]`,
			want: []string{`Invalid ` + ignored + matchHost},
		},
		{
			name: "beside a Gateway", spec: on(`{name: edge}`, service("cart")) + `, hostnames: [a.example]`,
			want: []string{`Invalid ` + ignored + matchHost},
		},
		{
			name: "demanded by the schema", kind: mesh.TLSRoute, spec: cart80 + `, hostnames: [a.example]`,
			want: []string{
				`Invalid ` + ignored + `do not rely on hostnames to restrict what this route matches`,
			},
		},
	})
}
