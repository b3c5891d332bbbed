package config

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gammaguard/gammaguard/mesh"
)

// Override sets fields of a configuration before its defaults are filled in.
type Override func(*GuardConfiguration)

// WithMesh names the mesh, unless the name is empty.
func WithMesh(name mesh.ProfileName) Override {
	return func(c *GuardConfiguration) { c.Mesh = cmp.Or(name, c.Mesh) }
}

// Default returns the configuration of a file with nothing but a header.
func Default(overrides ...Override) *GuardConfiguration {
	c := &GuardConfiguration{TypeMeta: metav1.TypeMeta{APIVersion: APIVersion, Kind: Kind}}
	c.setDefaults(overrides)
	return c
}

func (c *GuardConfiguration) setDefaults(overrides []Override) {
	for _, override := range overrides {
		override(c)
	}
	c.Mode = cmp.Or(c.Mode, mesh.Enforce)
	c.Reports = cmp.Or(c.Reports, NoReports)
	if profile := mesh.FindProfile(c.Mesh); profile != nil {
		if c.RouteKinds == nil {
			c.RouteKinds = profile.RouteKinds.Value
		}
		c.Status.ConflictReason = cmp.Or(c.Status.ConflictReason, profile.ConflictReason.Value)
	}
	if c.RouteKinds == nil {
		c.RouteKinds = mesh.RouteKinds()
	}
	c.Grants.Default = cmp.Or(c.Grants.Default, mesh.GrantNone)
	c.Grants.ConsumerRoutes = cmp.Or(c.Grants.ConsumerRoutes, mesh.ConsumersAllowed)
	if c.Grants.ParentKinds == nil {
		c.Grants.ParentKinds = mesh.ParentKindsOfMeshes()
	}
	c.Status.ControllerName = cmp.Or(c.Status.ControllerName, "gammaguard.dev/guard")
	c.Status.ConflictReason = cmp.Or(c.Status.ConflictReason, "Conflicted")
}
