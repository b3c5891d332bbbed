package validate_test

import (
	"testing"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

// TestUnmatched: the policy says what the mesh does with requests that no rule matches, as far as that is known.
func TestUnmatched(t *testing.T) {
	for want, profile := range map[string]*mesh.Profile{
		"are rejected": nil, "may be rejected (not known of Linkerd)": mesh.FindProfile(mesh.Linkerd), "reach the Service itself": mesh.FindProfile("kuma@2.14.9"),
	} {
		if got, rejected := (&validate.Policy{Mesh: profile}).Unmatched(mesh.HTTPRoute); got != want || rejected == (want == "reach the Service itself") {
			t.Errorf("%s, %t; want %s", got, rejected, want)
		}
	}
}
