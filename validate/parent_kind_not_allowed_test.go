package validate

var _ = addCases("parent-kind-not-allowed", func() []ruleCase {
	return []ruleCase{
		{name: "nothing is listed", spec: on(`{group: kuma.io, kind: MeshService, name: cart}`)},
		{
			name: "listed", spec: on(`{group: kuma.io, kind: MeshService, name: cart}`, service("cart"), `{name: edge}`),
			policy: &Policy{AllowedParentKinds: []string{"MeshService.kuma.io"}},
		},
		{
			name: "not listed", spec: on(service("cart"), `{group: networking.istio.io, kind: ServiceEntry, name: cart}`),
			policy: &Policy{AllowedParentKinds: []string{"MeshService.kuma.io", "Waypoint.acme.example"}},
			want: []string{
				`Invalid spec.parentRefs[1].kind "ServiceEntry": ServiceEntry.networking.istio.io is not an allowed parent kind; ` +
					`use Gateway, ListenerSet, Service, ServiceImport, or one of: MeshService.kuma.io, Waypoint.acme.example`,
			},
		},
	}
})
