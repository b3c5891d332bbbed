package mesh

import (
	"slices"
	"testing"
)

// TestDoes: the best evidence for the release answers.
func TestDoes(t *testing.T) {
	for _, test := range []struct {
		mesh  ProfileName
		kind  RouteKind
		field Field
		want  Treatment
	}{
		{"", HTTPRoute, RequestTimeout, Honored},
		{"", HTTPRoute, HostnamesField, Ignored},
		{"", GRPCRoute, NoMatch, RequestFails},
		{"", TCPRoute, NoBackendRefs, RequestFails},
		{Linkerd, HTTPRoute, RequestTimeout, Honored},
		{"linkerd@edge-25.11.3", HTTPRoute, RequestTimeout, Ignored},
		{"linkerd@edge-25.12.1", HTTPRoute, RequestTimeout, Honored},
		{"linkerd@stable-2.14.10", HTTPRoute, RequestTimeout, Ignored},
		{"linkerd@enterprise-2.19.1", HTTPRoute, RequestTimeout, Ignored},
		{"linkerd@2.20", HTTPRoute, RequestTimeout, Honored},
		{Linkerd, HTTPRoute, BackendRequestTimeout, Ignored}, // a report claims it, the source does not have it
		{Linkerd, HTTPRoute, RuleFilter(RequestMirrorFilter), RouteDropped},
		{Linkerd, GRPCRoute, RuleFilter(ResponseHeaderModifierFilter), Ignored},
		{Linkerd, HTTPRoute, RuleFilter(ResponseHeaderModifierFilter), Honored},
		{Linkerd, TLSRoute, HostnamesField, Honored},
		{Linkerd, TLSRoute, NoBackendRefs, ToParent},
		{Linkerd, TCPRoute, NoBackendRefs, UnknownTreatment},
		{"cilium@1.17.3", HTTPRoute, RequestTimeout, Honored}, // by reports
		{"cilium@1.18", HTTPRoute, Retry, UnknownTreatment},   // they are silent
		{"cilium@1.20.2", HTTPRoute, Retry, Honored},          // by the source
		{"kuma@2.14.9", HTTPRoute, NoMatch, ToParent},
		{"kuma@2.15", HTTPRoute, NoMatch, RequestFails},
		{"kuma@3.0.0", HTTPRoute, RuleFilter(CORSFilter), RequestFails},
		{Istio, UDPRoute, NoBackendRefs, UnknownTreatment},
		{Istio, HTTPRoute, RuleFilter("Other"), UnknownTreatment},
	} {
		if got := FindProfile(test.mesh).Does(test.kind, test.field); got.Value != test.want || got.Source == "" {
			t.Errorf("%s, %s, %s: %q (%s), want %q", test.mesh, test.kind, test.field, got.Value, got.Source, test.want)
		}
	}
}

// TestReleases: what differs between releases, besides fields.
func TestReleases(t *testing.T) {
	for name, ok := range map[string]bool{
		"Cilium takes no GRPCRoutes before 1.19": !FindProfile("cilium@1.18.9").Takes(GRPCRoute) && FindProfile("cilium@1.19.0-pre.2").Takes(GRPCRoute),
		"Cilium takes the group core since 1.19": FindProfile("cilium@v1.19").CoreGroup.Value && !FindProfile("cilium@1.18").CoreGroup.Value && !FindProfile(Cilium).CoreGroup.Value,
		"Kuma takes GRPCRoutes since 2.15":       FindProfile("kuma@2.15.0").Takes(GRPCRoute) && !FindProfile(Kuma).Takes(GRPCRoute),
		"what differs is kept":                   len(FindProfile(Kuma).RouteKinds.Others) == 1,
		"2.14 is known of Kuma":                  !FindProfile("kuma@2.14.9").Newer() && FindProfile("kuma@2.15").Newer() && FindProfile("kuma@3.0").Newer(),
		"no release is newer than none":          !(*Profile)(nil).Newer() && !FindProfile(Kuma).Newer(),
		"2.19 is known of Linkerd, 2.20 is not":  !FindProfile("linkerd@2.19").Newer() && FindProfile("linkerd@2.20").Newer() && !FindProfile("linkerd@2.11").Newer(),
	} {
		if !ok {
			t.Errorf("not so: %s", name)
		}
	}
	for _, name := range []ProfileName{"kuma@", "kuma@2", "kuma@latest", "kuma@2.13 ", "kuma@2.13@1", "kuma@-2.13", "acme@2.13", "@2.13", "Kuma@2.13", "kuma@99999.1"} {
		if FindProfile(name) != nil {
			t.Errorf("%q is a profile", name)
		}
	}
}

// TestUses: each field that a rule sets, with its place.
func TestUses(t *testing.T) {
	route, err := DecodeRoute([]byte(`{"kind": "HTTPRoute", "spec": {"rules": [
		{"retry": null, "timeouts": {}},
		{"retry": {}, "sessionPersistence": {}, "timeouts": {"request": "1s", "backendRequest": "1s"},
		 "filters": [{"type": "URLRewrite"}, {"type": "CORS"}], "backendRefs": [{"name": "a"}, {"name": "b", "filters": [{"type": "CORS"}]}]}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for use := range route.Uses() {
		got = append(got, use.Field.Noun()+" at "+use.Path())
	}
	want := []string{
		"timeouts.request at spec.rules[1].timeouts.request", "timeouts.backendRequest at spec.rules[1].timeouts.backendRequest",
		"retry at spec.rules[1].retry", "sessionPersistence at spec.rules[1].sessionPersistence",
		"a URLRewrite filter at spec.rules[1].filters[0]", "a CORS filter at spec.rules[1].filters[1]",
		"a CORS filter on a backendRef at spec.rules[1].backendRefs[1].filters[0]",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	for use := range route.Uses() { // whoever stops is not called again
		if use.Field == RequestTimeout {
			break
		}
	}
	if got := route.DroppedBy(FindProfile(Linkerd)); got != RuleFilter(URLRewriteFilter) || route.DroppedBy(nil) != "" || route.DroppedBy(FindProfile(Kuma)) != "" {
		t.Errorf("dropped for %q", got)
	}
}

// TestHostnames: a mesh that matches hostnames has one match for each, and no match for all.
func TestHostnames(t *testing.T) {
	decode := func(hostnames string) *Route {
		route, err := DecodeRoute([]byte(`{"kind": "HTTPRoute", "spec": {"hostnames": [` + hostnames + `], "rules": [{"matches": [{"method": "GET"}, {"path": {"value": "/a"}}]}, {}]}}`))
		if err != nil {
			t.Fatal(err)
		}
		return route
	}
	both, linkerd := decode(`"A.example", "*.b.example"`), FindProfile(Linkerd)
	got := both.Conditions(0, linkerd)
	want := [][]Condition{
		{{Subject{Dimension: MethodDimension}, Exact, "GET"}, {Subject{Dimension: HostDimension}, Exact, "a.example"}},
		{{Subject{Dimension: MethodDimension}, Exact, "GET"}, {Subject{Dimension: HostDimension}, Subdomain, ".b.example"}},
		{{Subject{Dimension: PathDimension}, PathPrefix, "/a"}, {Subject{Dimension: HostDimension}, Exact, "a.example"}},
		{{Subject{Dimension: PathDimension}, PathPrefix, "/a"}, {Subject{Dimension: HostDimension}, Subdomain, ".b.example"}},
	}
	if !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("conditions: %v", got)
	}
	if len(both.Conditions(0, FindProfile(Kuma))) != 2 || both.Attached(linkerd).CatchAll || !both.Attached(nil).CatchAll || !decode("").Attached(linkerd).CatchAll {
		t.Error("hostnames count where they should not, or do not where they should")
	}
	same := func(a, b *Route) bool { return slices.Equal(a.Attached(linkerd).Matches, b.Attached(linkerd).Matches) }
	if !same(both, decode(`"*.b.example", "a.example"`)) || same(both, decode(`"a.example"`)) || same(both, decode("")) {
		t.Error("the keys of matches do not tell hostnames apart")
	}
}
