package status

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/status/desired"
	"github.com/gammaguard/gammaguard/validate"
)

// TestSecondWriter has another controller rewrite its own entry as fast as it can
// while a conflict flips 1,000 times. A watch sees every state in between: in each
// the other's entry must be as that controller last wrote it, and in the end ours
// must be right too. It holds as well while two replicas take themselves for the
// leader.
func TestSecondWriter(t *testing.T) {
	for _, test := range []struct {
		name    string
		leaders int
	}{{"one-leader", 1}, {"two-leaders", 2}} {
		t.Run(test.name, func(t *testing.T) { testSecondWriter(t, test.name, test.leaders) })
	}
}

func testSecondWriter(t *testing.T, namespace string, count int) {
	c := newCluster(t, namespace, mesh.GrantAll)
	var leaders []*replica
	for range count {
		leaders = append(leaders, start(t, &validate.Policy{}))
	}
	c.create(c.service("cart", 80, 90))
	loser := c.route(mesh.HTTPRoute, "loser", "cart:80")
	winner := c.route(mesh.GRPCRoute, "winner", "cart:90")
	c.create(winner)
	c.create(loser)

	rival := &secondWriter{cluster: c, route: loser}
	rival.write(1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	states := make(chan int, 1)
	go func() { states <- rival.follow(ctx) }()
	var writing sync.WaitGroup
	stopWriting := make(chan struct{})
	writing.Go(func() {
		for n := 2; ; n++ {
			select {
			case <-stopWriting:
				return
			default:
				rival.write(n)
			}
		}
	})

	for flip := range 1000 {
		port := 80 + 10*(flip%2)
		c.merge(winner, `{"spec":{"parentRefs":[{"group":"","kind":"Service","name":"cart","port":%d}]}}`, port)
		switch flip % 10 { // let ours catch up now and then, against the other's writes
		case 0:
			c.expect(loser, "cart:80 Conflicted")
		case 5:
			c.expect(loser)
		}
	}
	c.expect(loser)
	c.merge(winner, `{"spec":{"parentRefs":[{"group":"","kind":"Service","name":"cart"}]}}`)
	c.expect(loser, "cart:80 Conflicted")
	close(stopWriting)
	writing.Wait()
	wait(t, settleTime, "nothing to do", func() error { return leaders[0].busy(t) })

	final := c.read(loser)
	cancel()
	seen := <-states
	if diff := cmp.Diff(rival.last(), foreignOf(final)); diff != "" {
		t.Errorf("the other's entry at the end (-written +found):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"cart:80 Conflicted"}, final.marks()); diff != "" {
		t.Errorf("our entries at the end (-want +got):\n%s", diff)
	}
	written := 0.0
	for _, leader := range leaders {
		n := leader.metric(t, "gammaguard_status_writes_total")
		if n == 0 {
			t.Error("a leader wrote nothing")
		}
		written += n
	}
	t.Logf("%d writes of the other, %v of ours (conflicts counted), %d states seen", rival.count, written, seen)
	if rival.count < 200 || written < 200 || seen < 400 {
		t.Errorf("too few writes to prove anything: %d of the other, %v of ours", rival.count, written)
	}
}

// secondWriter is another controller with one entry in the route's status.
type secondWriter struct {
	*cluster
	route *unstructured.Unstructured

	mu    sync.Mutex
	mine  map[string]any // as acknowledged last
	next  map[string]any // as sent last
	count int
}

// write puts the nth state of the writer's entry in place of the one before, and
// checks that this was there untouched.
func (w *secondWriter) write(n int) {
	for {
		found := w.route.DeepCopy()
		if err := w.Get(w.ctx, client.ObjectKeyFromObject(w.route), found); err != nil {
			w.t.Error(err)
			return
		}
		w.mu.Lock()
		mine := w.mine
		w.mu.Unlock()
		if diff := cmp.Diff(mine, foreignOf(statusOf(w.t, found.Object))); diff != "" {
			w.t.Errorf("the other's entry before write %d (-written +found):\n%s", n, diff)
			return
		}
		parents, _, err := unstructured.NestedSlice(found.Object, "status", "parents")
		if err != nil {
			w.t.Error(err)
			return
		}
		entry := foreignEntry(n)
		entry["controllerName"] = "example.org/second"
		next := []any{}
		for _, parent := range parents {
			if parent.(map[string]any)["controllerName"] == desired.ControllerName {
				next = append(next, parent)
			}
		}
		at := n % (len(next) + 1) // before ours or after it
		next = append(next[:at:at], append([]any{entry}, next[at:]...)...)
		if err := unstructured.SetNestedSlice(found.Object, next, "status", "parents"); err != nil {
			w.t.Error(err)
			return
		}
		w.mu.Lock()
		w.next = normal(w.t, entry)
		w.mu.Unlock()
		switch err := w.Status().Update(w.ctx, found); {
		case apierrors.IsConflict(err):
			continue
		case err != nil:
			w.t.Error(err)
			return
		}
		w.mu.Lock()
		w.mine = w.next
		w.count++
		w.mu.Unlock()
		return
	}
}

func (w *secondWriter) last() map[string]any {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.mine
}

// follow watches the route until the context ends, and returns how many states it
// has seen. The writer's entry is in each of them, complete, and never older than
// in the state before.
func (w *secondWriter) follow(ctx context.Context) int {
	client, err := dynamic.NewForConfig(plane.Config)
	if err != nil {
		w.t.Error(err)
		return 0
	}
	resource := client.Resource(schema.GroupVersionResource{Group: mesh.GatewayGroup, Version: "v1", Resource: "httproutes"}).Namespace(w.namespace)
	watcher, err := resource.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + w.route.GetName()})
	if err != nil {
		w.t.Error(err)
		return 0
	}
	defer watcher.Stop()
	states, newest := 0, 0
	for {
		select {
		case <-ctx.Done():
			return states
		case event, ok := <-watcher.ResultChan():
			if !ok || event.Type == watch.Error {
				w.t.Errorf("the watch ended: %v", event.Object)
				return states
			}
			states++
			if newest, err = w.intact(statusOf(w.t, event.Object.(*unstructured.Unstructured).Object), newest); err != nil {
				w.t.Errorf("state %d: %v", states, err)
				return states
			}
		}
	}
}

// intact checks the entry in one state, and returns which of the writer's it is.
func (w *secondWriter) intact(s *storedStatus, newest int) (int, error) {
	found := foreignOf(s)
	conditions, _ := found["conditions"].([]any)
	if len(conditions) != 1 {
		return newest, fmt.Errorf("the other's entry is %v", found)
	}
	n := int(conditions[0].(map[string]any)["observedGeneration"].(float64))
	want := foreignEntry(n)
	want["controllerName"] = "example.org/second"
	if diff := cmp.Diff(normal(w.t, want), found); diff != "" {
		return newest, fmt.Errorf("the other's entry (-written +found):\n%s", diff)
	}
	if n < newest {
		return newest, fmt.Errorf("the other's entry went back from %d to %d", newest, n)
	}
	return n, nil
}

// foreignOf returns the only entry that is not ours, or nil.
func foreignOf(s *storedStatus) map[string]any {
	var found map[string]any
	for _, entry := range s.Status.Parents {
		if entry["controllerName"] == desired.ControllerName {
			continue
		}
		if found != nil {
			return map[string]any{"more than one": s.Status.Parents}
		}
		found = entry
	}
	return found
}

// normal returns an entry as it reads after JSON.
func normal(t *testing.T, entry map[string]any) map[string]any {
	text, err := json.Marshal(entry)
	if err != nil {
		t.Error(err)
	}
	var read map[string]any
	if err := json.Unmarshal(text, &read); err != nil {
		t.Error(err)
	}
	return read
}
