package status

import (
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/status"
	"github.com/gammaguard/gammaguard/status/desired"
	"github.com/gammaguard/gammaguard/test/background"
	"github.com/gammaguard/gammaguard/validate"
)

// quietTime is how long nobody writes once there is peace.
const quietTime = 2 * time.Second

// TestOtherWriters has a controller of each manner accept 100 routes that gammaguard marks
// (5, where it writes each of them 31 times): one that is there before, and one that comes
// late. None of its entries is touched, each route is written at most three times, and then all is
// quiet, and right.
func TestOtherWriters(t *testing.T) {
	log := &patchLog{}
	start(t, &validate.Policy{}, log.wrap)
	t.Run("gone", func(t *testing.T) {
		t.Parallel()
		testGoneWriter(t, log)
	})
	for _, how := range manners {
		for _, order := range []string{"first", "late"} {
			t.Run(how.name+"-"+order, func(t *testing.T) {
				t.Parallel()
				routes := 100
				if how.name == "one-more-each-time" {
					routes = 5
				}
				testOtherWriter(t, log, order+"-"+how.name, routes, order == "late", func(c *cluster) { c.startRival(t, mesh.HTTPRoute, how) })
			})
		}
	}
}

// TestSecondGuard has a second gammaguard under another controllerName.
func TestSecondGuard(t *testing.T) {
	for _, order := range []string{"first", "late"} {
		t.Run(order, func(t *testing.T) {
			log := &patchLog{}
			start(t, &validate.Policy{}, log.wrap)
			testOtherWriter(t, log, order+"-second-guard", 100, order == "late", func(*cluster) {
				mgr, err := newManager(rest.CopyConfig(plane.Config), false)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := assemble(mgr, status.Options{
					Engine: engineOf(&validate.Policy{}), Registerer: prometheus.NewRegistry(),
					Settings: desired.Settings{ControllerName: "gammaguard.dev/second"},
				}); err != nil {
					t.Fatal(err)
				}
				background.Start(t, mgr.Start)
			})
		})
	}
}

func testOtherWriter(t *testing.T, log *patchLog, namespace string, routes int, late bool, startOther func(*cluster)) {
	const services = 10
	c := newCluster(t, namespace, mesh.GrantAll)
	defer func() { // the other tests' gammaguards look at all namespaces
		if err := c.DeleteAllOf(c.ctx, c.route(mesh.HTTPRoute, ""), client.InNamespace(namespace)); err != nil {
			t.Error(err)
		}
	}()
	w := c.watch(t, mesh.HTTPRoute)
	c.parallel(services, func(n int) client.Object { return c.service(fmt.Sprintf("cart-%d", n), 80) })
	parent := func(n int) string { return fmt.Sprintf("cart-%d:90", n%services) }
	marks := func(name string) []string {
		var n int
		if _, err := fmt.Sscanf(name, "route-%d", &n); err != nil {
			t.Error(err)
		}
		return []string{parent(n) + " NoMatchingParent"}
	}
	create := func() {
		c.parallel(routes, func(n int) client.Object { return c.route(mesh.HTTPRoute, fmt.Sprintf("route-%d", n), parent(n)) })
	}
	var began time.Time
	if late {
		create()
		wait(t, settleTime, "the marks", func() error { return w.missing(routes, false, marks) })
		began = time.Now()
		startOther(c)
	} else {
		startOther(c)
		create()
		began = time.Now()
	}
	wait(t, settleTime, "peace", func() error {
		if err := w.missing(routes, true, marks); err != nil {
			return err
		}
		if quiet := w.quietFor(); quiet < quietTime {
			states, _ := w.seen()
			return fmt.Errorf("somebody writes: %d writes, %d by gammaguard", states, len(log.of(c.namespace)))
		}
		return nil
	})
	patches := log.of(namespace)
	w.untouched(t, patches)
	most, all := 0, 0
	for name, p := range patches {
		all += len(p)
		if most = max(most, len(p)); len(p) > 3 {
			t.Errorf("%s was written %d times, want at most 3", name, len(p))
		}
	}
	states, last := w.seen()
	t.Logf("%d writes, of which %d by gammaguard (at most %d a route), the last after %s", states, all, most, last.Sub(began).Round(time.Millisecond))
}

// testGoneWriter takes an entry of gammaguard, and never adds one of its own: the entry is
// removed, and back after a while.
func testGoneWriter(t *testing.T, log *patchLog) {
	c := newCluster(t, "gone", mesh.GrantAll)
	c.create(c.service("cart", 80))
	route := c.route(mesh.HTTPRoute, "web", "cart:90")
	c.create(route)
	c.expect(route, "cart:90 NoMatchingParent")
	taken := c.read(route).Status.Parents[0]
	ref, _ := taken["parentRef"].(map[string]any)
	taken["conditions"] = rivalEntry(ref)["conditions"]
	c.setParents(route, []any{taken})
	c.expect(route)
	c.expectWithin(time.Minute, route, "cart:90 NoMatchingParent")
	wait(t, settleTime, "three writes", func() error { // the response to the last may still be under way
		if patches := len(log.of("gone")["web"]); patches != 3 {
			return fmt.Errorf("%d writes, want 3", patches)
		}
		return nil
	})
}

// TestFight plays the fight that was seen: ten HTTPRoutes lost a port to a GRPCRoute, and are
// marked; then a controller starts that takes the first entry for a parentRef for its own. It
// makes 49 requests a second, as it did then.
func TestFight(t *testing.T) {
	log := &patchLog{}
	r := start(t, &validate.Policy{}, log.wrap)
	// On a machine that others use too, fewer of the rival's writes fall together.
	for try := 1; ; try++ {
		writes := fight(t, r, log, fmt.Sprintf("fight-%d", try))
		if writes < 40 {
			return
		}
		if try == 3 {
			t.Fatalf("the fight ended after %d writes, want fewer than 40", writes)
		}
	}
}

// fight returns how many writes there were until the last one.
func fight(t *testing.T, r *replica, log *patchLog, namespace string) (writes int) {
	t.Helper()
	c := newCluster(t, namespace, mesh.GrantAll)
	w := c.watch(t, mesh.HTTPRoute)
	c.create(c.service("cart", 80))
	c.create(c.route(mesh.GRPCRoute, "winner", "cart:80"))
	c.parallel(10, func(n int) client.Object { return c.route(mesh.HTTPRoute, fmt.Sprintf("loser-%d", n), "cart:80") })
	marks := func(string) []string { return []string{"cart:80 Conflicted"} }
	wait(t, settleTime, "the marks", func() error { return w.missing(10, false, marks) })

	before, _ := w.seen()
	began := time.Now()
	how := manner{"by-parent-ref", 49, byParentRef, (*rival).update}
	c.startRival(t, mesh.HTTPRoute, how)
	c.startRival(t, mesh.GRPCRoute, how)
	wait(t, settleTime, "peace", func() error {
		if err := w.missing(10, true, marks); err != nil {
			return err
		}
		if quiet := w.quietFor(); quiet < quietTime {
			states, _ := w.seen()
			return fmt.Errorf("somebody writes: %d writes, %d by gammaguard", states, len(log.of(c.namespace)))
		}
		return nil
	})
	states, last := w.seen()
	writes = states - before + 1 // the GRPCRoute's own
	w.untouched(t, log.of(namespace))
	if contested := r.metric(t, "gammaguard_status_contested"); contested != 0 {
		t.Errorf("%v routes are contested", contested)
	}
	t.Logf("the fight ended after %s and %d writes", last.Sub(began).Round(time.Millisecond), writes)
	return writes
}

// TestContested has a controller throw away all entries but its own, each time: gammaguard
// writes less and less often, records an Event on each route, and counts them.
func TestContested(t *testing.T) {
	const routes = 20
	log := &patchLog{}
	r := start(t, &validate.Policy{}, log.wrap)
	c := newCluster(t, "contested", mesh.GrantAll)
	c.startRival(t, mesh.HTTPRoute, manner{"alone", -1, func(_ []any, ref map[string]any) []any { return []any{rivalEntry(ref)} }, (*rival).mergePatch})
	c.create(c.service("cart", 80))
	c.parallel(routes, func(n int) client.Object { return c.route(mesh.HTTPRoute, fmt.Sprintf("route-%d", n), "cart:90") })
	wait(t, settleTime, "the metric and the Events", func() error {
		if n := r.metric(t, "gammaguard_status_contested"); n != routes {
			return fmt.Errorf("%v routes are contested", n)
		}
		if events := c.events("StatusContested"); len(events) != routes {
			return fmt.Errorf("%d Events", len(events))
		}
		return nil
	})
	wait(t, settleTime, "another write", func() error {
		for name, patches := range log.of("contested") {
			if len(patches) >= 4 {
				t.Logf("%s was written %d times", name, len(patches))
				return nil
			}
		}
		return fmt.Errorf("none")
	})
	for name, patches := range log.of("contested") {
		if len(patches) > 6 { // at once, at once, and after pauses of 1, 2, 4 and 8 seconds
			t.Errorf("%s was written %d times", name, len(patches))
		}
	}
}
