package status

import (
	"fmt"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/leaderelection"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

// takeover is the longest that client-go takes until another replica leads: it sees
// the last renewal, and that the Lease has expired, up to 2.2 retry periods late.
var takeover = election.LeaseDuration + time.Duration(2*(1+leaderelection.JitterFactor)*float64(election.RetryPeriod))

// TestLeaderKilled kills the process that leads in the midst of 500 flips of a
// conflict. Another one takes over in time, and the status is right.
func TestLeaderKilled(t *testing.T) {
	c := newCluster(t, "lease", mesh.GrantAll)
	loser, winner := c.contest()
	first, leader := c.startLeader()
	c.expect(loser, "cart:80 Conflicted")
	startProcess(t) // the standby

	var killed time.Time
	for flip := range 500 {
		c.flip(winner, flip)
		if flip == 250 {
			if now, err := c.leader(); err != nil || now != leader {
				t.Fatalf("before the kill, %q leads: %v", now, err)
			}
			killed = time.Now()
			if err := first.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	c.flip(winner, 0)
	c.merge(loser, `{"spec":{"parentRefs":[{"group":"","kind":"Service","name":"cart"}]}}`)
	t.Logf("the flips ended %s after the kill", time.Since(killed).Round(time.Millisecond))

	limit := max(time.Until(killed.Add(takeover+time.Second)), time.Second) // should the flips themselves take longer
	wait(t, limit, "another leader", func() error {
		if now, err := c.leader(); err != nil || now == leader {
			return fmt.Errorf("%q leads: %w", now, err)
		}
		return nil
	})
	t.Logf("another one led %s after the kill", time.Since(killed).Round(time.Millisecond))
	c.expect(loser, "cart PartiallyConflicted")
}

// TestLeaderSuspended stops the process that leads, and lets it go on when another
// one leads: it exits, and the status is right.
func TestLeaderSuspended(t *testing.T) {
	c := newCluster(t, "suspended", mesh.GrantAll)
	loser, winner := c.contest()
	c.setParents(loser, []any{foreignEntry(1)})
	first, leader := c.startLeader()
	c.expect(loser, "cart:80 Conflicted")
	startProcess(t) // the standby

	signal := func(s os.Signal) {
		if err := first.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
	}
	flip := 1
	signal(syscall.SIGSTOP)
	for now := leader; now == leader; flip++ {
		c.flip(winner, flip)
		if next, err := c.leader(); err == nil { // between two leaders, nobody holds the lease
			now = next
		}
	}
	signal(syscall.SIGCONT)
	for running, deadline := true, time.Now().Add(settleTime); running; flip++ {
		c.flip(winner, flip)
		select {
		case <-first.ended:
			running = false
		default:
			if time.Now().After(deadline) {
				t.Fatal("the old leader goes on")
			}
		}
	}
	c.flip(winner, 0)
	c.expect(loser, "cart:80 Conflicted")
	if diff := cmp.Diff(normal(t, foreignEntry(1)), foreignOf(c.read(loser))); diff != "" {
		t.Errorf("the other's entry (-want +got):\n%s", diff)
	}
}

// TestLeaderStops stops the process that leads by SIGTERM: another one need not wait
// until the Lease has expired. An Event shows who leads.
func TestLeaderStops(t *testing.T) {
	c := newCluster(t, "released", mesh.GrantAll)
	first, leader := c.startLeader()
	startProcess(t) // the standby
	if err := first.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	next := leader
	wait(t, election.LeaseDuration/2, "another leader", func() (err error) {
		if next, err = c.leader(); err == nil && next == leader {
			err = fmt.Errorf("still %s", leader)
		}
		return err
	})
	wait(t, settleTime, "an Event", func() error {
		events := &corev1.EventList{}
		if err := c.List(c.ctx, events, client.InNamespace(election.Namespace)); err != nil {
			return err
		}
		want := next + " became leader"
		if !slices.ContainsFunc(events.Items, func(e corev1.Event) bool { return e.Message == want }) {
			return fmt.Errorf("none of %d says %q", len(events.Items), want)
		}
		return nil
	})
}

// TestStopping: a leader that shuts down writes no status while it goes on serving. What is removed from the
// status of a route then stays away.
func TestStopping(t *testing.T) {
	c := newCluster(t, "stopping", mesh.GrantAll)
	r := start(t, &validate.Policy{})
	loser, _ := c.contest()
	c.expect(loser, "cart:80 Conflicted")
	c.settleOn(r, loser)
	r.stopping.Store(true)
	looks := r.looks(t)
	c.setParents(loser, []any{})
	r.waitForLook(t, looks)
	c.expect(loser)
	if _, patches := r.requests.of("stopping"); patches != 1 {
		t.Errorf("%d patches, want the first one alone", patches)
	}
}

// contest creates a route that loses a port of a Service to another.
func (c *cluster) contest() (loser, winner *unstructured.Unstructured) {
	c.t.Helper()
	c.create(c.service("cart", 80, 90))
	loser = c.route(mesh.HTTPRoute, "loser", "cart:80")
	winner = c.route(mesh.GRPCRoute, "winner", "cart:80")
	c.create(loser)
	c.create(winner)
	return loser, winner
}

// startLeader starts a process, and waits until it leads.
func (c *cluster) startLeader() (p *process, identity string) {
	c.t.Helper()
	before, _ := c.leader() // that of another test, if any
	p = startProcess(c.t)
	wait(c.t, 30*time.Second, "the first leader", func() (err error) {
		if identity, err = c.leader(); err == nil && identity == before {
			err = fmt.Errorf("still %s", before)
		}
		return err
	})
	return p, identity
}

// flip has the route take port 80 of the Service, or port 90 if n is odd.
func (c *cluster) flip(route *unstructured.Unstructured, n int) {
	c.t.Helper()
	c.merge(route, `{"spec":{"parentRefs":[{"group":"","kind":"Service","name":"cart","port":%d}]}}`, 80+10*(n%2))
}
