package command

import (
	"strings"
	"testing"
)

// TestDiffOfStoredRoutes: a route that may no longer apply is named as the cause, and it is noted that it stays where it is stored.
func TestDiffOfStoredRoutes(t *testing.T) {
	t.Chdir(t.TempDir())
	const manifests = `{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {gammaguard.dev/grant: producer}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: bank, labels: {gammaguard.dev/grant: all}}}
---
{apiVersion: v1, kind: Service, metadata: {name: api, namespace: shop, labels: {gammaguard.dev/consumer-routes: allow}}, spec: {ports: [{name: http, port: 80}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: mock, namespace: bank}, spec: {ports: [{name: http, port: 80}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {namespace: shop, name: own}, spec: {parentRefs: [{group: "", kind: Service, name: api}], rules: [{matches: [{path: {value: /a}}], backendRefs: [{name: api, port: 80}]}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {namespace: bank, name: orders}, spec: {parentRefs: [{group: "", kind: Service, name: api, namespace: shop}], rules: [{backendRefs: [{name: mock, port: 80}]}]}}
`
	const stays = ": what is stored stays, and the mesh decides whether it applies"
	put(t, "base/all.yaml", manifests)
	for _, test := range []struct{ old, changed, cause, note string }{
		{"grant: all", "grant: producer", "consumer HTTPRoute bank/orders does not apply: namespace bank lacks the consumer grant", "HTTPRoute bank/orders lacks the grant now" + stays},
		{"consumer-routes: allow", "consumer-routes: deny", "consumer HTTPRoute bank/orders does not apply: Service shop/api ", "HTTPRoute bank/orders is refused on Service shop/api now" + stays},
		{"grant: producer", "grant: none", "HTTPRoute shop/own does not apply: namespace shop lacks the producer grant", "HTTPRoute shop/own lacks the grant now" + stays},
	} {
		put(t, "head/all.yaml", strings.Replace(manifests, test.old, test.changed, 1))
		for format, note := range map[string]string{"text": "note: " + test.note + "\n", "json": `"notes": [` + "\n    \"" + test.note + `"`, "markdown": "> `" + test.note + "`\n"} {
			got := run(t, "", "diff", "--base", "base", "-f", "head", "-o", format)
			if !strings.Contains(got.stdout, test.cause) || strings.Count(got.stdout, note) != 1 {
				t.Errorf("%s: want %q and %q, got\n%s%s", test.changed, test.cause, note, got.stdout, got.stderr)
			}
		}
	}
	one := manifests[strings.LastIndex(manifests, "---"):]
	all := manifests + strings.ReplaceAll(one, "name: orders", "name: prices")
	put(t, "base/all.yaml", all)
	put(t, "head/all.yaml", strings.Replace(all, "grant: all", "grant: producer", 1))
	for _, args := range []string{"--base base -f head", "--base base head"} {
		if got := run(t, "", append([]string{"diff"}, strings.Fields(args)...)...); !strings.Contains(got.stdout, "note: HTTPRoute bank/orders, HTTPRoute bank/prices lack the grant now"+stays+"\n") {
			t.Errorf("%s: of two routes, two notes: %+v", args, got)
		}
	}
	put(t, "base/all.yaml", manifests)
	put(t, "head/all.yaml", manifests[:strings.LastIndex(manifests, "---")])
	if got := run(t, "", "diff", "--base", "base", "-f", "head"); !strings.Contains(got.stdout, "(consumer HTTPRoute bank/orders was removed)") || strings.Contains(got.stdout, "stored") {
		t.Errorf("a removed route: %+v", got)
	}
}

// TestDiffNotesDenied: a route that is edited and denied for that stays as it was where it is stored, which the rows do not show.
func TestDiffNotesDenied(t *testing.T) {
	t.Chdir(t.TempDir())
	const (
		services = "{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {gammaguard.dev/grant: producer}}}\n---\n" +
			"{apiVersion: v1, kind: Service, metadata: {name: api, namespace: shop}, spec: {ports: [{name: http, port: 80}]}}\n---\n"
		route = `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {namespace: shop, name: parcel}, spec: {parentRefs: [{group: "", kind: Service, name: api, port: 80}], rules: [{backendRefs: [{name: api, port: 80}]}]}}` + "\n"
		note  = "HTTPRoute shop/parcel is denied: in mode enforce, what is stored stays as it was until that is corrected"
	)
	ungranted := strings.Replace(services, "gammaguard.dev/grant: producer", "", 1)
	section := strings.Replace(route, "api, port: 80}], rules", "api, sectionName: http}], rules", 1) // which gets its port by a mutation
	off := strings.Replace(route, "api, port: 80}], rules", "api, port: 81}], rules", 1)
	for _, test := range []struct {
		name, before, after string
		noted               bool
	}{
		{"edited", services + route, services + off, true},
		{"new", services, services + off, false},
		{"edited, and admitted", services + route, services + strings.Replace(route, "backendRefs", "matches: [{path: {value: /a}}], backendRefs", 1), false},
		{"its Service is gone", services + route, strings.Replace(services, "name: api", "name: other", 1) + route, false},
		{"the name of its Service's port is another", services + section, strings.Replace(services, "name: http", "name: web", 1) + section, false},
		{"denied before", services + off, services + strings.Replace(off, "backendRefs", "matches: [{path: {value: /a}}], backendRefs", 1), false},
		{"ungranted before, and edited", ungranted + route, ungranted + strings.Replace(route, "backendRefs", "matches: [{path: {value: /a}}], backendRefs", 1), true},
		{"ungranted before, and as it was", ungranted + route, ungranted + route, false},
		{"rejected by its definition", services + route, services + strings.Replace(off, "backendRefs", "matches: [{path: {value: a}}], backendRefs", 1), false},
	} {
		put(t, "base/all.yaml", test.before)
		put(t, "head/all.yaml", test.after)
		for _, args := range []string{"--base base -f head", "--base base head"} {
			got := run(t, "", append([]string{"diff"}, strings.Fields(args)...)...)
			if strings.Contains(got.stdout, "note: "+note+"\n") != test.noted || !test.noted && strings.Contains(got.stdout, "is denied") {
				t.Errorf("%s, %s: want a note: %t, got\n%s%s", test.name, args, test.noted, got.stdout, got.stderr)
			}
		}
	}
	put(t, "base/all.yaml", services+route+"---\n"+strings.Replace(route, "parcel", "letter", 1))
	put(t, "head/all.yaml", services+off+"---\n"+strings.Replace(off, "parcel", "letter", 1))
	if got := run(t, "", "diff", "--base", "base", "-f", "head"); !strings.Contains(got.stdout, "note: HTTPRoute shop/letter, "+strings.Replace(note, " is denied", " are denied", 1)+"\n") {
		t.Errorf("two: %+v", got)
	}
}

// TestDiffOfIgnoreAnnotation: a finding that is no longer silenced is new.
func TestDiffOfIgnoreAnnotation(t *testing.T) {
	t.Chdir(t.TempDir())
	const route = `{apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop}, spec: {ports: [{port: 80}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: web, namespace: shop, annotations: {IGNORE}}, spec: {parentRefs: [{group: "", kind: Service, name: web, port: 80}], rules: [{matches: [{path: {value: /a}}], backendRefs: [{name: web, port: 80}]}]}}
`
	silent, loud := strings.Replace(route, "IGNORE", "gammaguard.dev/ignore: no-catch-all", 1), strings.Replace(route, "IGNORE", "", 1)
	for _, test := range []struct {
		base, head string
		isNew      bool
	}{{silent, loud, true}, {loud, silent, false}, {loud, loud, false}, {silent, silent, false}} {
		put(t, "base/web.yaml", test.base)
		put(t, "head/web.yaml", test.head)
		if got := run(t, "", "diff", "--base", "base", "-f", "head"); got.code != ExitClean || strings.Contains(got.stdout, "(no-catch-all)") != test.isNew {
			t.Errorf("%+v: %+v", test, got)
		}
	}
}
