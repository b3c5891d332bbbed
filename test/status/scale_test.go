package status

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

// TestWorkInProportion loads 10,000 routes. A change of one route then leads to
// a few looks, at the Services that it names, and to one write a mark.
func TestWorkInProportion(t *testing.T) {
	const services, routesEach = 200, 50
	c := newCluster(t, "scale", mesh.GrantAll)
	began := time.Now()
	c.parallel(services, func(n int) client.Object { return c.service(fmt.Sprintf("service-%d", n), 80) })
	c.parallel(services*routesEach, func(n int) client.Object {
		return c.route(mesh.HTTPRoute, fmt.Sprintf("route-%d", n), fmt.Sprintf("service-%d", n%services))
	})
	t.Logf("loaded %d routes in %s", services*routesEach, time.Since(began).Round(time.Second))
	began = time.Now()
	r := start(t, &validate.Policy{})
	wait(t, time.Minute, "a first look at all of them", func() error {
		if looks := r.looks(t); looks < services {
			return fmt.Errorf("%v looks", looks)
		}
		return r.busy(t)
	})
	t.Logf("a first look at all of them took %s", time.Since(began).Round(time.Millisecond))
	if writes := r.metric(t, "gammaguard_status_writes_total"); writes != 0 {
		t.Errorf("%v writes for routes with nothing wrong", writes)
	}
	before := r.looks(t)
	// Each Service is looked at for the change itself, and for each write that follows.
	wantLooks := func(what string, named, writes float64) {
		t.Helper()
		looks := r.looks(t) - before
		before += looks
		if most := named * (1 + writes); looks < named || looks > most {
			t.Errorf("%s: %v looks at Services, want %v to %v", what, looks, named, most)
		}
		t.Logf("%s: %v looks", what, looks)
	}

	loser := c.route(mesh.TLSRoute, "loser", "service-1", "service-2")
	began = time.Now()
	c.create(withHostname(loser))
	c.expect(loser, "service-1 Conflicted", "service-2 Conflicted")
	t.Logf("marked after %s", time.Since(began).Round(time.Millisecond))
	c.settleOn(r, loser)
	wantLooks("a route created", 2, 2)
	c.merge(loser, `{"spec":{"parentRefs":[{"group":"","kind":"Service","name":"service-2"},{"group":"","kind":"Service","name":"service-3"}]}}`)
	c.expect(loser, "service-2 Conflicted", "service-3 Conflicted")
	c.settleOn(r, loser)
	wantLooks("a route moved", 3, 3)
	if _, patches := r.requests.of("scale"); patches != 5 {
		t.Errorf("%d patches, want 5: two to mark, and one each to mark, to update and to clear", patches)
	}
}

// parallel creates n objects through several clients' worth of connections.
func (c *cluster) parallel(n int, object func(int) client.Object) {
	c.t.Helper()
	config := rest.CopyConfig(plane.Config)
	config.QPS = -1
	creator, err := client.New(config, client.Options{})
	if err != nil {
		c.t.Fatal(err)
	}
	numbers := make(chan int)
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for i := range numbers {
				if err := creator.Create(context.Background(), object(i)); err != nil {
					c.t.Error(err)
				}
			}
		})
	}
	for i := range n {
		numbers <- i
	}
	close(numbers)
	workers.Wait()
}
