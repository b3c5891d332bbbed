package standing

import (
	"strings"
	"testing"

	"github.com/gammaguard/gammaguard/internal/kube"
	"github.com/gammaguard/gammaguard/mesh"
)

// TestOlderStates: a route that the API server's cache has in another state is read live.
func TestOlderStates(t *testing.T) {
	key := keyOf(0, 0)
	current := string(textOf(key))
	for name, stale := range map[string]string{
		"generation": strings.Replace(current, `"generation":1`, `"generation":0`, 1),
		"uid":        strings.Replace(current, `"generation":1`, `"generation":1,"uid":"9f1c2d3e-1111-2222-3333-444455556666"`, 1),
		"annotation": strings.Replace(current, `"generation":1`, `"generation":1,"annotations":{"gammaguard.dev/ignore":"backend-not-found"}`, 1),
		"unreadable": `{"kind":"HTTPRoute","spec":1}`,
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(1, 20)
			a := begin(t, c)
			c.stale, c.missing[parent(key)] = []byte(strings.Replace(stale, `"parentRefs":[`, `"parentRefs":[],"x":[`, 1)), true
			a.happens(t, kube.Change{Services: []mesh.ServiceKey{parent(key)}})
			a.expect(t, "a Service gone", "namespace-0000 HTTPRoute parent-not-found deny 1")
		})
	}
}
