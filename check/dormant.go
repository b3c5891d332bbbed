package check

import (
	"slices"

	"github.com/gammaguard/gammaguard/mesh"
)

// Dormant returns the routes with a dormant parentRef, by the Services that these would be
// parentRefs to.
func Dormant(routes []*mesh.Route, profile *mesh.Profile) map[mesh.ServiceKey][]*mesh.Route {
	on := map[mesh.ServiceKey][]*mesh.Route{}
	for _, route := range routes {
		dormant := route.Dormant(profile)
		for i := range route.Spec.ParentRefs {
			if !dormant.Has(i) {
				continue
			}
			if key := route.Spec.ParentRefs[i].Service(route.Metadata.Namespace); !slices.Contains(on[key], route) {
				on[key] = append(on[key], route)
			}
		}
	}
	return on
}
