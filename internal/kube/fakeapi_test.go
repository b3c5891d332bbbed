package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/gammaguard/gammaguard/test/background"
)

// fakeAPI is an API server that serves discovery, lists and watches. It
// keeps objects by the path of their collection, "apis/GROUP/VERSION/RESOURCE".
type fakeAPI struct {
	*httptest.Server

	mu sync.Mutex
	// served are the resources by group and version.
	served  map[string]map[string][]string
	objects map[string][]string
	// fail answers requests of the path with this code.
	fail map[string]int
	// lists counts lists by path.
	lists    map[string]int
	watchers map[string][]chan string
}

func newFakeAPI(t testing.TB) *fakeAPI {
	api := &fakeAPI{
		served: map[string]map[string][]string{}, objects: map[string][]string{}, fail: map[string]int{},
		lists: map[string]int{}, watchers: map[string][]chan string{},
	}
	api.Server = httptest.NewServer(http.HandlerFunc(api.serve))
	t.Cleanup(func() {
		api.CloseClientConnections()
		api.Close()
	})
	return api
}

func (a *fakeAPI) config() *rest.Config { return &rest.Config{Host: a.URL} }

// serves has the resources served, the versions in no order.
func (a *fakeAPI) serves(group, version string, resources ...string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.served[group] == nil {
		a.served[group] = map[string][]string{}
	}
	a.served[group][version] = resources
}

func (a *fakeAPI) stopServing(group string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.served, group)
}

func (a *fakeAPI) add(collection string, objects ...string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.objects[collection] = append(a.objects[collection], objects...)
}

// emit sends an event to those who watch the collection.
func (a *fakeAPI) emit(collection, event, object string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, watcher := range a.watchers[collection] {
		watcher <- fmt.Sprintf(`{"type":%q,"object":%s}`, event, object)
	}
}

// watched reports whether anyone watches the collection.
func (a *fakeAPI) watched(collection string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.watchers[collection]) > 0
}

func (a *fakeAPI) serve(w http.ResponseWriter, req *http.Request) {
	path := strings.Trim(req.URL.Path, "/")
	a.mu.Lock()
	code := a.fail[path]
	parts := strings.Split(path, "/")
	var document any
	switch {
	case code != 0:
		document = &metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Code: int32(code), Message: "told to fail"}
	case len(parts) == 2 && a.served[parts[1]] != nil:
		group := &metav1.APIGroup{Name: parts[1]}
		for version := range a.served[parts[1]] {
			group.Versions = append(group.Versions, metav1.GroupVersionForDiscovery{GroupVersion: parts[1] + "/" + version, Version: version})
		}
		code, document = http.StatusOK, group
	case len(parts) == 3 && parts[0] == "apis" && a.served[parts[1]][parts[2]] != nil:
		list := &metav1.APIResourceList{GroupVersion: parts[1] + "/" + parts[2]}
		for _, name := range a.served[parts[1]][parts[2]] {
			list.APIResources = append(list.APIResources, metav1.APIResource{Name: name, Namespaced: true})
		}
		code, document = http.StatusOK, list
	}
	a.mu.Unlock()
	if document != nil {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		if err := json.NewEncoder(w).Encode(document); err != nil {
			panic(err)
		}
		return
	}
	a.serveObjects(w, req, path)
}

func (a *fakeAPI) serveObjects(w http.ResponseWriter, req *http.Request, path string) {
	a.mu.Lock()
	parts := strings.Split(path, "/")
	known := parts[0] == "api" || len(parts) > 1 && (parts[1] == "discovery.k8s.io" || a.served[parts[1]] != nil)
	objects := a.objects[path]
	if req.URL.Query().Get("watch") == "" {
		a.lists[path]++
	}
	a.mu.Unlock()
	query := req.URL.Query()
	w.Header().Set("Content-Type", "application/json")
	switch {
	case !known:
		http.NotFound(w, req)
	case query.Get("watch") == "":
		fmt.Fprintf(w, `{"kind":%q,"apiVersion":%q,"metadata":{"resourceVersion":"10"},"items":[%s]}`, kindOf(path)+"List", versionOf(path), strings.Join(objects, ","))
	default:
		a.stream(w, req, path)
	}
}

func (a *fakeAPI) stream(w http.ResponseWriter, req *http.Request, path string) {
	events := make(chan string, 100)
	a.mu.Lock()
	a.watchers[path] = append(a.watchers[path], events)
	a.mu.Unlock()
	flusher := w.(http.Flusher)
	flusher.Flush()
	for {
		select {
		case <-req.Context().Done():
			return
		case event := <-events:
			fmt.Fprintln(w, event)
			flusher.Flush()
		}
	}
}

// kindOf returns the kind of a collection's objects.
func kindOf(path string) string {
	return map[string]string{
		"services": "Service", "namespaces": "PartialObjectMetadata", "endpointslices": "EndpointSlice", "serviceimports": "ServiceImport",
		"referencegrants": "ReferenceGrant", "httproutes": "HTTPRoute", "grpcroutes": "GRPCRoute", "tlsroutes": "TLSRoute", "tcproutes": "TCPRoute", "udproutes": "UDPRoute",
	}[path[strings.LastIndex(path, "/")+1:]]
}

func versionOf(path string) string {
	parts := strings.Split(path, "/")
	switch {
	case strings.HasSuffix(path, "/namespaces"):
		return "meta.k8s.io/v1"
	case parts[0] == "api":
		return parts[1]
	}
	return parts[1] + "/" + parts[2]
}

// start runs a cache over the fake API until the test ends.
func (a *fakeAPI) start(t testing.TB, options Options, listeners ...func(Change)) *Cache {
	t.Helper()
	cache, err := New(a.config(), options)
	if err != nil {
		t.Fatal(err)
	}
	for _, listener := range listeners {
		cache.OnChange(listener)
	}
	background.Start(t, cache.Start)
	return cache
}

func waitForSync(t testing.TB, cache *Cache) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := cache.WaitForSync(ctx); err != nil {
		t.Fatal(err)
	}
}

// eventually waits until the condition holds.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-deadline:
			t.Fatalf("never: %s", what)
		case <-tick.C:
		}
	}
}
