package webhook

import (
	stdcmp "cmp"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	admissionv1 "k8s.io/api/admission/v1"

	"github.com/gammaguard/gammaguard/mesh"
)

func TestMutating(t *testing.T) {
	const (
		noGroup  = `{kind: Service, name: cart}`
		setGroup = `[{"op":"add","path":"/spec/parentRefs/0/group","value":""}]`
	)
	withBackend := func(parentRefs, backend string) string {
		return strings.Replace(routeOn(parentRefs), elsewhere, "rules: [{backendRefs: ["+backend+"]}]", 1)
	}
	for _, test := range []struct {
		name       string
		cache, now string // now is the cache's world if it is empty
		ask        admission
		fail       error
		off        map[string]bool
		patch      string
		warnings   []string
		reads      []string
	}{
		{name: "nothing to do", ask: admission{object: routeOn(onCart)}},
		{name: "on a Gateway", ask: admission{object: routeOn(`{name: gateway}`)}},
		{
			name: "group", ask: admission{object: routeOn(noGroup)}, patch: setGroup,
			warnings: []string{`set spec.parentRefs[0].group to "": Service is in the core group (parent-group)`},
		},
		{name: "switched off", ask: admission{object: routeOn(noGroup)}, off: map[string]bool{"parent-group": true}},
		{
			name: "an update of the spec", ask: admission{operation: "UPDATE", object: routeOn(noGroup), old: routeOn(onCart)}, patch: setGroup,
			warnings: []string{`set spec.parentRefs[0].group to "": Service is in the core group (parent-group)`},
		},
		{name: "an update of metadata", ask: admission{operation: "UPDATE", object: routeOn(noGroup), old: routeOn(noGroup)}},
		{
			name: "port of a Service", ask: admission{object: withBackend(onCart, `{name: cart}`)},
			patch:    `[{"op":"add","path":"/spec/rules/0/backendRefs/0/port","value":80}]`,
			warnings: []string{"(backend-port)"},
		},
		{
			name: "port of a Service that the cache does not know yet", cache: "-", now: cluster,
			ask:      admission{object: withBackend(onCart, `{name: cart}`)},
			patch:    `[{"op":"add","path":"/spec/rules/0/backendRefs/0/port","value":80}]`,
			warnings: []string{"(backend-port)"},
			reads:    []string{"Service shop/cart"},
		},
		{
			name: "port of a Service that cannot be read", cache: "-", now: cluster, fail: errors.New("connection refused"),
			ask:   admission{object: withBackend(onCart, `{name: cart}`)},
			reads: []string{"Service shop/cart"},
		},
		{
			name: "another namespace, granted", ask: admission{object: withBackend(onCart, `{name: cart, namespace: other}`)},
			patch:    `[{"op":"add","path":"/spec/rules/0/backendRefs/0/port","value":8080}]`,
			warnings: []string{"(backend-port)"},
		},
		{
			name: "another namespace, not granted", ask: admission{object: strings.ReplaceAll(
				withBackend(`{group: "", kind: Service, name: cart, namespace: other}`, `{name: cart, namespace: other}`), "namespace: shop, uid", "namespace: nobody, uid")},
			reads: []string{"Namespace nobody"},
		},
		{
			name: "another namespace, granted a moment ago", cache: strings.ReplaceAll(cluster, "grant: all", "grant: none"), now: cluster,
			ask:      admission{object: withBackend(onCart, `{name: cart, namespace: other}`)},
			patch:    `[{"op":"add","path":"/spec/rules/0/backendRefs/0/port","value":8080}]`,
			warnings: []string{"(backend-port)"},
			reads:    []string{"Namespace shop"},
		},
		{
			name: "another namespace, accepted a moment ago", now: cluster,
			cache:    strings.ReplaceAll(cluster, "metadata: {name: other}", "metadata: {name: other, labels: {gammaguard.dev/consumer-routes: deny}}"),
			ask:      admission{object: withBackend(`{group: "", kind: Service, name: cart, namespace: other}`, `{name: cart, namespace: other}`)},
			patch:    `[{"op":"add","path":"/spec/rules/0/backendRefs/0/port","value":8080}]`,
			warnings: []string{"(backend-port)"},
			reads:    []string{"Namespace other", "Namespace shop", "Service other/cart"},
		},
		{name: "no route", ask: admission{object: `{kind: Pod, metadata: {name: web}}`}},
		{name: "field of the wrong type", ask: admission{object: strings.Replace(routeOn(noGroup), elsewhere, "rules: 5", 1)}},
	} {
		t.Run(test.name, func(t *testing.T) {
			cache := test.cache
			switch cache {
			case "":
				cache = cluster
			case "-":
				cache = ""
			}
			o := options(t, world(t, cache))
			now := &source{Reader: world(t, stdcmp.Or(test.now, cache)), fail: test.fail}
			o.Live = now
			response := ask(t, Mutating(o, &mesh.GrantPolicy{}, test.off), test.ask)
			if !response.Allowed || response.Result != nil {
				t.Errorf("refused: %v", response.Result)
			}
			if (response.PatchType != nil) != (test.patch != "") || response.PatchType != nil && *response.PatchType != admissionv1.PatchTypeJSONPatch {
				t.Errorf("patchType %v", response.PatchType)
			}
			if diff := cmp.Diff(test.patch, string(response.Patch)); diff != "" {
				t.Errorf("patch (-want +got):\n%s", diff)
			}
			if !slices.EqualFunc(response.Warnings, test.warnings, strings.HasSuffix) {
				t.Errorf("warnings %q, want %q", response.Warnings, test.warnings)
			}
			slices.Sort(now.reads)
			if diff := cmp.Diff(test.reads, now.reads, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("live reads (-want +got):\n%s", diff)
			}
		})
	}
}
