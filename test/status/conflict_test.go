package status

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
	c.expectEvents(loser, map[string]string{"Conflicted": "Warning", "Resolved": "Normal"})
	if marks, full := r.metric(t, "gammaguard_status_marks"), r.metric(t, "gammaguard_status_full"); marks != 0 || full != 0 {
		t.Errorf("gauges after all is well: %v marks, %v full", marks, full)
	}
}

// TestMendedAfterOthers has another controller throw away all entries but its own:
// ours comes back. A route that is being deleted keeps it, since meshes go on
// programming it until it is gone.
func TestMendedAfterOthers(t *testing.T) {
	c := newCluster(t, "thrown", mesh.GrantAll)
	start(t, &validate.Policy{})
	c.create(c.service("cart", 80))
	c.create(c.route(mesh.GRPCRoute, "winner", "cart"))
	loser := c.route(mesh.HTTPRoute, "loser", "cart")
	loser.SetFinalizers([]string{"example.org/keep"})
	c.create(loser)
	c.expect(loser, "cart Conflicted")
	c.setParents(loser, []any{foreignEntry(1)})
	c.expect(loser, "cart Conflicted")
	if diff := cmp.Diff(normal(t, foreignEntry(1)), foreignOf(c.read(loser))); diff != "" {
		t.Errorf("the other's entry (-want +got):\n%s", diff)
	}
	c.delete(loser)
	c.setParents(loser, []any{foreignEntry(2)})
	c.expect(loser, "cart Conflicted")
	c.merge(loser, `{"metadata":{"finalizers":null}}`)
}

// TestFreshBeforeMass withdraws the grant of a namespace with hundreds of routes,
// and then makes a conflict elsewhere: that is marked first.
func TestFreshBeforeMass(t *testing.T) {
	const services, routesEach = 100, 6
	mass := newCluster(t, "mass", mesh.GrantAll)
	c := newCluster(t, "single", mesh.GrantAll)
	mass.parallel(services, func(n int) client.Object { return mass.service(fmt.Sprintf("service-%d", n), 80) })
	mass.parallel(services*routesEach, func(n int) client.Object {
		return mass.route(mesh.HTTPRoute, fmt.Sprintf("route-%d", n), fmt.Sprintf("service-%d", n%services))
	})
	c.create(c.service("cart", 80))
	loser := c.route(mesh.HTTPRoute, "loser", "cart")
	c.create(loser)
	r := start(t, &validate.Policy{})
	label := func(grant mesh.Grant) {
		mass.merge(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "mass"}}, `{"metadata":{"labels":{%q:%q}}}`, mesh.GrantLabel, grant)
	}
	written := func() int {
		_, patches := r.requests.of("mass")
		return patches
	}

	label(mesh.GrantNone)
	began := time.Now()
	wait(t, settleTime, "the mass event to begin", func() error {
		if written() == 0 {
			return errors.New("nothing is written")
		}
		return nil
	})
	c.create(c.route(mesh.GRPCRoute, "winner", "cart"))
	c.expectWithin(3*time.Second, loser, "cart Conflicted")
	if n := written(); n == services*routesEach {
		t.Errorf("all %d routes of the mass event were written before the conflict was marked", n)
	}
	wait(t, time.Minute, "the mass event to end", func() error {
		if n := written(); n < services*routesEach {
			return fmt.Errorf("%d routes are written", n)
		}
		return r.busy(t)
	})
	t.Logf("%d routes were marked in %s", services*routesEach, time.Since(began).Round(time.Millisecond))
	if n := written(); n != services*routesEach {
		t.Errorf("%d patches, want %d", n, services*routesEach)
	}
}
