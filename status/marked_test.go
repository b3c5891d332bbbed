package status

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gammaguard/gammaguard/internal/kube"
	"github.com/gammaguard/gammaguard/mesh"
)

// markedRoute returns a route of a generation with entries about Services of its
// namespace, observed at the other generation.
func markedRoute(name string, generation, observed int64, services ...string) *kube.Route {
	core := ""
	route := &kube.Route{AttachedRoute: mesh.AttachedRoute{Kind: mesh.HTTPRoute, Namespace: "shop", Name: name, Generation: generation}}
	for _, service := range services {
		route.Entries = append(route.Entries, kube.Entry{
			ParentRef:  mesh.ParentRef{Group: &core, Kind: mesh.ServiceKind, Name: service},
			Conditions: []metav1.Condition{{ObservedGeneration: observed}},
		})
	}
	return route
}

func serviceNames(keys []mesh.ServiceKey) string {
	var names []string
	for _, key := range keys {
		names = append(names, key.Name)
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), " ")
}

// TestMarked follows the index through the life of a route.
func TestMarked(t *testing.T) {
	var m markedRoutes
	key := kube.RouteKey{Kind: mesh.HTTPRoute, Namespace: "shop", Name: "r"}
	steps := []struct {
		what       string
		route      *kube.Route
		about      string
		statusOnly bool
		services   string
	}{
		{"created", markedRoute("r", 1, 0), "", false, ""},
		{"marked", markedRoute("r", 1, 1, "a", "b"), "a b", true, "a b"},
		{"edited", markedRoute("r", 2, 1, "a", "b"), "a b", false, "a b"},
		{"marked anew", markedRoute("r", 2, 2, "b"), "a b", true, "b"},
		{"edited again", markedRoute("r", 3, 2, "b"), "b", false, "b"},
		{"cleared", markedRoute("r", 3, 3), "b", true, ""},
		{"found by a later process, still to be judged", markedRoute("r", 4, 3, "c"), "c", false, "c"},
		{"gone", nil, "c", false, ""},
	}
	for _, step := range steps {
		about, statusOnly := m.update(key, step.route)
		got := []any{serviceNames(about), statusOnly, serviceNames(m.services())}
		if diff := cmp.Diff([]any{step.about, step.statusOnly, step.services}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.what, diff)
		}
	}
	if len(m.byRoute) != 0 || len(m.byService) != 0 {
		t.Errorf("something is left of a route that is gone: %v, %v", m.byRoute, m.byService)
	}
}

func TestMarkedOn(t *testing.T) {
	var m markedRoutes
	for _, name := range []string{"x", "y"} {
		m.update(kube.RouteKey{Kind: mesh.HTTPRoute, Namespace: "shop", Name: name}, markedRoute(name, 1, 1, "a", name))
	}
	got := map[string]int{}
	for _, service := range []string{"a", "x", "z"} {
		got[service] = len(m.on(mesh.ServiceKey{Kind: mesh.ServiceKind, Namespace: "shop", Name: service}))
	}
	if diff := cmp.Diff(map[string]int{"a": 2, "x": 1, "z": 0}, got); diff != "" {
		t.Errorf("routes by Service (-want +got):\n%s", diff)
	}
}
