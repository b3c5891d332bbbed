package traffic

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// manyRoutes returns HTTPRoutes with five matches each on one Service, or on a
// Service of its own for each ten routes: paths, of which some have headers or
// methods. Every tenth route of the second version sends its requests elsewhere.
func manyRoutes(w *world, routes int, oneService bool, version int) apiRoutes {
	var out apiRoutes
	group, kind, port := gatewayv1.Group(""), gatewayv1.Kind("Service"), gatewayv1.PortNumber(80)
	for i := range routes {
		service := "cart"
		if !oneService {
			service = fmt.Sprintf("cart-%d", i/10)
			key := serviceKey(service)
			if w.services[key] == nil {
				copied := *w.services[serviceKey("cart")]
				copied.Key = key
				w.services[key] = &copied
			}
		}
		route := &gatewayv1.HTTPRoute{}
		route.Namespace, route.Name = "shop", fmt.Sprintf("r%04d", i)
		route.Spec.ParentRefs = []gatewayv1.ParentReference{{Group: &group, Kind: &kind, Name: gatewayv1.ObjectName(service), Port: &port}}
		rule := gatewayv1.HTTPRouteRule{BackendRefs: []gatewayv1.HTTPBackendRef{{}}}
		backend := &rule.BackendRefs[0]
		backend.Name, backend.Port = "cart-v1", new(gatewayv1.PortNumber(8080))
		if version == 2 && i%10 == 0 {
			backend.Name = "cart-v2"
		}
		for j := range 5 {
			path := fmt.Sprintf("/api/%d/%d", i%200, j)
			match := gatewayv1.HTTPRouteMatch{Path: &gatewayv1.HTTPPathMatch{Value: &path}}
			if j%2 == 0 {
				match.Headers = []gatewayv1.HTTPHeaderMatch{{Name: "tenant", Value: fmt.Sprintf("t%d", i/200)}}
			}
			if j == 4 {
				match.Method = new(gatewayv1.HTTPMethodPost)
			}
			rule.Matches = append(rule.Matches, match)
		}
		route.Spec.Rules = []gatewayv1.HTTPRouteRule{rule}
		out.HTTP = append(out.HTTP, route)
	}
	return out
}

// manyTenants returns an HTTPRoute for each tenant, all of one path: no match says
// less than another, and all differ in a header alone.
func manyTenants(routes int, header gatewayv1.HTTPHeaderName, backend gatewayv1.ObjectName) apiRoutes {
	w := newWorld()
	out := manyRoutes(w, routes, true, 1)
	for i, route := range out.HTTP {
		route.Name = fmt.Sprintf("t%04d", i)
		rule := &route.Spec.Rules[0]
		rule.BackendRefs[0].Name = backend
		for j := range rule.Matches {
			rule.Matches[j] = gatewayv1.HTTPRouteMatch{Headers: []gatewayv1.HTTPHeaderMatch{{Name: header, Value: fmt.Sprintf("t%d-%d", i, j)}}}
		}
	}
	return out
}

// BenchmarkDiff compares two versions of routes with five matches each. MiB/op is
// what one difference allocates in all, an upper bound of what it needs at a time.
func BenchmarkDiff(b *testing.B) {
	run := func(name string, versions func(w *world) (apiRoutes, apiRoutes)) {
		b.Run(name, func(b *testing.B) {
			w := newWorld()
			w.read(b, shop)
			first, second := versions(w)
			before, after := first.stored(b), second.stored(b)
			var start, end runtime.MemStats
			runtime.ReadMemStats(&start)
			for b.Loop() {
				difference, err := Diff(tableOf(w, before, Options{}), tableOf(w, after, Options{}))
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(difference.Changes()), "changes")
				b.ReportMetric(float64(strings.Count(difference.String(), onlyWitnesses)), "witnesses-only")
			}
			runtime.ReadMemStats(&end)
			b.ReportMetric(float64(end.TotalAlloc-start.TotalAlloc)/float64(b.N)/(1<<20), "MiB/op")
		})
	}
	run("matches=5000/ports=100", func(w *world) (apiRoutes, apiRoutes) {
		return manyRoutes(w, 1000, false, 1), manyRoutes(w, 1000, false, 2)
	})
	for _, routes := range []int{100, 200, 500, 1000} {
		run(fmt.Sprintf("matches=%d/ports=1", 5*routes), func(w *world) (apiRoutes, apiRoutes) {
			return manyRoutes(w, routes, true, 1), manyRoutes(w, routes, true, 2)
		})
	}
	run("matches=5000/ports=1/paths-and-headers", func(w *world) (apiRoutes, apiRoutes) {
		join := func(version int, backend gatewayv1.ObjectName) apiRoutes {
			return apiRoutes{HTTP: append(manyRoutes(w, 500, true, version).HTTP, manyTenants(500, "tenant", backend).HTTP...)}
		}
		return join(1, "cart-v1"), join(2, "cart-v2")
	})
	run("matches=5000/ports=1/all-others", func(*world) (apiRoutes, apiRoutes) {
		return manyTenants(1000, "tenant", "cart-v1"), manyTenants(1000, "team", "cart-v2")
	})
	for _, routes := range []int{100, 200, 500, 1000} {
		run(fmt.Sprintf("matches=%d/ports=1/one-path", 5*routes), func(*world) (apiRoutes, apiRoutes) {
			return manyTenants(routes, "tenant", "cart-v1"), manyTenants(routes, "tenant", "cart-v2")
		})
	}
}
