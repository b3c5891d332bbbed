package status

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/status"
	"github.com/gammaguard/gammaguard/validate"
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

// TestLeaseLost cuts a leader that is alive off its lease, and off nothing else:
// it stops writing before another one leads, and its manager ends.
func TestLeaseLost(t *testing.T) {
	c := newCluster(t, "lost", mesh.GrantAll)
	c.create(c.service("cart", 80, 90))
	loser := c.route(mesh.HTTPRoute, "loser", "cart:80")
	winner := c.route(mesh.GRPCRoute, "winner", "cart:80")
	c.create(loser)
	c.create(winner)

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
	if _, _, err := assemble(mgr, status.Options{Policy: &validate.Policy{}, Registerer: prometheus.NewRegistry()}); err != nil {
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
		c.merge(winner, `{"spec":{"parentRefs":[{"group":"","kind":"Service","name":"cart","port":%d}]}}`, 80+10*(flips%2))
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
	case <-time.After(leaseDuration):
		t.Error("the manager goes on without its lease")
	}
	c.merge(winner, `{"spec":{"parentRefs":[{"group":"","kind":"Service","name":"cart","port":80}]}}`)
	c.expect(loser, "cart:80 Conflicted")
	switch last := time.Unix(0, lastWrite.Load()); {
	case last.After(took):
		t.Errorf("the old leader wrote %s after another one led", last.Sub(took))
	default:
		t.Logf("%d flips; the old leader's last write was %s before another one led", flips, took.Sub(last).Round(time.Millisecond))
	}
}
