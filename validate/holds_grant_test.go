package validate

import (
	"testing"

	"github.com/gammaguard/gammaguard/mesh"
)

// TestHoldsGrant: where a missing grant denies nothing, its routes act in the mesh.
func TestHoldsGrant(t *testing.T) {
	shop := &mesh.Namespace{Name: "shop"}
	for name, test := range map[string]struct {
		policy Policy
		want   bool
	}{
		"no grant":         {Policy{}, false},
		"granted":          {Policy{Grants: mesh.GrantPolicy{Default: mesh.GrantProducer}}, true},
		"not enforced":     {Policy{Mode: mesh.Audit}, true},
		"only warned of":   {Policy{Actions: map[string]Action{"grant-missing": Warn}}, true},
		"exempt namespace": {Policy{Exemptions: Exemptions{Namespaces: []string{"shop"}}}, true},
		"another exempt":   {Policy{Exemptions: Exemptions{Namespaces: []string{"store"}}}, false},
	} {
		if got := test.policy.HoldsGrant(shop, mesh.Producer, mesh.HTTPRoute); got != test.want {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
}
