package status

import (
	"fmt"
	"testing"
	"time"

	"github.com/gammaguard/gammaguard/mesh"
)

// TestLeaderKilled kills the process that leads in the midst of 500 flips of a
// conflict. Within one lease period, and the time that a standby takes to notice,
// the status is right, and somebody else leads.
func TestLeaderKilled(t *testing.T) {
	c := newCluster(t, "lease", mesh.GrantAll)
	c.create(c.service("cart", 80, 90))
	loser := c.route(mesh.HTTPRoute, "loser", "cart:80")
	winner := c.route(mesh.GRPCRoute, "winner", "cart:80")
	c.create(loser)
	c.create(winner)

	first := startProcess(t)
	var leader string
	wait(t, 30*time.Second, "the first leader", func() (err error) {
		leader, err = c.leader()
		return err
	})
	c.expect(loser, "cart:80 Conflicted")
	startProcess(t) // the standby

	var killed time.Time
	for flip := range 500 {
		port := 80 + 10*(flip%2)
		c.merge(winner, `{"spec":{"parentRefs":[{"group":"","kind":"Service","name":"cart","port":%d}]}}`, port)
		if flip == 250 {
			if err := first.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			killed = time.Now()
		}
	}
	c.merge(winner, `{"spec":{"parentRefs":[{"group":"","kind":"Service","name":"cart","port":80}]}}`)
	c.merge(loser, `{"spec":{"parentRefs":[{"group":"","kind":"Service","name":"cart"}]}}`)

	limit := leaseDuration + 3*retryPeriod + time.Second - time.Since(killed)
	c.expectWithin(max(limit, time.Second), loser, "cart PartiallyConflicted")
	t.Logf("right %s after the kill", time.Since(killed).Round(time.Millisecond))
	wait(t, 5*time.Second, "another leader", func() error {
		now, err := c.leader()
		if err == nil && now == leader {
			err = fmt.Errorf("still %s", leader)
		}
		return err
	})
}
