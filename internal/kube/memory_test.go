package kube

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/gammaguard/gammaguard/mesh"
)

// TestMemoryPerRoute holds the cache to less than 1 KiB a route.
func TestMemoryPerRoute(t *testing.T) {
	const services, each = 2000, 5
	api := newFakeAPI(t)
	api.serves(mesh.GatewayGroup, "v1", "httproutes")
	collection := gatewayV1 + "httproutes"
	for s := range services {
		namespace, service := fmt.Sprintf("namespace-%03d", s%50), fmt.Sprintf("service-%05d", s)
		for r := range each {
			api.add(collection, routeJSON(namespace, fmt.Sprintf("route-%05d-%d", s, r), service))
		}
	}
	empty := newFakeAPI(t)
	waitForSync(t, empty.start(t, Options{})) // so that what every cache needs is there
	before := heap()
	cache := api.start(t, Options{})
	waitForSync(t, cache)
	perRoute := float64(heap()-before) / (services * each)
	t.Logf("%.0f bytes a route", perRoute)
	if perRoute > 1024 {
		t.Errorf("%.0f bytes a route, want less than 1 KiB", perRoute)
	}
	if n := len(slices.Collect(cache.Routes())); n != services*each {
		t.Errorf("holds %d routes", n)
	}
}

// heap returns the bytes in use, once all garbage is gone.
func heap() uint64 {
	var stats runtime.MemStats
	for range 3 {
		runtime.GC()
	}
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
