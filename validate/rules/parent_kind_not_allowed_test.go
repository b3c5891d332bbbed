package rules

import (
	"testing"

	"github.com/gammaguard/gammaguard/validate"
)

func TestParentKindNotAllowed(t *testing.T) {
	testRule(t, parentKindNotAllowed(), []ruleCase{
		{name: "nothing is listed", spec: on(`{group: kuma.io, kind: MeshService, name: cart}`)},
		{
			name: "listed", spec: on(`{group: kuma.io, kind: MeshService, name: cart}`, service("cart"), `{name: edge}`),
			policy: &validate.Policy{AllowedParentKinds: []string{"MeshService.kuma.io"}},
		},
		{
			name: "not listed", spec: on(service("cart"), `{group: networking.istio.io, kind: ServiceEntry, name: cart}`),
			policy: &validate.Policy{AllowedParentKinds: []string{"MeshService.kuma.io", "Waypoint.acme.example"}},
			want: []string{
				`Invalid spec.parentRefs[1].kind "ServiceEntry": ServiceEntry.networking.istio.io is not an allowed parent kind; ` +
					`use Gateway, ListenerSet, Service, ServiceImport, or one of: MeshService.kuma.io, Waypoint.acme.example`,
			},
		},
	})
}
