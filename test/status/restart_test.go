package status

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

// TestRestart changes all sorts of things while nothing runs: the next start corrects
// what is stale, with one write a route, and leaves the rest alone.
func TestRestart(t *testing.T) {
	c := newCluster(t, "restart", mesh.GrantAll)
	other := newCluster(t, "restart-other", mesh.GrantAll)
	for _, name := range []string{"won", "moved", "gone", "kept"} {
		c.create(c.service(name, 80))
	}
	winner := c.route(mesh.GRPCRoute, "winner", "won")
	moved := c.route(mesh.HTTPRoute, "moved", "moved", "kept")
	routes := map[string]*unstructured.Unstructured{
		"loser": c.route(mesh.HTTPRoute, "loser", "won"), "moved": moved,
		"gone": c.route(mesh.HTTPRoute, "gone", "gone"), "kept": c.route(mesh.TCPRoute, "kept", "kept"),
		"granted": other.route(mesh.HTTPRoute, "granted", "elsewhere"),
	}
	if err := unstructured.SetNestedSlice(routes["kept"].Object, []any{
		map[string]any{"backendRefs": []any{map[string]any{"name": "kept", "port": int64(80)}}},
	}, "spec", "rules"); err != nil {
		t.Fatal(err)
	}
	c.create(winner)
	c.create(c.route(mesh.GRPCRoute, "mover", "moved"))
	for _, route := range routes {
		c.create(route)
	}
	first := start(t, &validate.Policy{})
	c.expect(routes["loser"], "won Conflicted")
	c.expect(routes["moved"], "moved Conflicted")
	c.expect(routes["gone"])
	c.expect(routes["kept"], "kept Conflicted")
	c.expect(routes["granted"], "elsewhere NoMatchingParent")
	first.stop()

	c.delete(winner)
	c.merge(moved, `{"spec":{"parentRefs":[{"group":"","kind":"Service","name":"kept"}]}}`)
	c.delete(c.service("gone"))
	c.merge(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "restart-other"}}, `{"metadata":{"labels":{"`+mesh.GrantLabel+`":"none"}}}`)
	kept := c.read(routes["kept"])

	second := start(t, &validate.Policy{})
	for name, marks := range map[string][]string{
		"loser": {}, "moved": {}, "gone": {"gone NoMatchingParent"}, "kept": {"kept Conflicted"},
		"granted": {"elsewhere NamespaceNotGranted"},
	} {
		c.expect(routes[name], marks...)
	}
	wait(t, settleTime, "nothing to do", func() error { return second.busy(t) })
	if diff := cmp.Diff(kept, c.read(routes["kept"])); diff != "" {
		t.Errorf("a route that was right changed (-before +after):\n%s", diff)
	}
	reads, patches := second.requests.of("restart")
	otherReads, otherPatches := second.requests.of("restart-other")
	if reads+otherReads != 4 || patches+otherPatches != 4 {
		t.Errorf("%d reads and %d patches, want 4 of each", reads+otherReads, patches+otherPatches)
	}
}
