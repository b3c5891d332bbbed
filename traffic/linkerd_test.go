package traffic

import (
	"slices"
	"strings"
	"testing"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

// TestAcrossScopes: Linkerd compares producer and consumer routes, so that the routes of the most specific kind take a port
// from those of the other scopes too.
func TestAcrossScopes(t *testing.T) {
	const onShop = `parentRefs: [{group: "", kind: Service, name: cart, namespace: shop, port: 80}]`
	const toAdmin = `rules: [{backendRefs: [{name: admin, namespace: shop, port: 80}]}]`
	linkerd := by(t, validate.Policy{Mesh: mesh.FindProfile(mesh.Linkerd)})
	web, rpc := http("shop/web", onShop+`, rules: [{`+toV1+`}]`), object("GRPCRoute faces/rpc", onShop+`, `+toAdmin)
	mock, calls := http("faces/mock", onShop+`, `+toAdmin), object("GRPCRoute shop/calls", onShop+`, rules: [{`+toV1+`}]`)
	for _, test := range []struct {
		name      string
		manifests []string
		from      string
		want      string
	}{
		{"other clients, without the producer route", []string{web, rpc}, "shop", "not taken: HTTPRoute shop/web: the port belongs to GRPCRoute faces/rpc"},
		{"the consumer's clients", []string{web, rpc}, "faces", "GRPCRoute faces/rpc rule[0] match[0]  (consumer of faces)"},
		{"a consumer route that loses", []string{calls, mock}, "faces", "GRPCRoute shop/calls rule[0] match[0]  (consumer of faces: none; producer)"},
		{"and why", []string{calls, mock}, "faces", "not taken: HTTPRoute faces/mock: the port belongs to GRPCRoute shop/calls"},
	} {
		trace, err := newTable(t, linkerd, test.manifests...).Trace(ask(t, "grpc a.B/C", "from "+test.from))
		if err != nil {
			t.Fatal(err)
		}
		if got := trace.String(); !strings.Contains(got, test.want) {
			t.Errorf("%s: got %s, want %s", test.name, got, test.want)
		}
	}
	diff, err := Diff(newTable(t, linkerd, web), newTable(t, linkerd, web, rpc))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := diff.String(), "cart-v1:8080 100 %  →  cart:80 100 %"; !strings.Contains(got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestDiffOfReleases: what the release of the version before does with a field is said of that version, and what both do is said once.
func TestDiffOfReleases(t *testing.T) {
	route := http("shop/web", onCart+`, rules: [{matches: [{path: {value: /a}}], timeouts: {request: 1s, backendRequest: 1s}, `+toV1+`}]`)
	of := func(name mesh.ProfileName) *Table {
		return newTable(t, by(t, validate.Policy{Mesh: mesh.FindProfile(name)}), route)
	}
	diff, err := Diff(of("linkerd@25.8"), of("linkerd@25.12"))
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(diff.Notes, "\n")
	for note, times := range map[string]int{
		"before, Linkerd ignores timeouts.request":                     1,
		"before, Linkerd ignores timeouts.request; use":                0,
		"Linkerd ignores timeouts.request":                             1,
		"Linkerd ignores timeouts.backendRequest":                      1,
		"before, Linkerd ignores timeouts.backendRequest":              0,
		"it is not known what Linkerd does with requests that no rule": 0,
	} {
		if strings.Count(got, note) != times {
			t.Errorf("%q is not there %d times: %s", note, times, got)
		}
	}
}

// TestDiffOfIgnoredField: of a field that is removed, and that the mesh ignores, nothing is said to be so still.
func TestDiffOfIgnoredField(t *testing.T) {
	linkerd := by(t, validate.Policy{Mesh: mesh.FindProfile("linkerd@25.8")})
	of := func(timeouts string) *Table {
		return newTable(t, linkerd, http("shop/web", onCart+`, rules: [{`+timeouts+toV1+`}]`))
	}
	const set, note = "timeouts: {request: 1s}, ", "HTTPRoute shop/web: Linkerd ignores timeouts.request; use the annotation timeout.linkerd.io/request on the route"
	for name, test := range map[string]struct{ before, after, want string }{
		"removed": {set, "", "HTTPRoute shop/web: before, Linkerd ignores timeouts.request"}, "added": {"", set, note}, "changed": {set, "timeouts: {request: 2s}, ", note},
	} {
		diff, err := Diff(of(test.before), of(test.after))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(diff.Notes, "\n"); got != test.want {
			t.Errorf("%s: got %s, want %s", name, got, test.want)
		}
	}
}

// TestUnknownAnswers: what a mesh does without a match, or without backendRefs, is noted where it is not known, once.
func TestUnknownAnswers(t *testing.T) {
	const noMatch = "it is not known what Linkerd does with requests that no rule of any HTTPRoute matches"
	linkerd := by(t, validate.Policy{Mesh: mesh.FindProfile(mesh.Linkerd)})
	route := func(path string) string {
		return http("shop/web", onCart+`, rules: [{matches: [{path: {value: `+path+`}}], `+toV1+`}]`)
	}
	trace, err := newTable(t, linkerd, route("/a")).Trace(ask(t, "/b"))
	if err != nil {
		t.Fatal(err)
	}
	if got := trace.String(); strings.Count(got, "note: "+noMatch+"\n") != 1 {
		t.Errorf("got %s", got)
	}
	diff, err := Diff(newTable(t, linkerd, route("/a")), newTable(t, linkerd, route("/b")))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(diff.Notes, "\n"); strings.Count(got, noMatch) != 1 {
		t.Errorf("got %s", got)
	}
	kuma := by(t, validate.Policy{Mesh: mesh.FindProfile(mesh.Kuma)})
	trace, err = newTable(t, kuma, http("shop/web", onCart+`, rules: [{}]`)).Trace(ask(t, "/b"))
	if err != nil {
		t.Fatal(err)
	}
	if got := trace.String(); !strings.Contains(got, "note: it is not known what Kuma does with a rule without backendRefs\n") {
		t.Errorf("got %s", got)
	}
}

// TestDiffWithoutHost: what a request is for is in the row, and no note asks for a Host header, as trace does of a request that a user specifies.
func TestDiffWithoutHost(t *testing.T) {
	linkerd := by(t, validate.Policy{Mesh: mesh.FindProfile(mesh.Linkerd)})
	named := http("shop/named", onCart+`, hostnames: [a.example], rules: [{`+toV1+`}]`)
	rest := func(backend string) string { return http("shop/rest", onCart+`, rules: [{`+backend+`}]`) }
	after := newTable(t, linkerd, named, rest(toV2))
	diff, err := Diff(newTable(t, linkerd, named, rest(toV1)), after)
	if err != nil || len(diff.Notes) > 0 || len(diff.Ports) != 1 {
		t.Errorf("%s %v", diff, err)
	}
	if trace, err := after.Trace(ask(t, "")); err != nil || !slices.Contains(trace.Notes, noHost) {
		t.Errorf("%+v %v", trace, err)
	}
}
