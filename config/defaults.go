package config

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gammaguard/gammaguard/mesh"
)

// Default returns the configuration of a file with nothing but a header.
func Default() *GuardConfiguration {
	c := &GuardConfiguration{TypeMeta: metav1.TypeMeta{APIVersion: APIVersion, Kind: Kind}}
	c.setDefaults()
	return c
}

func (c *GuardConfiguration) setDefaults() {
	c.Mode = cmp.Or(c.Mode, mesh.Enforce)
	if c.RouteKinds == nil {
		c.RouteKinds = mesh.RouteKinds()
	}
	c.Grants.Default = cmp.Or(c.Grants.Default, mesh.GrantNone)
	if c.Grants.ParentKinds == nil {
		c.Grants.ParentKinds = []string{"ServiceEntry.networking.istio.io", "MeshService.kuma.io", "EgressNetwork.policy.linkerd.io"}
	}
	c.Status.ControllerName = cmp.Or(c.Status.ControllerName, "gammaguard.dev/guard")
	c.Status.ConflictReason = cmp.Or(c.Status.ConflictReason, "Conflicted")
}
