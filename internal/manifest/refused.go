package manifest

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/gammaguard/gammaguard/mesh"
)

// RefusedGrant returns the field for which the API server does not take the object, if it is a ReferenceGrant, which then permits nothing, and
// what is wrong with it.
func (o *Object) RefusedGrant() (field, wrong string) {
	if o.Key.Group != mesh.GatewayGroup || o.Key.Kind != "ReferenceGrant" {
		return "", ""
	}
	if o.Version != "v1" && o.Version != "v1beta1" {
		return "apiVersion", fmt.Sprintf("the API server does not serve ReferenceGrant %s, so it permits nothing; write apiVersion: %s/v1beta1", o.Version, mesh.GatewayGroup)
	}
	var grant struct {
		Spec map[string][]map[string]jsontext.Value `json:"spec"`
	}
	if mesh.Decode(o.JSON, &grant) != nil { // which is said elsewhere
		return "", ""
	}
	for _, of := range []struct {
		list   string
		fields []string
	}{{"from", []string{"group", "kind", "namespace"}}, {"to", []string{"group", "kind"}}} {
		for i, entry := range grant.Spec[of.list] {
			for _, required := range of.fields {
				if value := entry[required]; value == nil || value.Kind() == 'n' {
					return fmt.Sprintf("spec.%s[%d]", of.list, i), fmt.Sprintf("%s is missing in spec.%s[%d], so the API server refuses the ReferenceGrant, and it permits nothing", required, of.list, i)
				}
			}
		}
	}
	return "", ""
}
