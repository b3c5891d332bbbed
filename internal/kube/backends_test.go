package kube

import (
	"slices"
	"testing"

	"github.com/gammaguard/gammaguard/mesh"
)

// TestRoutesTo: the index of backends follows routes that come, change, and go.
func TestRoutesTo(t *testing.T) {
	key := func(name string) mesh.ServiceKey {
		return mesh.ServiceKey{Kind: mesh.ServiceKind, Namespace: "shop", Name: name}
	}
	route := func(name string, backends ...mesh.ServiceKey) *Route {
		return &Route{AttachedRoute: mesh.AttachedRoute{Kind: mesh.HTTPRoute, Namespace: "shop", Name: name, Backends: backends}}
	}
	c := &Cache{backends: backends{services: map[mesh.ServiceKey][]*mesh.AttachedRoute{}}}
	a, b, d := route("a", key("v1"), key("v2")), route("b", key("v1")), route("d", key("v1"))
	changed := route("a", key("v2"), key("v3"))
	for _, step := range []struct {
		before, now *Route
		want        map[string][]string
	}{
		{nil, a, map[string][]string{"v1": {"a"}, "v2": {"a"}}},
		{nil, b, map[string][]string{"v1": {"a", "b"}, "v2": {"a"}}},
		{nil, d, map[string][]string{"v1": {"a", "b", "d"}, "v2": {"a"}}},
		{a, changed, map[string][]string{"v1": {"b", "d"}, "v2": {"a"}, "v3": {"a"}}},
		{b, nil, map[string][]string{"v1": {"d"}, "v2": {"a"}, "v3": {"a"}}},
		{changed, nil, map[string][]string{"v1": {"d"}}},
		{d, nil, nil},
	} {
		c.backends.replace(step.before, step.now)
		if got := len(c.backends.services); got != len(step.want) {
			t.Errorf("%d Services, want %v", got, step.want)
		}
		for service, want := range step.want {
			var got []string
			for _, route := range c.RoutesTo(key(service)) {
				got = append(got, route.Name)
			}
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Errorf("%s: %v, want %v", service, got, want)
			}
		}
	}
}
