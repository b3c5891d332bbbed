package traffic

import (
	"strings"
	"testing"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gammaguard/gammaguard/mesh"
)

// TestShadowsNeverDecide: no request is decided by a match that match-unreachable
// reports.
func TestShadowsNeverDecide(t *testing.T) {
	found := 0
	for seed := range uint64(2000) {
		c := randomChoices(seed, 800)
		route := c.httpRoute(0)
		route.Namespace = "shop"
		regular := gatewayv1.HeaderMatchRegularExpression
		for i := range route.Spec.Rules {
			for j := range route.Spec.Rules[i].Matches {
				if headers := route.Spec.Rules[i].Matches[j].Headers; len(headers) > 0 && c.maybe(30) {
					headers[0].Type, headers[0].Value = &regular, pick(c, "[12]", "1|3", "(")
				}
			}
		}
		shadowed := map[[2]int]bool{}
		reduced := reducedRoute(t, mesh.HTTPRoute, route)
		for _, shadow := range reduced.Shadows(reduced.Attached(nil).Matches) {
			shadowed[[2]int{shadow.Rule, max(shadow.Match, 0)}] = true
			found++
		}
		w := newWorld()
		w.read(t, shop)
		table := tableOf(w, apiRoutes{HTTP: []*gatewayv1.HTTPRoute{route}}.stored(t), Options{})
		for range 40 {
			trace, err := table.Trace(c.request())
			if err != nil {
				t.Fatal(err)
			}
			if chosen := trace.Chosen; chosen != nil && shadowed[[2]int{chosen.Rule, chosen.Match}] {
				t.Fatalf("seed %d: %s decides %s", seed, chosen, &trace.Request)
			}
		}
	}
	if found < 100 {
		t.Errorf("only %d matches never decide", found)
	}
}

// TestUnmatchedIsUnmatched: no rule matches the request that no-catch-all names.
func TestUnmatchedIsUnmatched(t *testing.T) {
	examples := map[string]int{}
	for seed := range uint64(2000) {
		c := randomChoices(seed, 800)
		var routes apiRoutes
		var attached []*mesh.AttachedRoute
		for i := range 2 {
			if seed%2 == 0 {
				routes.HTTP = append(routes.HTTP, c.httpRoute(i))
				attached = append(attached, reducedRoute(t, mesh.HTTPRoute, routes.HTTP[i]).Attached(nil))
			} else {
				routes.GRPC = append(routes.GRPC, c.grpcRoute(i))
				attached = append(attached, reducedRoute(t, mesh.GRPCRoute, routes.GRPC[i]).Attached(nil))
			}
		}
		example := (&mesh.Owner{Routes: attached}).Unmatched(attached[0].Kind)
		if example == "" {
			continue
		}
		examples[example]++
		request := ask(t)
		method, path, _ := strings.Cut(example, " ")
		request.Method, request.Path = method, path
		if call, ok := strings.CutPrefix(example, "a gRPC call of "); ok {
			if err := request.SetGRPC(call); err != nil {
				t.Fatal(err)
			}
		}
		w := newWorld()
		w.read(t, shop)
		trace, err := tableOf(w, routes.stored(t), Options{}).Trace(request)
		if err != nil {
			t.Fatal(err)
		}
		if trace.Chosen != nil {
			t.Fatalf("seed %d: %s decides %s", seed, trace.Chosen, example)
		}
	}
	if len(examples) < 4 {
		t.Errorf("only these examples: %v", examples)
	}
}
