package check

import (
	"encoding/json"
	"reflect"
	"slices"

	"github.com/gammaguard/gammaguard/mesh"
)

// sameSpec says whether two objects have the same spec, apart from fields that the
// API server or a mutation fills in.
func sameSpec(a, b []byte) bool {
	var x, y struct {
		Spec any `json:"spec"`
	}
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil &&
		reflect.DeepEqual(withoutDefaults("spec", x.Spec), withoutDefaults("spec", y.Spec))
}

// defaults are the values that the Gateway API's definitions give to fields that
// are left out, by the name of the field that holds them and their own. A mesh
// parent's group is empty in the end, whether it was left out or not.
var defaults = map[string]map[string][]any{
	"parentRefs":  {"group": {mesh.GatewayGroup, ""}, "kind": {"Gateway"}},
	"backendRefs": {"group": {""}, "kind": {mesh.ServiceKind}, "weight": {float64(1)}},
	"backendRef":  {"group": {""}, "kind": {mesh.ServiceKind}},
	"path":        {"type": {"PathPrefix"}, "value": {"/"}},
	"headers":     {"type": {"Exact"}},
	"queryParams": {"type": {"Exact"}},
	"method":      {"type": {"Exact"}},
}

// withoutDefaults returns the value of the field without inner fields that have
// their default, and without what is empty then; nil for what is empty itself.
func withoutDefaults(name string, value any) any {
	switch value := value.(type) {
	case map[string]any:
		kept := map[string]any{}
		for inner, field := range value {
			if field = withoutDefaults(inner, field); field != nil && !isDefault(defaults[name][inner], field) {
				kept[inner] = field
			}
		}
		if len(kept) == 0 {
			return nil
		}
		return kept
	case []any:
		kept := make([]any, len(value))
		for i := range value {
			kept[i] = withoutDefaults(name, value[i])
		}
		// A rule's only match that matches everything, and a route's only rule without
		// more than that, are what the API server adds.
		if len(kept) == 0 || (name == "matches" || name == "rules") && len(kept) == 1 && kept[0] == nil {
			return nil
		}
		return kept
	}
	return value
}

// withSchemaDefaults returns the route with the defaults of the API's definitions
// that bear on a judgement: the group of a parentRef, and an HTTPRoute's rules and
// matches.
func withSchemaDefaults(given *mesh.Route) *mesh.Route {
	route := *given
	route.Spec.ParentRefs = slices.Clone(given.Spec.ParentRefs)
	for i := range route.Spec.ParentRefs {
		if ref := &route.Spec.ParentRefs[i]; ref.Group == nil {
			group := mesh.GatewayGroup
			ref.Group = &group
		}
	}
	if route.Kind != mesh.HTTPRoute {
		return &route
	}
	if route.Spec.Rules = slices.Clone(given.Spec.Rules); route.Spec.Rules == nil {
		route.Spec.Rules = []mesh.RouteRule{{}}
	}
	for i := range route.Spec.Rules {
		if rule := &route.Spec.Rules[i]; rule.Matches == nil {
			rule.Matches = []mesh.RouteMatch{{Path: &mesh.ValueMatch{Type: "PathPrefix", Value: "/"}}}
		}
	}
	return &route
}

func isDefault(known []any, value any) bool {
	for _, d := range known {
		if reflect.DeepEqual(d, value) {
			return true
		}
	}
	return false
}
