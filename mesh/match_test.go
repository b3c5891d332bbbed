package mesh_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/mesh"
)

// decodeRule returns a route of the kind with one rule.
func decodeRule(t *testing.T, kind mesh.RouteKind, rule string) *mesh.Route {
	t.Helper()
	route, err := mesh.DecodeRoute(fmt.Appendf(nil, `{"kind": %q, "spec": {"rules": [%s]}}`, kind, rule))
	if err != nil {
		t.Fatal(err)
	}
	return route
}

// Each group lists spellings of one match; no two groups share a key.
func TestMatchKeys(t *testing.T) {
	for kind, groups := range map[mesh.RouteKind][][]string{
		mesh.HTTPRoute: {
			{`{}`, `{"path": {}}`, `{"path": {"value": "/"}}`, `{"path": {"type": "PathPrefix"}}`, `{"path": {"type": "PathPrefix", "value": "/"}}`, `{"headers": []}`},
			{`{"path": {"value": "/a"}}`, `{"path": {"value": "/a/"}}`, `{"path": {"type": "PathPrefix", "value": "/a"}}`},
			{`{"path": {"type": "Exact", "value": "/a"}}`},
			{`{"path": {"type": "Exact", "value": "/a/"}}`},
			{`{"path": {"type": "Exact", "value": "/"}}`},
			{`{"path": {"type": "RegularExpression", "value": "/a"}}`},
			{`{"path": {"type": "RegularExpression", "value": "/a/"}}`},
			{`{"path": {"value": "/A"}}`},
			{`{"path": {"value": "/ab"}}`},
			{`{"method": "GET"}`, `{"method": "GET", "path": {"value": "/"}}`},
			{`{"method": "POST"}`},
			{
				`{"headers": [{"name": "X-A", "value": "1"}, {"name": "x-b", "value": "2"}]}`,
				`{"headers": [{"name": "X-B", "value": "2", "type": "Exact"}, {"name": "x-a", "value": "1"}]}`,
				`{"headers": [{"name": "x-a", "value": "1"}, {"name": "x-b", "value": "2"}, {"name": "X-A", "value": "3"}]}`,
			},
			{`{"headers": [{"name": "x-a", "value": "3"}, {"name": "x-b", "value": "2"}]}`},
			{`{"headers": [{"name": "x-a", "value": "1"}]}`},
			{`{"headers": [{"name": "x-a", "value": "1", "type": "RegularExpression"}]}`},
			{`{"queryParams": [{"name": "x-a", "value": "1"}]}`, `{"queryParams": [{"name": "x-a", "value": "1"}, {"name": "x-a", "value": "2"}]}`},
			{`{"queryParams": [{"name": "X-A", "value": "1"}]}`},
			{`{"headers": [{"name": "x-a", "value": "1"}], "queryParams": [{"name": "x-a", "value": "1"}]}`},
			{`{"headers": [{"name": "x-a1", "value": ""}]}`},
		},
		mesh.GRPCRoute: {
			{`{}`, `{"method": {}}`, `{"method": {"type": "Exact"}}`, `{"headers": []}`},
			{`{"method": {"service": "shop.Cart", "method": "Add"}}`, `{"method": {"type": "Exact", "method": "Add", "service": "shop.Cart"}}`},
			{`{"method": {"type": "RegularExpression", "service": "shop.Cart", "method": "Add"}}`},
			{`{"method": {"service": "shop.Cart"}}`},
			{`{"method": {"service": "shop.cart"}}`},
			{`{"method": {"method": "Add"}}`},
			{`{"method": {"service": "shop.CartAdd"}}`},
			{`{"headers": [{"name": "X-A", "value": "1"}]}`, `{"headers": [{"name": "x-a", "value": "1"}]}`},
			{`{"method": {"service": "shop.Cart"}, "headers": [{"name": "x-a", "value": "1"}]}`},
		},
	} {
		owner := map[mesh.MatchKey]int{}
		for i, group := range groups {
			var first mesh.MatchKey
			for j, match := range group {
				keys := decodeRule(t, kind, `{"matches": [`+match+`]}`).MatchKeys(nil)
				if len(keys) != 1 || keys[0].Rule != 0 || keys[0].Match != 0 {
					t.Fatalf("%s %s: got %+v, want one match at rule 0, match 0", kind, match, keys)
				}
				key := keys[0].Key
				if j == 0 {
					first = key
					if other, taken := owner[key]; taken {
						t.Errorf("%s %s has the key of %s", kind, match, groups[other][0])
					}
					owner[key] = i
				} else if key != first {
					t.Errorf("%s %s has another key than %s", kind, match, group[0])
				}
			}
		}
	}
}

func TestMatchKeysOfRules(t *testing.T) {
	type place struct{ Rule, Match int }
	for name, test := range map[string]struct {
		json string
		want []place
		// equal are the indices of keys that must be the same as the first.
		equal []int
	}{
		"rules without matches": {`{"kind": "HTTPRoute", "spec": {"rules": [{}, {"matches": [{}, {"method": "GET"}]}, {"matches": []}]}}`, []place{{0, -1}, {1, 0}, {1, 1}, {2, -1}}, []int{1, 3}},
		"gRPC":                  {`{"kind": "GRPCRoute", "spec": {"rules": [{}, {"matches": [{"method": {}}]}]}}`, []place{{0, -1}, {1, 0}}, []int{1}},
		"TCP":                   {`{"kind": "TCPRoute", "spec": {"rules": [{}, {}]}}`, []place{{0, -1}, {1, -1}}, []int{1}},
		"UDP":                   {`{"kind": "UDPRoute", "spec": {"rules": [{}]}}`, []place{{0, -1}}, nil},
		"TLS, any hostname":     {`{"kind": "TLSRoute", "spec": {"hostnames": ["a.example", "b.example", "A.Example"], "rules": [{}]}}`, []place{{0, -1}}, nil},
		"TLS without hostname":  {`{"kind": "TLSRoute", "spec": {"rules": [{}]}}`, []place{{0, -1}}, nil},
		"no rules":              {`{"kind": "HTTPRoute"}`, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			route, err := mesh.DecodeRoute([]byte(test.json))
			if err != nil {
				t.Fatal(err)
			}
			keys := route.MatchKeys(nil)
			var got []place
			var equal []int
			for i, key := range keys {
				got = append(got, place{key.Rule, key.Match})
				if i > 0 && key.Key == keys[0].Key {
					equal = append(equal, i)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("places (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.equal, equal); diff != "" {
				t.Errorf("keys equal to the first (-want +got):\n%s", diff)
			}
		})
	}
}

// TestMatchKeysOfServerNames: where the mesh matches them.
func TestMatchKeysOfServerNames(t *testing.T) {
	route := mesh.Route{Kind: mesh.TLSRoute, Spec: mesh.RouteSpec{Hostnames: mesh.Hostnames{"a.example", "b.example", "A.Example"}, Rules: make([]mesh.RouteRule, 1)}}
	keys := route.MatchKeys(mesh.FindProfile(mesh.Istio))
	if len(keys) != 3 || keys[0] != keys[2] || keys[0] == keys[1] {
		t.Errorf("%v", keys)
	}
	if route.Attached(mesh.FindProfile(mesh.Istio)).CatchAll {
		t.Error("a TLSRoute with hostnames catches all")
	}
}

func TestCatchAll(t *testing.T) {
	for _, test := range []struct {
		kind mesh.RouteKind
		rule string
		want bool
	}{
		{mesh.HTTPRoute, `{}`, true},
		{mesh.HTTPRoute, `{"matches": []}`, true},
		{mesh.HTTPRoute, `{"matches": [{}]}`, true},
		{mesh.HTTPRoute, `{"matches": [{"path": {"type": "PathPrefix", "value": "/"}}]}`, true},
		{mesh.HTTPRoute, `{"matches": [{"path": {"value": "/a"}}, {"path": {"value": "/"}}]}`, true},
		{mesh.HTTPRoute, `{"matches": [{"path": {"value": "/a"}}]}, {}`, true},
		{mesh.HTTPRoute, `{"matches": [{"path": {"value": "/a"}}]}`, false},
		{mesh.HTTPRoute, `{"matches": [{"path": {"type": "Exact", "value": "/"}}]}`, false},
		{mesh.HTTPRoute, `{"matches": [{"path": {"type": "RegularExpression", "value": "/.*"}}]}`, true},
		{mesh.HTTPRoute, `{"matches": [{"path": {"type": "RegularExpression", "value": "^.*$"}}]}`, true},
		{mesh.HTTPRoute, `{"matches": [{"path": {"type": "RegularExpression", "value": "/a.*"}}]}`, false},
		{mesh.HTTPRoute, `{"matches": [{"path": {"type": "RegularExpression", "value": "/.+"}}]}`, false},
		{mesh.HTTPRoute, `{"matches": [{"path": {"type": "RegularExpression", "value": "/.*"}, "method": "GET"}]}`, false},
		{mesh.HTTPRoute, `{"matches": [{"method": "GET"}]}`, false},
		{mesh.HTTPRoute, `{"matches": [{"headers": [{"name": "a", "value": "b"}]}]}`, false},
		{mesh.HTTPRoute, `{"matches": [{"queryParams": [{"name": "a", "value": "b"}]}]}`, false},
		{mesh.HTTPRoute, ``, false},
		{mesh.GRPCRoute, `{}`, true},
		{mesh.GRPCRoute, `{"matches": [{}]}`, true},
		{mesh.GRPCRoute, `{"matches": [{"method": {"type": "Exact"}}]}`, true},
		{mesh.GRPCRoute, `{"matches": [{"method": {"service": "shop.Cart"}}]}`, false},
		{mesh.GRPCRoute, `{"matches": [{"method": {"method": "Add"}}]}`, false},
		{mesh.GRPCRoute, `{"matches": [{"headers": [{"name": "a", "value": "b"}]}]}`, false},
		{mesh.TLSRoute, `{}`, true},
		{mesh.TCPRoute, `{}`, true},
		{mesh.UDPRoute, `{}`, true},
		{mesh.TCPRoute, ``, false},
	} {
		if got := decodeRule(t, test.kind, test.rule).Attached(nil).CatchAll; got != test.want {
			t.Errorf("%s with rules [%s]: CatchAll = %v", test.kind, test.rule, got)
		}
	}
}

// TestMatchKeysAreLinear: the keys of a route, which the cache holds, are as many as the
// matches that are written.
func TestMatchKeysAreLinear(t *testing.T) {
	route := mesh.Route{Kind: mesh.TLSRoute, Spec: mesh.RouteSpec{Rules: make([]mesh.RouteRule, 16)}}
	for i := range 1024 {
		route.Spec.Hostnames = append(route.Spec.Hostnames, fmt.Sprintf("h%d.example", i))
	}
	if got := len(route.MatchKeys(mesh.FindProfile(mesh.Istio))); got != 1024 {
		t.Errorf("%d keys of 1024 hostnames", got)
	}
}
