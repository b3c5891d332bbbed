package mutate

import (
	"slices"

	"github.com/gammaguard/gammaguard/mesh"
)

// Mutated returns the route with the changes made. The route itself is not
// changed; what no change could touch is shared with it.
func Mutated(route *mesh.Route, changes []Change) *mesh.Route {
	if len(changes) == 0 {
		return route
	}
	after := make(map[string]any, len(changes))
	for i := range changes {
		after[changes[i].Path] = changes[i].After
	}
	mutated := *route
	mutated.Spec.ParentRefs = slices.Clone(route.Spec.ParentRefs)
	mutated.Spec.Rules = cloneRules(route.Spec.Rules)
	for i := range mutated.Spec.ParentRefs {
		ref := &mutated.Spec.ParentRefs[i]
		if group, ok := after[mesh.ParentPath(i, "group")].(string); ok {
			ref.Group = &group
		}
		if kind, ok := after[mesh.ParentPath(i, "kind")].(string); ok {
			ref.Kind = kind
		}
		if port, ok := after[mesh.ParentPath(i, "port")].(int32); ok {
			ref.Port = port
		}
		if name, ok := after[mesh.ParentPath(i, "sectionName")].(string); ok {
			ref.SectionName = name
		}
	}
	for backend := range mutated.Backends() {
		path := backend.Path()
		if group, ok := after[path+".group"].(string); ok {
			backend.Ref.Group = group
		}
		if port, ok := after[path+".port"].(int32); ok {
			backend.Ref.Port = port
		}
	}
	return &mutated
}

// cloneRules copies the rules down to every backendRef.
func cloneRules(rules []mesh.RouteRule) []mesh.RouteRule {
	rules = slices.Clone(rules)
	for i := range rules {
		rule := &rules[i]
		rule.Filters = cloneFilters(rule.Filters)
		rule.BackendRefs = slices.Clone(rule.BackendRefs)
		for j := range rule.BackendRefs {
			rule.BackendRefs[j].Filters = cloneFilters(rule.BackendRefs[j].Filters)
		}
	}
	return rules
}

func cloneFilters(filters []mesh.Filter) []mesh.Filter {
	filters = slices.Clone(filters)
	for i := range filters {
		if mirror := filters[i].RequestMirror; mirror != nil {
			copied := *mirror
			filters[i].RequestMirror = &copied
		}
	}
	return filters
}
