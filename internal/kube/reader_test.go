package kube

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/gammaguard/gammaguard/mesh"
)

var (
	cartKey   = mesh.ServiceKey{Kind: mesh.ServiceKind, Namespace: "shop", Name: "cart"}
	importKey = mesh.ServiceKey{Kind: mesh.ServiceImportKind, Namespace: "shop", Name: "cart"}
)

// answering returns a reader of an API server that answers by path; any other path
// is not served.
func answering(t *testing.T, observe Observer, answers map[string]http.HandlerFunc) *Reader {
	t.Helper()
	mux := http.NewServeMux()
	for path, answer := range answers {
		mux.HandleFunc(path, func(w http.ResponseWriter, req *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			answer(w, req)
		})
	}
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	reader, err := NewReader(&rest.Config{Host: server.URL}, observe)
	if err != nil {
		t.Fatal(err)
	}
	return reader
}

func text(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) }
}

func failure(code int, reason string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d,"message":"says the API server"}`, reason, code)
	}
}

// TestFailureIsNotAbsence: only the API server's word that an object is not there
// is that it is not there.
func TestFailureIsNotAbsence(t *testing.T) {
	const path = "/api/v1/namespaces/shop/services/cart"
	for _, test := range []struct {
		name    string
		answers map[string]http.HandlerFunc
		key     mesh.ServiceKey
		want    error // nil is any error but those of mesh
	}{
		{"not found", map[string]http.HandlerFunc{path: failure(404, "NotFound")}, cartKey, mesh.ErrNotFound},
		{"forbidden", map[string]http.HandlerFunc{path: failure(403, "Forbidden")}, cartKey, nil},
		{"overloaded", map[string]http.HandlerFunc{path: failure(500, "InternalError")}, cartKey, nil},
		{"not an object", map[string]http.HandlerFunc{path: text(`[]`)}, cartKey, nil},
		{"another kind", map[string]http.HandlerFunc{path: text(`{"kind":"Status","apiVersion":"v1"}`)}, cartKey, nil},
		{"path of a core kind not served", nil, cartKey, nil},
		{"group not served", nil, importKey, mesh.ErrNotServed},
		{"group unavailable", map[string]http.HandlerFunc{"/apis/multicluster.x-k8s.io": failure(503, "ServiceUnavailable")}, importKey, nil},
		{"kind not served", map[string]http.HandlerFunc{
			"/apis/multicluster.x-k8s.io":         text(`{"kind":"APIGroup","versions":[{"version":"v1beta1"}]}`),
			"/apis/multicluster.x-k8s.io/v1beta1": text(`{"kind":"APIResourceList","resources":[{"name":"serviceexports"}]}`),
		}, importKey, mesh.ErrNotServed},
		{"import not found", map[string]http.HandlerFunc{
			"/apis/multicluster.x-k8s.io":                                             text(`{"kind":"APIGroup","versions":[{"version":"v1beta1"}]}`),
			"/apis/multicluster.x-k8s.io/v1beta1":                                     text(`{"kind":"APIResourceList","resources":[{"name":"serviceimports"}]}`),
			"/apis/multicluster.x-k8s.io/v1beta1/namespaces/shop/serviceimports/cart": failure(404, "NotFound"),
		}, importKey, mesh.ErrNotFound},
	} {
		t.Run(test.name, func(t *testing.T) {
			service, err := answering(t, nil, test.answers).Service(t.Context(), test.key)
			switch {
			case err == nil:
				t.Errorf("read %+v", service)
			case test.want == nil && (errors.Is(err, mesh.ErrNotFound) || errors.Is(err, mesh.ErrUnknown)),
				test.want != nil && err != test.want: //nolint:errorlint // ErrNotServed is an ErrNotFound too
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
}

// TestVersionMoves: the version that was read before is no longer served.
func TestVersionMoves(t *testing.T) {
	var version atomic.Value
	version.Store("v1alpha1")
	answers := map[string]http.HandlerFunc{
		"/apis/multicluster.x-k8s.io": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"kind":"APIGroup","versions":[{"version":%q}]}`, version.Load())
		},
	}
	for _, v := range []string{"v1alpha1", "v1beta1"} {
		answers["/apis/multicluster.x-k8s.io/"+v] = text(`{"kind":"APIResourceList","resources":[{"name":"serviceimports"}]}`)
		answers["/apis/multicluster.x-k8s.io/"+v+"/namespaces/shop/serviceimports/cart"] = func(w http.ResponseWriter, req *http.Request) {
			if version.Load() != v {
				http.NotFound(w, req)
				return
			}
			fmt.Fprintf(w, `{"kind":"ServiceImport","apiVersion":"multicluster.x-k8s.io/%s","metadata":{"namespace":"shop","name":"cart"},"spec":{"type":"ClusterSetIP"}}`, v)
		}
	}
	reader := answering(t, nil, answers)
	for _, v := range []string{"v1alpha1", "v1beta1", "v1beta1"} {
		version.Store(v)
		service, err := reader.Service(t.Context(), importKey)
		if diff := cmp.Diff(&mesh.Service{Key: importKey, Type: mesh.ClusterIP}, service); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", v, err, diff)
		}
	}
}

// TestHasEndpointsReadsAllPages: the endpoint is in the last of several slices.
func TestHasEndpointsReadsAllPages(t *testing.T) {
	const page = `{"kind":"EndpointSliceList","apiVersion":"discovery.k8s.io/v1","metadata":{"continue":%q},"items":[{"endpoints":%s}]}`
	for _, test := range []struct {
		last string
		want bool
	}{{`[]`, false}, {`null`, false}, {`[{"addresses":["10.0.0.1"]}]`, true}} {
		reader := answering(t, nil, map[string]http.HandlerFunc{
			"/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices": func(w http.ResponseWriter, req *http.Request) {
				query := req.URL.Query()
				if got, want := query.Get("labelSelector"), "kubernetes.io/service-name=cart"; got != want {
					t.Errorf("selector %q, want %q", got, want)
				}
				if query.Get("continue") == "" {
					fmt.Fprintf(w, page, "more", "[]")
					return
				}
				fmt.Fprintf(w, page, "", test.last)
			},
		})
		if got, err := reader.HasEndpoints(t.Context(), cartKey); got != test.want || err != nil {
			t.Errorf("endpoints %s: got %v, %v", test.last, got, err)
		}
	}
}

// TestReadsAreBounded starts more reads than may be under way at once.
func TestReadsAreBounded(t *testing.T) {
	const reads = 2 * MaxConcurrentReads
	var under, most atomic.Int32
	release := make(chan struct{})
	var observed sync.Map
	reader := answering(t, func(kind string, err error) { observed.Store(fmt.Sprint(kind, " ", err != nil), true) }, map[string]http.HandlerFunc{
		"/api/v1/namespaces/shop": func(w http.ResponseWriter, _ *http.Request) {
			now := under.Add(1)
			defer under.Add(-1)
			for before := most.Load(); now > before && !most.CompareAndSwap(before, now); before = most.Load() {
			}
			<-release
			fmt.Fprint(w, `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"shop"}}`)
		},
	})
	var wg sync.WaitGroup
	for range reads {
		wg.Go(func() {
			if _, err := reader.Namespace(t.Context(), "shop"); err != nil {
				t.Error(err)
			}
		})
	}
	eventually(t, "all places are taken", func() bool { return under.Load() == MaxConcurrentReads })
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := reader.Namespace(ctx, "shop"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a read that found no place: %v", err)
	}
	close(release)
	wg.Wait()
	if got := most.Load(); got != MaxConcurrentReads {
		t.Errorf("%d reads at once, want at most %d", got, MaxConcurrentReads)
	}
	for _, want := range []string{"Namespace true", "Namespace false"} {
		if _, ok := observed.Load(want); !ok {
			t.Errorf("not observed: %s", want)
		}
	}
}

// TestConfirmedReadsOnce: what was read live is answered from then on, and read no
// second time; all else is the cache's.
func TestConfirmedReadsOnce(t *testing.T) {
	var mu sync.Mutex
	reads := map[string]int{}
	observe := func(kind string, _ error) {
		mu.Lock()
		defer mu.Unlock()
		reads[kind]++
	}
	reader := answering(t, observe, map[string]http.HandlerFunc{
		"/api/v1/namespaces/shop":                                            text(`{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"shop","labels":{"a":"b"}}}`),
		"/api/v1/namespaces/shop/services/cart":                              failure(404, "NotFound"),
		"/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices":           text(`{"kind":"EndpointSliceList","apiVersion":"discovery.k8s.io/v1","items":[]}`),
		"/apis/gateway.networking.k8s.io":                                    text(`{"kind":"APIGroup","versions":[{"version":"v1"}]}`),
		"/apis/gateway.networking.k8s.io/v1":                                 text(`{"kind":"APIResourceList","resources":[{"name":"referencegrants"}]}`),
		"/apis/gateway.networking.k8s.io/v1/namespaces/shop/referencegrants": text(`{"kind":"ReferenceGrantList","apiVersion":"gateway.networking.k8s.io/v1","items":[{"spec":{"to":[{"kind":"Service"}]}}]}`),
	})
	cache := newCache(t, Options{})
	put(t, cache, serviceResource, `{"kind":"Service","metadata":{"namespace":"shop","name":"cart"}}`)
	other := mesh.ServiceKey{Kind: mesh.ServiceKind, Namespace: "shop", Name: "other"}
	put(t, cache, serviceResource, `{"kind":"Service","metadata":{"namespace":"shop","name":"other"}}`)
	put(t, cache, endpointSlices, `{"kind":"EndpointSlice","metadata":{"namespace":"shop","name":"x","labels":{"kubernetes.io/service-name":"cart"}},"endpoints":[{}]}`)
	world := Confirm(t.Context(), inAMinute, reader, cache)
	if _, err := mesh.FindService(world, cartKey); err != nil {
		t.Errorf("before anything was read: %v", err)
	}
	all := []mesh.Read{
		{Kind: mesh.ReadService, Service: cartKey},
		{Kind: mesh.ReadNamespace, Namespace: "shop"},
		{Kind: mesh.ReadEndpoints, Service: cartKey},
		{Kind: mesh.ReadReferenceGrants, Namespace: "shop"},
		{Kind: mesh.ReadNamespace, Namespace: "shop"},
	}
	for i, want := range []int{4, 0} {
		if fresh, err := world.Read(all); fresh != want || err != nil {
			t.Errorf("read %d: %d fresh, %v; want %d", i, fresh, err, want)
		}
		if _, err := mesh.FindService(world, cartKey); !errors.Is(err, mesh.ErrNotFound) {
			t.Errorf("the Service that is gone: %v", err)
		}
		if _, err := mesh.FindService(world, other); err != nil {
			t.Errorf("the other Service: %v", err)
		}
		if namespace, err := mesh.FindNamespace(world, "shop"); err != nil || namespace.Labels["a"] != "b" {
			t.Errorf("namespace %+v, %v", namespace, err)
		}
		if has, err := mesh.HasEndpoints(world, cartKey); has || err != nil {
			t.Errorf("endpoints %v, %v", has, err)
		}
		if grants, err := mesh.ReferenceGrants(world, "shop"); len(grants) != 1 || err != nil {
			t.Errorf("grants %v, %v", grants, err)
		}
	}
	if diff := cmp.Diff(map[string]int{"Service": 1, "Namespace": 1, "EndpointSlice": 1, "ReferenceGrant": 1}, reads); diff != "" {
		t.Errorf("live reads (-want +got):\n%s", diff)
	}
}

// TestDiscoveryThatHangs: a request waits for its own deadline, and for no other's, where the
// API server does not say what it serves.
func TestDiscoveryThatHangs(t *testing.T) {
	asked := make(chan struct{})
	reader := answering(t, func(string, error) {}, map[string]http.HandlerFunc{
		"/apis": func(_ http.ResponseWriter, req *http.Request) {
			close(asked)
			<-req.Context().Done()
		},
	})
	key := mesh.ObjectKey{Group: "example.com", Kind: "Mesh", Namespace: "shop", Name: "cart"}
	patient, leave := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() { first <- reader.Object(patient, key) }()
	<-asked
	hasty, cancel := context.WithCancel(t.Context())
	cancel()
	if err := reader.Object(hasty, key); !errors.Is(err, mesh.ErrUnknown) {
		t.Errorf("a request that nobody waits for: got %v", err)
	}
	leave()
	if err := <-first; !errors.Is(err, mesh.ErrUnknown) {
		t.Errorf("the request that asked: got %v", err)
	}
}
