package rules

import "testing"

func TestParentGroupInvalid(t *testing.T) {
	const mistaken = `kind Service is in the core group (""); set group: ""`
	testRule(t, parentGroupInvalid(), []ruleCase{
		{name: "right", spec: on(service("cart"), serviceImport("cards"), `{name: edge}`)},
		{
			name: "wrong", spec: on(`{kind: Service, name: cart}`, `{group: core, kind: Service, name: cart}`, `{group: v1, kind: Service, name: cart}`),
			want: []string{
				`Invalid spec.parentRefs[0].group "gateway.networking.k8s.io": ` + mistaken,
				`Invalid spec.parentRefs[1].group "core": ` + mistaken,
				`Invalid spec.parentRefs[2].group "v1": ` + mistaken,
			},
		},
		{
			name: "an import", spec: on(`{group: core, kind: ServiceImport, name: cards}`),
			want: []string{
				`Invalid spec.parentRefs[0].group "core": kind ServiceImport is in multicluster.x-k8s.io; set group: multicluster.x-k8s.io`,
			},
		},
		{
			name: "a kind in another case", spec: on(`{group: "", kind: service, name: cart}`, `{group: multicluster.x-k8s.io, kind: serviceImport, name: cards}`),
			want: []string{
				`Invalid spec.parentRefs[0].kind "service": a kind is case-sensitive, and this one is Service; set kind: Service`,
				`Invalid spec.parentRefs[1].kind "serviceImport": a kind is case-sensitive, and this one is ServiceImport; set kind: ServiceImport`,
			},
		},
	})
}
