package status

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/status"
	"github.com/gammaguard/gammaguard/validate"
)

// TestLeaderKilled kills the process that leads in the midst of 500 flips of a
// conflict. Within one lease period the status is right, and somebody else leads.
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

	limit := max(time.Until(killed.Add(election.LeaseDuration)), time.Second) // should the flips themselves take longer
	c.expectWithin(limit, loser, "cart PartiallyConflicted")
	t.Logf("right %s after the kill", time.Since(killed).Round(time.Millisecond))
	if now, err := c.leader(); err != nil || now == leader {
		t.Errorf("then, %q leads: %v", now, err)
	}
}

// TestLeaderSuspended stops the process that leads, and lets it go on when another
// one leads: it changes nothing any more, and ends.
func TestLeaderSuspended(t *testing.T) {
	c := newCluster(t, "suspended", mesh.GrantAll)
	loser, winner := c.contest()
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
		var err error
		if now, err = c.leader(); err != nil {
			t.Fatal(err)
		}
	}
	before := strings.Count(first.printed.String(), http.MethodPatch)
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
	if after := strings.Count(first.printed.String(), http.MethodPatch); before == 0 || after != before {
		t.Errorf("the old leader changed a status %d times, and %d times when another one led", before, after-before)
	}
	c.flip(winner, 0)
	c.expect(loser, "cart:80 Conflicted")
}

// TestLeaderEnds ends the process that leads in order: another one need not wait
// until the lease has run out. An Event tells who leads.
func TestLeaderEnds(t *testing.T) {
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

// TestLeaseLost cuts a leader that is alive off its lease, and off nothing else:
// it stops writing before another one leads, and its manager ends.
func TestLeaseLost(t *testing.T) {
	c := newCluster(t, "lost", mesh.GrantAll)
	loser, winner := c.contest()

	var cut atomic.Bool
	var lastWrite atomic.Int64
	config := rest.CopyConfig(plane.Config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			switch {
			case cut.Load() && strings.Contains(req.URL.Path, "/leases/"):
				return nil, errors.New("cut off")
			case req.Method == http.MethodPatch && strings.Contains(req.URL.Path, "routes/"):
				defer func() { lastWrite.Store(time.Now().UnixNano()) }()
			}
			return next.RoundTrip(req)
		})
	})
	mgr, err := newManager(config, true)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := assemble(mgr, status.Options{Engine: engineOf(&validate.Policy{}), Registerer: prometheus.NewRegistry()}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	<-mgr.Elected()
	c.expect(loser, "cart:80 Conflicted")
	before, err := c.leader()
	if err != nil {
		t.Fatal(err)
	}
	startProcess(t) // the standby

	cut.Store(true)
	flips := 0
	for next := before; next == before; flips++ {
		c.flip(winner, flips)
		if next, err = c.leader(); err != nil {
			t.Fatal(err)
		}
	}
	took := time.Now()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("the manager ended without an error, though it lost its lease")
		}
	case <-time.After(election.LeaseDuration):
		t.Error("the manager goes on without its lease")
	}
	c.flip(winner, 0)
	c.expect(loser, "cart:80 Conflicted")
	switch last := time.Unix(0, lastWrite.Load()); {
	case last.After(took):
		t.Errorf("the old leader wrote %s after another one led", last.Sub(took))
	default:
		t.Logf("%d flips; the old leader's last write was %s before another one led", flips, took.Sub(last).Round(time.Millisecond))
	}
}
