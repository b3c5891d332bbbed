package traffic

import (
	"testing"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

// TestDiffOfHostnames: where the mesh matches hostnames, each announced change of random
// HTTPRoutes is one, and none is missing of the hosts that routes name.
func TestDiffOfHostnames(t *testing.T) {
	w := newWorld()
	w.read(t, shop)
	routes := func(c *choices) Routes {
		out := apiRoutes{HTTP: []*gatewayv1.HTTPRoute{c.httpRoute(0), c.httpRoute(1)}}
		for _, route := range out.HTTP {
			route.Namespace = "shop"
			for range c.below(3) {
				route.Spec.Hostnames = append(route.Spec.Hostnames, pick(c, gatewayv1.Hostname("a.example"), "*.example", "b.a.example", "*.a.example", "a.other"))
			}
		}
		return out.stored(t)
	}
	fate := func(table *Table, r Request) string {
		trace, err := table.Trace(r)
		if err != nil {
			t.Fatal(err)
		}
		return trace.Outcome.key()
	}
	linkerd := by(t, validate.Policy{Mesh: mesh.FindProfile(mesh.Linkerd)})
	changes := 0
	for seed := range uint64(400) {
		c := randomChoices(seed, 200)
		before := tableOf(w, routes(c), linkerd)
		after := tableOf(w, routes(c), linkerd)
		difference, err := Diff(before, after)
		if err != nil {
			t.Fatal(err)
		}
		after = after.since(before)
		announced := map[int32]bool{}
		for _, port := range difference.Ports {
			for _, change := range port.Changes {
				changes++
				announced[port.Port] = true
				if was, is := fate(before, change.Witness), fate(after, change.Witness); was != change.Before.key() || is != change.After.key() || was == is {
					t.Fatalf("seed %d: witness %s of %+v\n%s\n%s\n%s", seed, &change.Witness, &change.Class, was, is, difference)
				}
			}
		}
		for _, host := range []string{"a.example", "a.example:80", "b.example", "b.a.example", "c.b.a.example", "a.other", "b.other", "A.Example"} {
			r := ask(t, "/a")
			r.Host = host
			if was, is := fate(before, r), fate(after, r); was != is && !announced[r.Port] {
				t.Fatalf("seed %d: host %s changes from %s to %s\n%s", seed, host, was, is, difference)
			}
		}
	}
	if changes < 400 {
		t.Errorf("%d changes in 400 differences", changes)
	}
}
