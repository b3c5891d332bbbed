package status

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/status/desired"
	"github.com/gammaguard/gammaguard/test/background"
)

// patchLog records the patches of routes that a replica made, by namespace and name.
type patchLog struct {
	mu      sync.Mutex
	patches map[string][]storedStatus
}

func (l *patchLog) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		if req.Method != http.MethodPatch || !strings.Contains(req.URL.Path, "/apis/"+mesh.GatewayGroup+"/") {
			return next.RoundTrip(req)
		}
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		req = req.Clone(req.Context())
		req.Body = io.NopCloser(bytes.NewReader(body))
		res, err := next.RoundTrip(req)
		if err == nil && res.StatusCode == http.StatusOK {
			var patch storedStatus
			if err := json.Unmarshal(body, &patch); err != nil {
				return nil, err
			}
			parts := strings.Split(req.URL.Path, "/") // .../namespaces/NAMESPACE/httproutes/NAME/status
			l.mu.Lock()
			defer l.mu.Unlock()
			if l.patches == nil {
				l.patches = map[string][]storedStatus{}
			}
			key := parts[len(parts)-4] + "/" + parts[len(parts)-2]
			l.patches[key] = append(l.patches[key], patch)
		}
		return res, err
	})
}

// of returns the patches of the namespace's routes, by name.
func (l *patchLog) of(namespace string) map[string][]storedStatus {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := map[string][]storedStatus{}
	for key, patches := range l.patches {
		if name, ok := strings.CutPrefix(key, namespace+"/"); ok {
			found[name] = slices.Clone(patches)
		}
	}
	return found
}

// witness sees every state of the namespace's routes of a kind.
type witness struct {
	mu     sync.Mutex
	states map[string]*storedStatus // by resourceVersion
	now    map[string]*storedStatus // by name
	moved  time.Time                // when the last state was seen
}

func (c *cluster) watch(t *testing.T, kind mesh.RouteKind) *witness {
	t.Helper()
	client, err := dynamic.NewForConfig(plane.Config)
	if err != nil {
		t.Fatal(err)
	}
	resource := schema.GroupVersionResource{Group: mesh.GatewayGroup, Version: "v1", Resource: kind.Resource()}
	w := &witness{states: map[string]*storedStatus{}, now: map[string]*storedStatus{}, moved: time.Now()}
	watcher, err := client.Resource(resource).Namespace(c.namespace).Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	background.Start(t, func(ctx context.Context) error {
		defer watcher.Stop()
		for {
			select {
			case <-ctx.Done():
				return nil
			case event, ok := <-watcher.ResultChan():
				if !ok || event.Type == watch.Error {
					if t.Context().Err() != nil {
						return nil
					}
					return fmt.Errorf("the watch ended: %v", event.Object)
				}
				object := event.Object.(*unstructured.Unstructured)
				state := statusOf(t, object.Object)
				w.mu.Lock()
				w.states[state.Metadata.ResourceVersion], w.now[object.GetName()], w.moved = state, state, time.Now()
				w.mu.Unlock()
			}
		}
	})
	return w
}

// quietFor returns how long ago the last state was seen.
func (w *witness) quietFor() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Since(w.moved)
}

// seen returns how many states there were, but for the creation of routes, and when the
// last one was seen.
func (w *witness) seen() (int, time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.states) - len(w.now), w.moved
}

// missing returns what is not right yet: a route without the marks, or without an entry of
// the rival if there is one.
func (w *witness) missing(routes int, rival bool, marks func(name string) []string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.now) != routes {
		return fmt.Errorf("%d routes of %d", len(w.now), routes)
	}
	for name, state := range w.now {
		others := foreignEntries(state)
		want := marks(name)
		if len(others) == 32 && len(state.marks()) == 0 {
			want = []string{} // there is no room
		}
		if diff := cmp.Diff(want, state.marks()); diff != "" {
			return fmt.Errorf("marks of %s (-want +got):\n%s", name, diff)
		}
		if rival && len(others) == 0 {
			return fmt.Errorf("%s has no entry of the other controller", name)
		}
	}
	return nil
}

// untouched checks that each patch left the others' entries as they were in the state
// that it replaced.
func (w *witness) untouched(t *testing.T, patches map[string][]storedStatus) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(patches)) {
		for _, patch := range patches[name] {
			before := w.states[patch.Metadata.ResourceVersion]
			if before == nil {
				t.Errorf("%s: a patch of a state that was not seen, %s", name, patch.Metadata.ResourceVersion)
				continue
			}
			if diff := cmp.Diff(foreignEntries(before), foreignEntries(&patch)); diff != "" {
				t.Errorf("%s: a patch changes entries of others (-before +after):\n%s", name, diff)
			}
		}
	}
}

// foreignEntries returns the entries of other controllers.
func foreignEntries(s *storedStatus) []map[string]any {
	others := []map[string]any{}
	for _, entry := range s.Status.Parents {
		if entry["controllerName"] != desired.ControllerName {
			others = append(others, entry)
		}
	}
	return others
}
