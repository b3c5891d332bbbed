package status

import (
	"testing"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

// TestMarkAndMend follows one conflict from its beginning to its end.
func TestMarkAndMend(t *testing.T) {
	c := newCluster(t, "mend", mesh.GrantAll)
	r := start(t, &validate.Policy{})
	c.create(c.service("cart", 80, 90))
	loser := c.route(mesh.HTTPRoute, "loser", "cart:80", "cart:90")
	c.create(loser)
	winner := c.route(mesh.GRPCRoute, "winner", "cart:80")
	c.create(winner)
	c.expect(loser, "cart:80 Conflicted")
	c.merge(winner, `{"spec":{"parentRefs":[{"group":"","kind":"Service","name":"cart"}]}}`)
	c.expect(loser, "cart:80 Conflicted", "cart:90 Conflicted")
	c.merge(loser, `{"spec":{"parentRefs":[{"group":"","kind":"Service","name":"cart","port":90}]}}`)
	c.expect(loser, "cart:90 Conflicted")
	c.delete(winner)
	c.expect(loser)
	if marks, full := r.metric(t, "gammaguard_status_marks"), r.metric(t, "gammaguard_status_full"); marks != 0 || full != 0 {
		t.Errorf("gauges after all is well: %v marks, %v full", marks, full)
	}
}
