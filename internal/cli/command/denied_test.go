package command

import (
	"strings"
	"testing"
)

// TestTraceDenied: trace shows what a denied route would do, and says that it is denied. Of what keeps a route from the port, and of what only
// warns, there is no such note.
func TestTraceDenied(t *testing.T) {
	const (
		objects = "{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {LABELS}}}\n---\n" +
			"{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: shop}, spec: {ports: [{port: 80}]}}\n---\n" +
			"{apiVersion: v1, kind: Service, metadata: {name: old, namespace: shop}, spec: {type: ExternalName, externalName: cart.example.com}}\n---\n" +
			"{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: cart, namespace: shop}, spec: {parentRefs: [{group: \"\", kind: Service, name: cart, port: 80}], " +
			"rules: [{matches: [{path: {value: /cart}}], backendRefs: [{name: BACKEND, port: 80}]}]}}\n"
		note = "note: HTTPRoute shop/cart is denied (backend-external-name), so it is not applied before that is corrected: run gammaguard check for details\n"
	)
	for _, test := range []struct {
		labels, backend string
		noted           bool
	}{
		{"gammaguard.dev/grant: producer", "old", true},
		{"gammaguard.dev/grant: producer", "cart", false},
		{"gammaguard.dev/grant: producer", "none", false},
		{"gammaguard.dev/grant: none", "old", false},
		{"gammaguard.dev/grant: producer, gammaguard.dev/mode: warn", "old", false},
	} {
		for _, path := range []string{"/cart", "/other"} { // which no rule matches
			got := run(t, strings.NewReplacer("LABELS", test.labels, "BACKEND", test.backend).Replace(objects), "trace", "cart:80", "-f", "-", "--path", path)
			if got.code != ExitClean || strings.Contains(got.stdout, note) != test.noted || !test.noted && strings.Contains(got.stdout, "is denied") {
				t.Errorf("%+v: %s: %+v", test, path, got)
			}
		}
	}
}

// TestMisspelledMatches: a rule whose matches are misspelled takes all requests as it is written, which is not what is meant.
func TestMisspelledMatches(t *testing.T) {
	const route = "{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: cart, namespace: shop}, spec: {parentRefs: [{group: \"\", kind: Service, name: cart, port: 80}], " +
		"rules: [{MATCHES: [{path: {value: /}}], backendRefs: [{name: cart, port: 80}]}, {matches: [{path: {value: /}}], backendRefs: [{name: cart, port: 80}]}]}}\n"
	for matches, unreachable := range map[string]bool{"matches": true, "match": false, "matchs": false} {
		got := run(t, strings.Replace(route, "MATCHES", matches, 1), "check", "-f", "-")
		if strings.Contains(got.stdout, "(match-unreachable)") != unreachable || strings.Contains(got.stdout, `did you mean "matches"?`) == unreachable {
			t.Errorf("%s: %+v", matches, got)
		}
	}
}

// TestPortAsText: what is wrong with a port that is no number.
func TestPortAsText(t *testing.T) {
	const route = "{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: cart, namespace: shop}, spec: {parentRefs: [{group: \"\", kind: Service, name: cart, port: PORT}]}}\n"
	const named, quoted = "a port's name goes in sectionName (schema)", "write the number without quotes (schema)"
	for port, want := range map[string]string{"web": named, `"80"`: quoted, "[80]": `: "array" (schema)`, "'${PORT}'": "before the check (schema)"} {
		if got := run(t, strings.Replace(route, "PORT", port, 1), "check", "-f", "-"); !strings.Contains(got.stdout, want) {
			t.Errorf("%s: %+v", port, got)
		}
	}
}

// TestMisreadMatch: a match that the API server cannot read is not compared with others.
func TestMisreadMatch(t *testing.T) {
	const route = "{apiVersion: gateway.networking.k8s.io/v1, kind: GRPCRoute, metadata: {name: NAME, namespace: shop}, spec: {parentRefs: [{group: \"\", kind: Service, name: cart, port: 80}], " +
		"rules: [{MATCHES backendRefs: [{name: cart, port: 80}]}]}}\n---\n"
	const service = "{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: shop}, spec: {ports: [{port: 80}]}}\n---\n"
	for matches, overlaps := range map[string]bool{"": true, "matches: [{headers: [{name: a, value: b}]}, {}],": true, "matches: [{method: a.Cart/Add}],": false} {
		text := service + strings.NewReplacer("NAME", "all", "MATCHES", "").Replace(route) + strings.NewReplacer("NAME", "call", "MATCHES", matches).Replace(route)
		if got := run(t, text, "check", "-f", "-"); strings.Contains(got.stdout, "(route-overlap)") != overlaps {
			t.Errorf("%q: %+v", matches, got)
		}
	}
}
