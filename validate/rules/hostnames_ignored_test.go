package rules

import (
	"testing"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

func TestHostnamesIgnored(t *testing.T) {
	cart80 := on(service("cart, port: 80"))
	const ignored = `spec.hostnames "a.example": a mesh matches traffic by the parent Service, not by hostnames; `
	const matchHost = `match the Host header in the rules instead`
	const both = `Invalid spec.hostnames "a.example": the Gateway uses hostnames, the mesh does not: it matches traffic by the parent Service; ` +
		`use separate routes for Gateway and Service`
	testRule(t, hostnamesIgnored(), []ruleCase{
		{name: "none", spec: cart80},
		{
			name: "some", kind: mesh.GRPCRoute, spec: cart80 + `, hostnames: [a.example]`,
			want: []string{`Invalid ` + ignored + matchHost},
		},
		{
			name: "beside a Gateway", spec: on(`{name: edge}`, service("cart")) + `, hostnames: [a.example]`,
			want: []string{both},
		},
		{
			name: "beside the default Gateways", spec: cart80 + `, useDefaultGateways: All, hostnames: [a.example]`,
			want: []string{both},
		},
		{
			name: "beside no default Gateways", spec: cart80 + `, useDefaultGateways: None, hostnames: [a.example]`,
			want: []string{`Invalid ` + ignored + matchHost},
		},
		{
			name: "the mesh matches server names", kind: mesh.TLSRoute, spec: cart80 + `, hostnames: [a.example]`,
			policy: &validate.Policy{Mesh: mesh.FindProfile(mesh.Istio)},
		},
		{
			name: "demanded by the schema", kind: mesh.TLSRoute, spec: cart80 + `, hostnames: [a.example]`,
			want: []string{
				`Invalid ` + ignored + `do not rely on hostnames to restrict what this route matches`,
			},
		},
	})
}
