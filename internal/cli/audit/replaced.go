package audit

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

// Replaced is a parentRef of a producer route that does not apply to the clients of a namespace, since
// consumer routes of that namespace replace it (GEP-1294, Multiple routes for a Service).
type Replaced struct {
	Field string `json:"field"`
	// Service is the parent: "Service shop/cart".
	Service string  `json:"service"`
	Ports   []int32 `json:"ports"`
	// In is the namespace, and By the oldest of its routes there: "HTTPRoute faces/cart".
	In string `json:"in"`
	By string `json:"by"`
}

// replacedRoutes returns what is replaced of each producer route, by its name: "HTTPRoute shop/cart".
func (a *auditor) replacedRoutes(byNamespace map[string][]*mesh.Route) (map[string][]Replaced, error) {
	profile := a.Engine.Policy().Mesh
	seen := map[mesh.ServiceKey]bool{}
	found := map[string][]Replaced{}
	for _, routes := range byNamespace {
		for _, route := range routes {
			for i := range route.Spec.ParentRefs {
				ref := &route.Spec.ParentRefs[i]
				key := ref.Service(route.Metadata.Namespace)
				if ref.Class(profile) != mesh.MeshParent || seen[key] {
					continue
				}
				seen[key] = true
				bindings, err := a.Engine.Table(a.world, key).Bindings()
				if err != nil {
					return nil, err
				}
				slices.SortStableFunc(bindings, validate.Binding.Compare)
				for i := range bindings {
					if b := &bindings[i]; b.State == validate.Replaced {
						name := b.Route.String()
						found[name] = addReplaced(found[name], b, key)
					}
				}
			}
		}
	}
	for _, replaced := range found {
		slices.SortFunc(replaced, func(a, b Replaced) int {
			return cmp.Or(strings.Compare(a.Field, b.Field), strings.Compare(a.In, b.In), strings.Compare(a.By, b.By))
		})
	}
	return found, nil
}

// addReplaced adds the port of the binding to those with the same parentRef, namespace and route.
func addReplaced(replaced []Replaced, b *validate.Binding, key mesh.ServiceKey) []Replaced {
	r := Replaced{Field: mesh.ParentPath(b.Ref, ""), Service: key.String(), Ports: []int32{b.At.Port}, In: b.At.Scope.ConsumerNamespace, By: b.By.String()}
	for i := range slices.Backward(replaced) {
		if other := &replaced[i]; other.Field == r.Field && other.In == r.In && other.By == r.By {
			other.Ports = append(other.Ports, b.At.Port)
			return replaced
		}
	}
	return append(replaced, r)
}
