package kube

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/mesh"
)

const (
	gatewayV1 = "apis/gateway.networking.k8s.io/v1/"
	importsV1 = "apis/multicluster.x-k8s.io/v1alpha1/serviceimports"
)

func routeJSON(namespace, name, parent string) string {
	return fmt.Sprintf(`{"kind":"HTTPRoute","apiVersion":"gateway.networking.k8s.io/v1","metadata":{"namespace":%q,"name":%q,"uid":"7e1f9a3c-58b2-4c55-9a52-0c2f4d2e1a10",
"resourceVersion":"5","generation":1,"creationTimestamp":"2026-01-02T03:04:05Z","managedFields":[{"manager":"kubectl"}]},
"spec":{"parentRefs":[{"group":"","kind":"Service","name":%q,"port":80}],"rules":[{"matches":[{"path":{"type":"PathPrefix","value":"/a"}}],"backendRefs":[{"name":%q,"port":80,"weight":1}]}]},
"status":{"parents":[{"controllerName":"example.com/mesh","parentRef":{"name":"x"},"conditions":[{"type":"Accepted","status":"True"}]}]}}`,
		namespace, name, parent, parent)
}

// TestBestVersion: each kind is read in the best version that is served.
func TestBestVersion(t *testing.T) {
	api := newFakeAPI(t)
	api.serves(mesh.GatewayGroup, "v1alpha2", "tcproutes", "tlsroutes", "udproutes", "referencegrants")
	api.serves(mesh.GatewayGroup, "v1alpha3", "tlsroutes")
	api.serves(mesh.GatewayGroup, "v1beta1", "httproutes", "referencegrants")
	api.serves(mesh.GatewayGroup, "v1", "httproutes", "httproutes/status", "grpcroutes")
	api.serves(mesh.MulticlusterGroup, "v1alpha1", "serviceimports")
	cache := api.start(t, Options{})
	waitForSync(t, cache)
	got := map[string]string{}
	for resource, feed := range cache.feeds {
		got[resource.name] = feed.version
	}
	want := map[string]string{
		"services": "v1", "namespaces": "v1", "endpointslices": "v1", "serviceimports": "v1alpha1", "referencegrants": "v1beta1",
		"httproutes": "v1", "grpcroutes": "v1", "tlsroutes": "v1alpha3", "tcproutes": "v1alpha2", "udproutes": "v1alpha2",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestListedAndWatched: the same comes of a list and of the events of a watch.
func TestListedAndWatched(t *testing.T) {
	for _, listed := range []bool{true, false} {
		t.Run(fmt.Sprintf("listed=%v", listed), func(t *testing.T) {
			api := newFakeAPI(t)
			api.serves(mesh.GatewayGroup, "v1", "httproutes")
			objects := map[string]string{
				gatewayV1 + "httproutes": routeJSON("shop", "web", "cart"),
				"api/v1/services":        `{"kind":"Service","apiVersion":"v1","metadata":{"namespace":"shop","name":"cart","resourceVersion":"13"},"spec":{"clusterIP":"10.0.0.1","ports":[{"port":80}]}}`,
				"api/v1/namespaces":      `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"shop","resourceVersion":"13","labels":{"a":"b"}}}`,
			}
			if listed {
				for path, object := range objects {
					api.add(path, object)
				}
			}
			cache := api.start(t, Options{})
			waitForSync(t, cache)
			if !listed {
				for path, object := range objects {
					eventually(t, "a watch of "+path, func() bool { return api.watched(path) })
					api.emit(path, "ADDED", object)
				}
				eventually(t, "all objects have come", func() bool {
					_, serviceErr := mesh.FindService(cache, cartKey)
					_, namespaceErr := mesh.FindNamespace(cache, "shop")
					return serviceErr == nil && namespaceErr == nil && cache.Route(RouteKey{mesh.HTTPRoute, "shop", "web"}) != nil
				})
			}
			key := mesh.ServiceKey{Kind: "Service", Namespace: "shop", Name: "cart"}
			core := ""
			wantRoute := &mesh.AttachedRoute{
				Kind: mesh.HTTPRoute, Namespace: "shop", Name: "web", Created: 1767323045, Generation: 1,
				Parents: []mesh.ParentRef{{Group: &core, Kind: "Service", Name: "cart", Port: 80}},
			}
			routes, err := mesh.AttachedRoutes(cache, key, "")
			if err != nil || len(routes) != 1 {
				t.Fatalf("routes %v, %v", routes, err)
			}
			wantRoute.Matches = routes[0].Matches // package mesh tests these
			if diff := cmp.Diff(wantRoute, routes[0]); diff != "" || len(routes[0].Matches) != 1 {
				t.Errorf("route (-want +got):\n%s", diff)
			}
			service, err := mesh.FindService(cache, key)
			want := &mesh.Service{Key: key, Type: mesh.ClusterIP, Ports: []mesh.Port{{Number: 80, Protocol: mesh.TCP}}}
			if diff := cmp.Diff(want, service); diff != "" || err != nil {
				t.Errorf("Service (-want +got), %v:\n%s", err, diff)
			}
			namespace, err := mesh.FindNamespace(cache, "shop")
			if diff := cmp.Diff(&mesh.Namespace{Name: "shop", Labels: map[string]string{"a": "b", "kubernetes.io/metadata.name": "shop"}}, namespace); diff != "" || err != nil {
				t.Errorf("Namespace (-want +got), %v:\n%s", err, diff)
			}
			held := cache.Route(RouteKey{mesh.HTTPRoute, "shop", "web"})
			if held == nil || held.UID.String() != "7e1f9a3c-58b2-4c55-9a52-0c2f4d2e1a10" || held.ForeignEntries != 1 || held.Entries != nil {
				t.Errorf("route as status needs it: %+v", held)
			}
		})
	}
}

// TestInstalledLater installs ServiceImport, and takes it away again, while the
// cache runs.
func TestInstalledLater(t *testing.T) {
	api := newFakeAPI(t)
	cache := api.start(t, Options{DiscoveryInterval: 5 * time.Millisecond})
	waitForSync(t, cache)
	key := mesh.ServiceKey{Kind: mesh.ServiceImportKind, Namespace: "shop", Name: "cart"}
	if _, err := mesh.FindService(cache, key); !errors.Is(err, mesh.ErrNotServed) {
		t.Fatalf("got %v, want %v", err, mesh.ErrNotServed)
	}
	api.add(importsV1, `{"kind":"ServiceImport","apiVersion":"multicluster.x-k8s.io/v1alpha1","metadata":{"namespace":"shop","name":"cart","resourceVersion":"3"},"spec":{"type":"Headless","ports":[{"port":80,"protocol":"TCP"}]}}`)
	api.serves(mesh.MulticlusterGroup, "v1alpha1", "serviceimports")
	want := &mesh.Service{Key: key, Type: mesh.ClusterIP, Headless: true, Ports: []mesh.Port{{Number: 80, Protocol: mesh.TCP}}}
	eventually(t, "the ServiceImport is seen", func() bool {
		got, err := mesh.FindService(cache, key)
		return err == nil && cmp.Equal(want, got)
	})
	if !cache.HasSynced() {
		t.Error("what is installed later must not make the cache incomplete")
	}
	api.stopServing(mesh.MulticlusterGroup)
	eventually(t, "the ServiceImport is gone", func() bool {
		_, err := mesh.FindService(cache, key)
		return errors.Is(err, mesh.ErrNotServed)
	})
}

// TestReplaced: a kind that is installed, replaced in other versions, and removed, is
// followed long before the interval is over.
func TestReplaced(t *testing.T) {
	api := newFakeAPI(t)
	cache := api.start(t, Options{DiscoveryInterval: time.Hour})
	waitForSync(t, cache)
	readIn := func(version string) {
		t.Helper()
		eventually(t, "HTTPRoute is read in version "+version, func() bool { return cache.RouteVersion(mesh.HTTPRoute) == version })
	}
	for _, version := range []string{"v1alpha2", "v1beta1"} {
		api.serves(mesh.GatewayGroup, version, "httproutes")
		readIn(version)
	}
	api.stopServing(mesh.GatewayGroup)
	readIn("")
	api.serves(mesh.GatewayGroup, "v1", "httproutes")
	readIn("v1")
}

// TestNotSynced: why the cache is not complete is said, by resource.
func TestNotSynced(t *testing.T) {
	api := newFakeAPI(t)
	api.fail["apis/gateway.networking.k8s.io"] = http.StatusInternalServerError
	api.fail["api/v1/services"] = http.StatusForbidden
	cache := api.start(t, Options{DiscoveryInterval: 5 * time.Millisecond})
	says := func(text string) {
		t.Helper()
		eventually(t, "says "+text, func() bool {
			err := cache.NotSynced()
			return err != nil && strings.Contains(err.Error(), text)
		})
	}
	says("ask which kinds are served: ")
	api.mu.Lock()
	delete(api.fail, "apis/gateway.networking.k8s.io")
	api.mu.Unlock()
	says("not yet listed: services: ")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := cache.WaitForSync(ended); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "services") {
		t.Errorf("WaitForSync: %v", err)
	}
	api.mu.Lock()
	delete(api.fail, "api/v1/services")
	api.mu.Unlock()
	waitForSync(t, cache)
}

// TestStaleSaysWhy: a cache that loses the right to read gets stale, and says why no data arrives.
func TestStaleSaysWhy(t *testing.T) {
	api := newFakeAPI(t)
	cache := api.start(t, Options{MaxStaleness: 50 * time.Millisecond})
	waitForSync(t, cache)
	api.mu.Lock()
	api.fail["api/v1/services"] = http.StatusForbidden
	api.mu.Unlock()
	api.CloseClientConnections()
	eventually(t, "says why", func() bool {
		err := cache.Stale()
		return err != nil && strings.HasPrefix(err.Error(), "no data received from the API server about services for ") && strings.HasSuffix(err.Error(), ": told to fail")
	})
}

// TestChanges watches objects come, change and go, and compares what is reported.
func TestChanges(t *testing.T) {
	api := newFakeAPI(t)
	api.serves(mesh.GatewayGroup, "v1", "httproutes")
	routes := gatewayV1 + "httproutes"
	api.add(routes, routeJSON("shop", "web", "cart"))
	var (
		mu  sync.Mutex
		got []Change
	)
	cache := api.start(t, Options{}, func(change Change) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, change)
	})
	waitForSync(t, cache)
	key := func(name string) mesh.ServiceKey {
		return mesh.ServiceKey{Kind: "Service", Namespace: "shop", Name: name}
	}
	web := RouteKey{mesh.HTTPRoute, "shop", "web"}
	namespace := func(labels string) string {
		return `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"shop","resourceVersion":"11","labels":{` + labels + `}}}`
	}
	const service = `{"kind":"Service","apiVersion":"v1","metadata":{"namespace":"shop","name":"cart","resourceVersion":"11"%s},"spec":{"ports":[{"port":80}]}}`
	second := strings.Replace(routeJSON("shop", "web", "pay"), `"generation":1`, `"generation":2`, 1)
	answered := strings.Replace(second, `"parents":[`, `"parents":[{"controllerName":"a.test/mesh","parentRef":{"group":"","kind":"Service","name":"pay"}},`, 1)
	for _, step := range []struct {
		collection, event, object string
		want                      *Change
	}{
		{routes, "MODIFIED", second, &Change{Services: []mesh.ServiceKey{key("cart"), key("pay")}, Route: web}},
		{routes, "MODIFIED", second, nil}, // nothing that is read changed
		{routes, "MODIFIED", answered, &Change{Services: []mesh.ServiceKey{key("pay")}, Route: web, StatusOnly: true}},
		{routes, "DELETED", answered, &Change{Services: []mesh.ServiceKey{key("pay")}, Route: web}},
		{routes, "ADDED", strings.Replace(routeJSON("shop", "gw", "gw"), `"group":"","kind":"Service"`, `"kind":"Gateway"`, 1), nil},
		{"api/v1/services", "ADDED", fmt.Sprintf(service, ""), &Change{Services: []mesh.ServiceKey{key("cart")}}},
		{"api/v1/services", "MODIFIED", fmt.Sprintf(service, `,"labels":{"a":"b"}`), nil},
		{"api/v1/services", "MODIFIED", fmt.Sprintf(service, `,"labels":{"gammaguard.dev/consumer-routes":"deny"}`), &Change{Services: []mesh.ServiceKey{key("cart")}}},
		{"api/v1/services", "DELETED", fmt.Sprintf(service, ""), &Change{Services: []mesh.ServiceKey{key("cart")}}},
		{"api/v1/namespaces", "ADDED", namespace(""), &Change{Namespace: "shop"}},
		{"api/v1/namespaces", "MODIFIED", namespace(`"a":"b"`), &Change{Namespace: "shop"}},
		{"api/v1/namespaces", "MODIFIED", namespace(`"a":"b"`), nil},
		{"api/v1/namespaces", "DELETED", namespace(`"a":"b"`), &Change{Namespace: "shop"}},
	} {
		mu.Lock()
		got = nil
		mu.Unlock()
		eventually(t, "a watch of "+step.collection, func() bool { return api.watched(step.collection) })
		api.emit(step.collection, step.event, step.object)
		var want []Change
		if step.want != nil {
			want = []Change{*step.want}
		}
		// A marker that comes after the event says that it was dealt with.
		marker := Change{Services: []mesh.ServiceKey{key("marker")}}
		markers := map[string][2]string{
			routes:              {routeJSON("shop", "marker", "marker"), "HTTPRoute"},
			"api/v1/services":   {strings.ReplaceAll(fmt.Sprintf(service, ""), "cart", "marker"), ""},
			"api/v1/namespaces": {strings.Replace(namespace(""), "shop", "marker", 1), ""},
		}
		switch step.collection {
		case routes:
			marker.Route = RouteKey{mesh.HTTPRoute, "shop", "marker"}
		case "api/v1/namespaces":
			marker = Change{Namespace: "marker"}
		}
		api.emit(step.collection, "ADDED", markers[step.collection][0])
		api.emit(step.collection, "DELETED", markers[step.collection][0])
		want = append(want, marker, marker)
		eventually(t, fmt.Sprintf("%s in %s is dealt with", step.event, step.collection), func() bool {
			mu.Lock()
			defer mu.Unlock()
			return len(got) >= len(want)
		})
		mu.Lock()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", step.event, step.collection, diff)
		}
		mu.Unlock()
	}
}

// TestFirstIsMarked: what the first list holds is marked as such.
func TestFirstIsMarked(t *testing.T) {
	api := newFakeAPI(t)
	api.serves(mesh.GatewayGroup, "v1", "httproutes")
	api.add(gatewayV1+"httproutes", routeJSON("shop", "web", "cart"))
	changes := make(chan Change, 10)
	waitForSync(t, api.start(t, Options{}, func(change Change) { changes <- change }))
	want := Change{
		Services: []mesh.ServiceKey{{Kind: "Service", Namespace: "shop", Name: "cart"}},
		Route:    RouteKey{mesh.HTTPRoute, "shop", "web"}, First: true,
	}
	if diff := cmp.Diff(want, <-changes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
