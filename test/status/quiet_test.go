package status

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gammaguard/gammaguard/internal/kube"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

// settleOn waits until the replica's cache has seen the route as it is stored, and
// everything that followed is done.
func (c *cluster) settleOn(r *replica, route *unstructured.Unstructured) {
	c.t.Helper()
	key := kube.RouteKey{Kind: mesh.RouteKind(route.GetKind()), Namespace: c.namespace, Name: route.GetName()}
	wait(c.t, settleTime, "nothing to do", func() error {
		stored, cached := c.read(route), r.cache.Route(key)
		switch {
		case cached == nil || cached.Generation != stored.Metadata.Generation:
			return errors.New("the cache is behind")
		case len(cached.Entries)+int(cached.ForeignEntries) != len(stored.Status.Parents):
			return errors.New("the cache is behind in status")
		}
		return r.busy(c.t)
	})
}

// TestFull gives a route 32 entries of other controllers, and then a conflict:
// nothing is written, nor even read, however often the Service is looked at; one
// Event tells of it. As soon as there is room, the mark comes.
func TestFull(t *testing.T) {
	c := newCluster(t, "full", mesh.GrantAll)
	r := start(t, &validate.Policy{})
	service := c.service("cart", 80)
	c.create(service)
	loser := c.route(mesh.HTTPRoute, "loser", "cart")
	c.create(loser)
	foreign := make([]any, 32)
	for i := range foreign {
		foreign[i] = foreignEntry(i + 1)
	}
	c.setParents(loser, foreign)
	c.settleOn(r, loser)

	c.create(c.route(mesh.GRPCRoute, "winner", "cart"))
	wait(t, settleTime, "the metric", func() error {
		if full := r.metric(t, "gammaguard_status_full"); full != 1 {
			return fmt.Errorf("gammaguard_status_full is %v", full)
		}
		return nil
	})
	before := c.read(loser)
	for n := range 20 {
		looks := r.looks(t)
		c.merge(service, `{"spec":{"ports":[{"name":"p80","port":80},{"name":"other","port":%d}]}}`, 90+n)
		r.waitForLook(t, looks)
	}
	if reads, patches := r.requests.of("full"); reads > 1 || patches != 0 {
		t.Errorf("%d reads and %d patches of routes, want at most one read and no patch", reads, patches)
	}
	if diff := cmp.Diff(before, c.read(loser)); diff != "" {
		t.Errorf("the route changed (-before +after):\n%s", diff)
	}
	wait(t, settleTime, "one Event", func() error {
		if found := c.events("StatusFull"); len(found) != 1 || found[0].Regarding.Name != "loser" {
			return fmt.Errorf("events: %v", found)
		}
		return nil
	})

	c.setParents(loser, foreign[:31])
	c.expect(loser, "cart Conflicted")
	if full := r.metric(t, "gammaguard_status_full"); full != 0 {
		t.Errorf("gammaguard_status_full is %v with room", full)
	}
	var kept []any
	for _, entry := range c.read(loser).Status.Parents[:31] {
		kept = append(kept, entry)
	}
	want := make([]any, 31)
	for i := range want {
		want[i] = normal(t, foreign[i].(map[string]any))
	}
	if diff := cmp.Diff(want, kept); diff != "" {
		t.Errorf("the others' entries (-want +got):\n%s", diff)
	}
}

// TestEventsHaveNoAdvice: what is wrong again is one Event that repeats, with the note of the first time, so that has no advice.
func TestEventsHaveNoAdvice(t *testing.T) {
	start(t, &validate.Policy{})
	c := newCluster(t, "events-have-no-advice", mesh.GrantAll)
	service := c.service("cart", 80)
	c.create(service)
	route := c.route(mesh.HTTPRoute, "web", "cart:90")
	c.create(route)
	c.expect(route, "cart:90 NoMatchingParent")
	c.merge(service, `{"spec":{"ports":[{"name":"only","port":90}]}}`)
	c.expect(route)
	c.merge(service, `{"spec":{"ports":[{"name":"only","port":81}]}}`)
	c.expect(route, "cart:90 NoMatchingParent")
	wait(t, settleTime, "its Event", func() error {
		found := c.events("NoMatchingParent")
		if len(found) != 1 || found[0].Series == nil {
			return fmt.Errorf("events: %v", found)
		}
		const note = "Service events-have-no-advice/cart has no port 90 (parent-port-not-found); the status of the route says how to fix it"
		if found[0].Note != note {
			t.Fatalf("the note is %q, want %q", found[0].Note, note)
		}
		return nil
	})
}

// events returns the Events of the namespace with the reason.
func (c *cluster) events(reason string) []eventsv1.Event {
	c.t.Helper()
	var list eventsv1.EventList
	if err := c.List(c.ctx, &list, client.InNamespace(c.namespace)); err != nil {
		c.t.Fatal(err)
	}
	var found []eventsv1.Event
	for _, event := range list.Items {
		if event.Reason == reason {
			found = append(found, event)
		}
	}
	return found
}

// expectEvents waits until the Events on the route have these reasons and types.
func (c *cluster) expectEvents(route *unstructured.Unstructured, want map[string]string) {
	c.t.Helper()
	wait(c.t, settleTime, "Events", func() error {
		var list eventsv1.EventList
		if err := c.List(c.ctx, &list, client.InNamespace(c.namespace)); err != nil {
			return err
		}
		got := map[string]string{}
		for _, event := range list.Items {
			if event.Regarding.Kind == route.GetKind() && event.Regarding.Name == route.GetName() {
				got[event.Reason] = event.Type
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Errorf("reasons and types (-want +got):\n%s", diff)
		}
		return nil
	})
}

// waitForLook waits until the replica has looked at a Service again, and has nothing
// more to do.
func (r *replica) waitForLook(t *testing.T, looks float64) {
	t.Helper()
	wait(t, settleTime, "another look", func() error {
		if r.looks(t) == looks {
			return errors.New("none")
		}
		return r.busy(t)
	})
}

// TestQuietHour changes what does not matter again and again: nothing is written,
// nor even read.
func TestQuietHour(t *testing.T) {
	c := newCluster(t, "quiet", mesh.GrantAll)
	r := start(t, &validate.Policy{})
	service := c.service("cart", 80, 90)
	c.create(service)
	c.create(c.route(mesh.GRPCRoute, "winner", "cart:80"))
	all := c.route(mesh.HTTPRoute, "all", "cart:80")
	some := c.route(mesh.HTTPRoute, "some", "cart")
	none := c.route(mesh.HTTPRoute, "none", "missing")
	for _, route := range []*unstructured.Unstructured{all, some, none} {
		c.create(route)
	}
	c.expect(all, "cart:80 Conflicted")
	c.expect(some, "cart PartiallyConflicted")
	c.expect(none, "missing NoMatchingParent")
	for _, route := range []*unstructured.Unstructured{all, some, none} {
		c.settleOn(r, route)
	}

	reads, patches := r.requests.of("quiet")
	for hour := range 20 {
		looks := r.looks(t)
		c.merge(all, `{"metadata":{"annotations":{"example.org/hour":"%d"}}}`, hour)
		c.merge(service, `{"metadata":{"annotations":{"example.org/hour":"%d"}}}`, hour)
		c.merge(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "quiet"}}, `{"metadata":{"labels":{"example.org/hour":"%d"}}}`, hour)
		r.waitForLook(t, looks)
	}
	// What is written last is seen last: then all of the above was looked at.
	c.merge(all, `{"spec":{"parentRefs":[{"group":"","kind":"Service","name":"cart","port":90}]}}`)
	c.expect(all)
	c.settleOn(r, all)
	if readsNow, patchesNow := r.requests.of("quiet"); readsNow != reads+1 || patchesNow != patches+1 {
		t.Errorf("%d reads and %d patches, want one of each, for the last change", readsNow-reads, patchesNow-patches)
	}
}

// TestRouteBeforeItsService has the watches of Services and Namespaces lag behind
// that of routes, as they may in any cluster: routes that were applied right after
// their Service, in a namespace that was granted a moment ago, are never marked.
func TestRouteBeforeItsService(t *testing.T) {
	late := &gate{open: make(chan struct{})}
	release := sync.OnceFunc(func() { close(late.open) })
	r := start(t, &validate.Policy{}, late.wrap)
	t.Cleanup(release) // before the replica stops
	late.closed.Store(true)
	var clusters []*cluster
	for n := range 20 {
		c := newCluster(t, fmt.Sprintf("late-%d", n), mesh.GrantProducer)
		clusters = append(clusters, c)
		c.create(c.service("cart", 80))
		route := c.route(mesh.HTTPRoute, "cart", "cart:80")
		c.create(route)
		c.settleOn(r, route)
		if _, err := mesh.FindNamespace(r.cache, c.namespace); err == nil {
			t.Fatal("the watch of Namespaces does not lag")
		}
	}
	release()
	for _, c := range clusters {
		loser := c.route(mesh.TLSRoute, "none", "missing")
		c.create(withHostname(loser))
		c.expect(loser, "missing NoMatchingParent")
		if _, patches := r.requests.of(c.namespace); patches != 1 {
			t.Errorf("%s: %d patches of routes' status, want one, for the route without a Service", c.namespace, patches)
		}
	}
}

// gate holds back what the watches of Services and Namespaces tell, from the time
// that it is closed until it is opened for good.
type gate struct {
	closed atomic.Bool
	open   chan struct{}
}

func (g *gate) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		res, err := next.RoundTrip(req)
		if err == nil && req.URL.Query().Get("watch") != "" && strings.HasPrefix(req.URL.Path, "/api/v1/") {
			res.Body = &gatedBody{res.Body, g}
		}
		return res, err
	})
}

type gatedBody struct {
	io.ReadCloser
	gate *gate
}

func (b *gatedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.gate.closed.Load() {
		<-b.gate.open
	}
	return n, err
}
