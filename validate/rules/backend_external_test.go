package rules

import "testing"

func TestBackendExternal(t *testing.T) {
	cart := on(service("cart"))
	testRule(t, backendExternal(), []ruleCase{
		{name: "in the cluster", spec: cart + to(`{name: cart, port: 80}, {group: multicluster.x-k8s.io, kind: ServiceImport, name: cards, port: 80}, {kind: Hostname, name: api.example.com, port: 80}, {group: example.com, kind: XBackend, name: api}`)},
		{
			name: "outside of it", spec: cart + to(`{group: networking.istio.io, kind: Hostname, name: api.example.com, port: 443}, {group: policy.linkerd.io, kind: EgressNetwork, name: all, port: 443, weight: 0}`),
			want: []string{
				`Invalid spec.rules[0].backendRefs[0] "api.example.com": a backend of kind Hostname is outside of the cluster; check that these requests may leave the cluster, or use a Service`,
				`Invalid spec.rules[0].backendRefs[1] "all": a backend of kind EgressNetwork is outside of the cluster; check that these requests may leave the cluster, or use a Service`,
			},
		},
		{
			name: "mirrors", spec: cart + mirrorTo(`{group: gateway.networking.x-k8s.io, kind: XBackend, name: api}`),
			want: []string{
				`Invalid spec.rules[0].filters[0].requestMirror.backendRef "api": a backend of kind XBackend is outside of the cluster; check that these requests may leave the cluster, or use a Service`,
				`Invalid spec.rules[0].backendRefs[0].filters[0].requestMirror.backendRef "api": a backend of kind XBackend is outside of the cluster; check that these requests may leave the cluster, or use a Service`,
			},
		},
	})
}
