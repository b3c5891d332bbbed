package config

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

// Policy returns what the engine needs of a configuration that Load returned or
// that is Default.
func (c *GuardConfiguration) Policy() *validate.Policy {
	policy := &validate.Policy{
		Mode:               c.Mode,
		Mesh:               mesh.FindProfile(c.Mesh),
		RouteKinds:         c.RouteKinds,
		AllowedParentKinds: c.Parents.AllowedKinds,
		ParentRouteKinds:   c.Parents.RouteKinds,
		Exemptions:         validate.Exemptions(c.Exemptions),
		Grants: mesh.GrantPolicy{
			Default: c.Grants.Default, ConsumerRoutes: c.Grants.ConsumerRoutes,
			ParentKinds: c.Grants.ParentKinds, Contact: c.Grants.Contact,
		},
	}
	for _, s := range c.Grants.Selectors {
		selector, err := metav1.LabelSelectorAsSelector(s.NamespaceSelector)
		if err != nil {
			selector = labels.Nothing() // Load lets none through; a grant must not come of a mistake
		}
		policy.Grants.Selectors = append(policy.Grants.Selectors, mesh.GrantSelector{
			Namespaces: selector, Roles: s.Roles, RouteKinds: s.RouteKinds,
		})
	}
	policy.Actions = map[string]validate.Action{}
	if policy.Mesh != nil && policy.Mesh.ReferenceGrants.Value {
		policy.Actions[validate.RuleBackendNotPermitted] = validate.Warn
	}
	for id, action := range c.Rules {
		policy.Actions[id] = validate.Action(action)
	}
	return policy
}

// DisabledMutations returns the IDs of the mutations that are off.
func (c *GuardConfiguration) DisabledMutations() map[string]bool {
	disabled := map[string]bool{}
	for id, setting := range c.Mutations {
		if setting == Off {
			disabled[id] = true
		}
	}
	return disabled
}
