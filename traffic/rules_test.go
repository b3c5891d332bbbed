package traffic

import (
	"strings"
	"testing"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

// TestShadowsNeverDecide: no request is decided by a match that match-unreachable
// reports, by the specification and by the meshes that rank regular expressions otherwise.
func TestShadowsNeverDecide(t *testing.T) {
	for _, profile := range append(mesh.Profiles(), nil) {
		if profile != nil && profile.Ranks() == mesh.RankingUnknown {
			continue
		}
		options, name := Options{}, "specification"
		if profile != nil {
			options, name = by(t, validate.Policy{Mesh: profile}), profile.Title
		}
		t.Run(name, func(t *testing.T) {
			found, ranked := 0, 0
			for seed := range uint64(600) {
				c := randomChoices(seed, 800)
				routes, route := c.shadowed(t, seed%3 == 0)
				shadowed := map[[2]int]bool{}
				for _, shadow := range route.Shadows(route.Attached(profile).Matches, profile) {
					shadowed[[2]int{shadow.Rule, max(shadow.Match, 0)}] = true
					found++
					if shadow.Ranked {
						ranked++
					}
				}
				w := newWorld()
				w.read(t, shop)
				table := tableOf(w, routes.stored(t), options)
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
			if t.Logf("%d matches never decide, %d by rank", found, ranked); found < 80 || (profile != nil) != (ranked > 3) {
				t.Errorf("%d matches never decide, and %d of them by rank", found, ranked)
			}
		})
	}
}

// shadowed returns a route with regular expressions, some of which include others and prefixes.
func (c *choices) shadowed(t *testing.T, grpc bool) (apiRoutes, *mesh.Route) {
	regular, path, call := gatewayv1.HeaderMatchRegularExpression, gatewayv1.PathMatchRegularExpression, gatewayv1.GRPCMethodMatchRegularExpression
	if grpc {
		route := c.grpcRoute(0)
		route.Namespace = "shop"
		for i := range route.Spec.Rules {
			for j := range route.Spec.Rules[i].Matches {
				if method := route.Spec.Rules[i].Matches[j].Method; method != nil && c.maybe(40) {
					service, do := pick(c, "a[.]S", "bb?[.]S", ".*"), pick(c, "Do|Undo", ".*", "")
					*method = gatewayv1.GRPCMethodMatch{Type: &call, Service: &service, Method: &do}
				}
			}
		}
		return apiRoutes{GRPC: []*gatewayv1.GRPCRoute{route}}, reducedRoute(t, mesh.GRPCRoute, route)
	}
	route := c.httpRoute(0)
	route.Namespace = "shop"
	for i := range route.Spec.Rules {
		for j := range route.Spec.Rules[i].Matches {
			match := &route.Spec.Rules[i].Matches[j]
			if len(match.Headers) > 0 && c.maybe(30) {
				match.Headers[0].Type, match.Headers[0].Value = &regular, pick(c, "[12]", "1|3", "(")
			}
			if c.maybe(30) {
				text := pick(c, "/.*", "/a.*", "^/a/.*$", "/a/[0-9]+", "/a/b|/ab", "(?i)/a/b.*", "/a/b?.*", "/a$.*")
				match.Path = &gatewayv1.HTTPPathMatch{Type: &path, Value: &text}
			}
		}
	}
	return apiRoutes{HTTP: []*gatewayv1.HTTPRoute{route}}, reducedRoute(t, mesh.HTTPRoute, route)
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
