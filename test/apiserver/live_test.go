package apiserver

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gammaguard/gammaguard/internal/kube"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/test/background"
)

// startCache runs a cache until the test ends.
func startCache(t *testing.T, options kube.Options, listeners ...func(kube.Change)) *kube.Cache {
	t.Helper()
	cache, err := kube.New(plane.Config, options)
	if err != nil {
		t.Fatal(err)
	}
	for _, listener := range listeners {
		cache.OnChange(listener)
	}
	background.Start(t, cache.Start)
	within, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	if err := cache.WaitForSync(within); err != nil {
		t.Fatal(err)
	}
	return cache
}

// attached returns the names of the routes on the Service, sorted.
func attached(t *testing.T, world mesh.Reader, namespace, name string) []string {
	t.Helper()
	routes, err := mesh.AttachedRoutes(world, mesh.ServiceKey{Kind: mesh.ServiceKind, Namespace: namespace, Name: name}, "")
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, route := range routes {
		names = append(names, route.String())
	}
	slices.Sort(names)
	return names
}

// TestCacheSees compares what the cache holds of each kind with what was stored,
// of objects that were there before it and of those that came later.
func TestCacheSees(t *testing.T) {
	c := admin(t)
	ns := newNamespace(t, c, map[string]string{mesh.GrantLabel: "all"})
	populate := func(suffix string) {
		svc := service(ns, "cart"+suffix)
		svc.Labels = map[string]string{mesh.ConsumerRoutesLabel: "deny", "other": "label"}
		h2c := "kubernetes.io/h2c"
		svc.Spec.Ports = append(svc.Spec.Ports, corev1.ServicePort{Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP, AppProtocol: &h2c})
		ready := true
		slice := &discoveryv1.EndpointSlice{
			ObjectMeta:  metav1.ObjectMeta{Namespace: ns, Name: "cart" + suffix, Labels: map[string]string{discoveryv1.LabelServiceName: "cart" + suffix}},
			AddressType: discoveryv1.AddressTypeIPv4,
			Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.1"}, Conditions: discoveryv1.EndpointConditions{Ready: &ready}}},
		}
		grant := &gatewayv1.ReferenceGrant{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "grant" + suffix},
			Spec: gatewayv1.ReferenceGrantSpec{
				From: []gatewayv1.ReferenceGrantFrom{{Group: mesh.GatewayGroup, Kind: "HTTPRoute", Namespace: gatewayv1.Namespace("from" + suffix)}},
				To:   []gatewayv1.ReferenceGrantTo{{Kind: "Service"}},
			},
		}
		headless := service(ns, "headless"+suffix)
		headless.Spec.ClusterIP = corev1.ClusterIPNone
		external := &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "external" + suffix},
			Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "example.com"},
		}
		create(t, c, svc, headless, external, slice, grant,
			httpRoute(ns, "web"+suffix, "cart"+suffix, "other"+suffix),
			&gatewayv1.TCPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "raw" + suffix}, Spec: gatewayv1.TCPRouteSpec{
				CommonRouteSpec: httpRoute(ns, "", "cart"+suffix).Spec.CommonRouteSpec,
				Rules:           []gatewayv1.TCPRouteRule{{BackendRefs: []gatewayv1.BackendRef{{BackendObjectReference: backend("cart"+suffix, 80)}}}},
			}},
		)
	}
	populate("-before")
	cache := startCache(t, kube.Options{})
	populate("-after")
	denying := mesh.ServiceMetadata{ServiceLabels: mesh.ServiceLabels{ConsumerRoutes: "deny"}}
	for _, suffix := range []string{"-before", "-after"} {
		key := func(name string) mesh.ServiceKey {
			return mesh.ServiceKey{Kind: mesh.ServiceKind, Namespace: ns, Name: name + suffix}
		}
		type seen struct {
			Namespace  map[string]string
			Services   []*mesh.Service
			Endpoints  []bool
			Attached   []string
			AttachedTo []string
		}
		want := seen{
			Namespace: map[string]string{mesh.GrantLabel: "all", "kubernetes.io/metadata.name": ns},
			Services: []*mesh.Service{
				{Key: key("cart"), Type: mesh.ClusterIP, ServiceMetadata: denying, Ports: []mesh.Port{
					{Name: "http", Number: 80, Protocol: mesh.TCP}, {Name: "dns", Number: 53, Protocol: mesh.UDP, AppProtocol: "kubernetes.io/h2c"},
				}},
				{Key: key("headless"), Type: mesh.ClusterIP, Headless: true, Ports: []mesh.Port{{Name: "http", Number: 80, Protocol: mesh.TCP}}},
				{Key: key("external"), Type: mesh.ExternalName, Alias: "example.com"},
			},
			Endpoints:  []bool{true, false},
			Attached:   []string{"HTTPRoute " + ns + "/web" + suffix, "TCPRoute " + ns + "/raw" + suffix},
			AttachedTo: []string{"HTTPRoute " + ns + "/web" + suffix},
		}
		background.Eventually(t, func() string {
			var got seen
			if namespace, err := mesh.FindNamespace(cache, ns); err == nil {
				got.Namespace = namespace.Labels
			}
			for _, name := range []string{"cart", "headless", "external"} {
				if svc, err := mesh.FindService(cache, key(name)); err == nil {
					got.Services = append(got.Services, svc)
				}
			}
			for _, name := range []string{"cart", "headless"} {
				has, err := mesh.HasEndpoints(cache, key(name))
				if err != nil {
					t.Fatal(err)
				}
				got.Endpoints = append(got.Endpoints, has)
			}
			got.Attached, got.AttachedTo = attached(t, cache, ns, "cart"+suffix), attached(t, cache, ns, "other"+suffix)
			return gocmp.Diff(want, got, cmpopts.EquateEmpty())
		})
	}
	background.Eventually(t, func() string {
		got, err := mesh.ReferenceGrants(cache, ns)
		if err != nil {
			t.Fatal(err)
		}
		want := []mesh.ReferenceGrant{}
		for _, suffix := range []string{"-after", "-before"} {
			want = append(want, mesh.ReferenceGrant{
				Name: "grant" + suffix,
				From: []mesh.ReferenceGrantFrom{{Group: mesh.GatewayGroup, Kind: "HTTPRoute", Namespace: "from" + suffix}},
				To:   []mesh.ReferenceGrantTo{{Kind: "Service"}},
			})
		}
		got = slices.SortedFunc(slices.Values(got), func(a, b mesh.ReferenceGrant) int { return cmp.Compare(a.From[0].Namespace, b.From[0].Namespace) })
		return gocmp.Diff(want, got)
	})
}

func backend(name string, port int32) gatewayv1.BackendObjectReference {
	return gatewayv1.BackendObjectReference{Name: gatewayv1.ObjectName(name), Port: &port}
}

// TestIndexFollowsRoutes moves a route from one Service to another, deletes it, and
// compares the index and the reported changes.
func TestIndexFollowsRoutes(t *testing.T) {
	c := admin(t)
	ns := newNamespace(t, c, nil)
	var mu sync.Mutex
	changed := map[string]bool{}
	cache := startCache(t, kube.Options{}, func(change kube.Change) {
		mu.Lock()
		defer mu.Unlock()
		if change.Route.Namespace == ns {
			names := []string{}
			for _, key := range change.Services {
				names = append(names, key.Name)
			}
			slices.Sort(names)
			changed[fmt.Sprint(names)] = true
		}
	})
	has := func(cart, shop int) {
		t.Helper()
		background.Eventually(t, func() string {
			if a, b := len(attached(t, cache, ns, "cart")), len(attached(t, cache, ns, "shop")); a != cart || b != shop {
				return fmt.Sprintf("%d routes on cart and %d on shop, want %d and %d", a, b, cart, shop)
			}
			return ""
		})
	}
	reported := func(services ...string) {
		t.Helper()
		background.Eventually(t, func() string {
			mu.Lock()
			defer mu.Unlock()
			if !changed[fmt.Sprint(services)] {
				return fmt.Sprintf("no change reported of %v, only of %v", services, changed)
			}
			clear(changed)
			return ""
		})
	}
	route := httpRoute(ns, "web", "cart")
	create(t, c, route, httpRoute(ns, "second", "cart"))
	has(2, 0)
	reported("cart")
	route.Spec.ParentRefs[0].Name = "shop"
	if err := c.Update(t.Context(), route); err != nil {
		t.Fatal(err)
	}
	has(1, 1)
	reported("cart", "shop")
	// A route that has gone to a Gateway is kept no longer.
	route.Spec.ParentRefs = []gatewayv1.ParentReference{{Name: "gateway"}}
	if err := c.Update(t.Context(), route); err != nil {
		t.Fatal(err)
	}
	has(1, 0)
	reported("shop")
	if err := c.DeleteAllOf(t.Context(), &gatewayv1.HTTPRoute{}, client.InNamespace(ns)); err != nil {
		t.Fatal(err)
	}
	has(0, 0)
	reported("cart")
	if held := cache.RoutesInNamespace(ns); len(held) != 0 {
		t.Errorf("still holds %d routes", len(held))
	}
	if parents := cache.ParentsInNamespace(ns); len(parents) != 0 {
		t.Errorf("still has %v as parents", parents)
	}
}

// TestCacheKeepsOwnEntries tells our entries in a route's status from others'.
func TestCacheKeepsOwnEntries(t *testing.T) {
	c := admin(t)
	ns := newNamespace(t, c, nil)
	cache := startCache(t, kube.Options{ControllerName: "gammaguard.dev/guard"})
	route := httpRoute(ns, "web", "cart")
	create(t, c, route)
	condition := metav1.Condition{
		Type: "Accepted", Status: metav1.ConditionFalse, Reason: "Conflicted", Message: "lost", ObservedGeneration: 1,
		LastTransitionTime: metav1.NewTime(time.Unix(1700000000, 0)),
	}
	for _, controller := range []gatewayv1.GatewayController{"example.com/mesh", "gammaguard.dev/guard"} {
		route.Status.Parents = append(route.Status.Parents, gatewayv1.RouteParentStatus{
			ParentRef: route.Spec.ParentRefs[0], ControllerName: controller, Conditions: []metav1.Condition{condition},
		})
	}
	if err := c.Status().Update(t.Context(), route); err != nil {
		t.Fatal(err)
	}
	core := ""
	want := []kube.Entry{{
		ParentRef:  mesh.ParentRef{Group: &core, Kind: "Service", Name: "cart"},
		Conditions: []metav1.Condition{condition},
	}}
	background.Eventually(t, func() string {
		held := cache.Route(kube.RouteKey{Kind: mesh.HTTPRoute, Namespace: ns, Name: "web"})
		if held == nil || held.ForeignEntries != 1 {
			return fmt.Sprintf("route with 1 entry of others, got %+v", held)
		}
		return gocmp.Diff(want, held.Entries)
	})
}
