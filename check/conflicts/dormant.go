package conflicts

import (
	"slices"

	"github.com/gammaguard/gammaguard/check/report"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

// dormantOn returns the routes that are dormant on the Service, by the ports that they would
// be bound to.
func dormantOn(policy *validate.Policy, all []*mesh.Route, service *mesh.Service) map[mesh.PortScope][]Route {
	found := map[mesh.PortScope][]Route{}
	for _, route := range all {
		namespace := route.Metadata.Namespace
		set := route.Dormant(policy.Mesh)
		for i := range route.Spec.ParentRefs {
			ref := &route.Spec.ParentRefs[i]
			if !set.Has(i) || ref.Service(namespace) != service.Key {
				continue
			}
			asleep := Route{
				RouteName: report.RouteName{Kind: route.Kind, Namespace: namespace, Name: route.Metadata.Name},
				State:     Dormant, Reason: "no mesh acts on it until it is changed",
			}
			ports, _ := service.Attach(route.Kind, ref)
			for _, port := range ports {
				at := mesh.PortScope{Port: port.Number, Protocol: port.Protocol, Scope: mesh.ScopeOf(namespace, service.Key)}
				if !slices.ContainsFunc(found[at], func(r Route) bool { return r.RouteName == asleep.RouteName }) {
					found[at] = append(found[at], asleep)
				}
			}
		}
	}
	return found
}
