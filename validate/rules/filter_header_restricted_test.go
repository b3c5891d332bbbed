package rules

import (
	"testing"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

func TestFilterHeaderRestricted(t *testing.T) {
	cart := on(service("cart"))
	const rewrite = "use a URLRewrite filter instead"
	const envoy = "proxies do not modify this header: Envoy refuses all routes with it, and all later changes; "
	request := func(modifier string) string {
		return `, rules: [{filters: [{type: RequestHeaderModifier, requestHeaderModifier: ` + modifier + `}]}]`
	}
	testRule(t, filterHeaderRestricted(), []ruleCase{
		{name: "others", spec: cart + request(`{set: [{name: x-host, value: a}], remove: [hosts]}`)},
		{name: "on a Gateway", spec: on(`{name: edge}`) + request(`{set: [{name: Host, value: a}]}`)},
		{
			name: "set", spec: cart + request(`{set: [{name: a, value: b}, {name: hOST, value: a.example}]}`),
			want: []string{`Invalid spec.rules[0].filters[0].requestHeaderModifier.set[1].name "hOST": ` + envoy + rewrite},
		},
		{
			name: "removed from a response of a backend", kind: mesh.GRPCRoute,
			spec: cart + `, rules: [{backendRefs: [{name: cart, port: 80, filters: [{responseHeaderModifier: {remove: [Host, ":path"]}}]}]}]`,
			want: []string{
				`Invalid spec.rules[0].backendRefs[0].filters[0].responseHeaderModifier.remove[0] "Host": ` + envoy + `remove it from the filter`,
				`Invalid spec.rules[0].backendRefs[0].filters[0].responseHeaderModifier.remove[1] ":path": ` + envoy + `remove it from the filter`,
			},
		},
		{
			name: "on Istio", spec: cart + request(`{set: [{name: Host, value: a.example}]}`), policy: &validate.Policy{Mesh: mesh.FindProfile(mesh.Istio)},
			want: []string{`Invalid spec.rules[0].filters[0].requestHeaderModifier.set[0].name "Host": Istio rewrites the host where Host is in set, ` +
				`and ignores it in add and remove; other meshes refuse it; ` + rewrite},
		},
		{
			name: "on Linkerd", spec: cart + request(`{add: [{name: Host, value: a.example}]}`), policy: &validate.Policy{Mesh: mesh.FindProfile(mesh.Linkerd)},
			want: []string{`Invalid spec.rules[0].filters[0].requestHeaderModifier.add[0].name "Host": Linkerd modifies this header, ` +
				`and not the authority that HTTP/2 requests have in its place; ` + rewrite},
		},
	})
}
