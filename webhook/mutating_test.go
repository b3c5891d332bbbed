package webhook

import (
	stdcmp "cmp"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus/testutil"
	admissionv1 "k8s.io/api/admission/v1"

	"github.com/gammaguard/gammaguard/validate"
	"github.com/gammaguard/gammaguard/validate/rules"
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
			reads:    []string{"Namespace shop"},
		},
		{name: "switched off", ask: admission{object: routeOn(noGroup)}, off: map[string]bool{"parent-group": true}},
		{
			name: "an update of the spec", ask: admission{operation: "UPDATE", object: routeOn(noGroup), old: routeOn(onCart)}, patch: setGroup,
			warnings: []string{`set spec.parentRefs[0].group to "": Service is in the core group (parent-group)`},
			reads:    []string{"Namespace shop"},
		},
		{name: "an update of metadata", ask: admission{operation: "UPDATE", object: routeOn(noGroup), old: routeOn(noGroup)}},
		{
			name: "port of a Service", ask: admission{object: withBackend(onCart, `{name: cart}`)},
			patch:    `[{"op":"add","path":"/spec/rules/0/backendRefs/0/port","value":80}]`,
			warnings: []string{"(backend-port)"},
			reads:    []string{"Namespace shop"},
		},
		{
			name: "port of a Service that the cache does not know yet", cache: "-", now: cluster,
			ask:      admission{object: withBackend(onCart, `{name: cart}`)},
			patch:    `[{"op":"add","path":"/spec/rules/0/backendRefs/0/port","value":80}]`,
			warnings: []string{"(backend-port)"},
			reads:    []string{"Namespace shop", "Service shop/cart"},
		},
		{
			name: "port of a Service that cannot be read", fail: errors.New("connection refused"),
			ask:   admission{object: withBackend(onCart, `{name: gone}`)},
			reads: []string{"Service shop/gone"},
		},
		{
			name: "port of a Service, with a grant that cannot be read", cache: "-", now: cluster, fail: errors.New("connection refused"),
			ask:   admission{object: withBackend(onCart, `{name: cart}`)},
			reads: []string{"Namespace shop"},
		},
		{
			name: "port of a Service, not granted", cache: strings.ReplaceAll(cluster, "grant: all", "grant: none"),
			ask:   admission{object: withBackend(onCart, `{name: cart}`)},
			reads: []string{"Namespace shop"},
		},
		{
			name: "another namespace, granted", ask: admission{object: withBackend(onCart, `{name: cart, namespace: other}`)},
			patch:    `[{"op":"add","path":"/spec/rules/0/backendRefs/0/port","value":8080}]`,
			warnings: []string{"(backend-port)"},
			reads:    []string{"Namespace shop"},
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
			o.Off = test.off
			response := ask(t, Mutating(o, newEngine(t, nil)), test.ask)
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

// TestMutatingWithheld: nothing is set but in mode enforce, by the namespace as it is now, for
// users who are not exempt, and on routes that no controller writes. What is not set is
// recorded, and said except in mode audit.
func TestMutatingWithheld(t *testing.T) {
	const (
		noGroup  = `{kind: Service, name: cart}`
		recorded = "parent-group spec.parentRefs[0].group"
	)
	in := func(mode string) string {
		return strings.Replace(cluster, "gammaguard.dev/grant: all", "gammaguard.dev/mode: "+mode, 1)
	}
	owned := strings.Replace(routeOn(noGroup), "uid: u1", "uid: u1, ownerReferences: [{apiVersion: flagger.app/v1beta1, kind: Canary, name: web, uid: u, controller: true}]", 1)
	for _, test := range []struct {
		name       string
		cache, now string
		fail       error
		object     string
		user       string
		annotation string
		warning    string // a part; empty: none
		counted    string // the label withheld; "-": not counted
	}{
		{name: "enforce", cache: in("enforce"), annotation: "changes: " + recorded, warning: "set spec"},
		{name: "an unknown mode", cache: in("none"), annotation: "changes: " + recorded, warning: "set spec"},
		{name: "warn", cache: in("warn"), annotation: "withheld: " + recorded + " (mode)", warning: "in mode enforce: Service", counted: "mode"},
		{name: "audit", cache: in("audit"), annotation: "withheld: " + recorded + " (mode)", counted: "mode"},
		{name: "audit since a moment ago", cache: in("enforce"), now: in("audit"), annotation: "withheld: " + recorded + " (mode)", counted: "mode"},
		{name: "enforce since a moment ago", cache: in("audit"), now: in("enforce"), annotation: "changes: " + recorded, warning: "set spec"},
		{name: "a namespace that cannot be read", cache: in("enforce"), fail: errors.New("connection refused"), counted: "-"},
		{name: "an exempt user", cache: in("enforce"), user: "breaks-glass", annotation: "withheld: " + recorded + " (exemption)", counted: "exemption"},
		{
			name: "a controller's", cache: in("enforce"), object: owned, annotation: "withheld: " + recorded + " (controller)",
			warning: "in Canary shop/web, which writes this route: Service", counted: "controller",
		},
		{name: "a controller's, warn", cache: in("warn"), object: owned, annotation: "withheld: " + recorded + " (controller)", warning: "in Canary shop/web", counted: "controller"},
		{name: "a controller's, audit", cache: in("audit"), object: owned, annotation: "withheld: " + recorded + " (controller)", counted: "controller"},
	} {
		t.Run(test.name, func(t *testing.T) {
			engine, err := validate.New(rules.Catalog(), &validate.Policy{Exemptions: validate.Exemptions{Usernames: []string{"breaks-glass"}}})
			if err != nil {
				t.Fatal(err)
			}
			o := options(t, world(t, test.cache))
			o.Live = &source{Reader: world(t, stdcmp.Or(test.now, test.cache)), fail: test.fail}
			response := ask(t, Mutating(o, engine), admission{object: stdcmp.Or(test.object, routeOn(noGroup)), user: test.user})
			made := strings.HasPrefix(test.annotation, "changes")
			if !response.Allowed || (len(response.Patch) > 0) != made {
				t.Errorf("allowed: %v, patch: %s", response.Allowed, response.Patch)
			}
			key, value, _ := strings.Cut(test.annotation, ": ")
			if response.AuditAnnotations[key] != value || value == "" && len(response.AuditAnnotations) > 0 {
				t.Errorf("annotations %q, want %q", response.AuditAnnotations, test.annotation)
			}
			if told := strings.Join(response.Warnings, "\n"); !strings.Contains(told, test.warning) || (told != "") != (test.warning != "") {
				t.Errorf("warnings %q, want %q", response.Warnings, test.warning)
			}
			if test.counted != "-" && testutil.ToFloat64(o.Metrics.changes.WithLabelValues("parent-group", test.counted, "shop")) != 1 {
				t.Errorf("not counted as %q", test.counted)
			}
		})
	}
}

// TestRelated: of a field that a mutation would set in mode enforce, it is not said that it
// would be denied; of others it is.
func TestRelated(t *testing.T) {
	const parents = `{kind: Service, name: cart}, {group: core, kind: ServiceImport, name: cart}`
	for _, test := range []struct {
		name, mode, user string
		off              map[string]bool
		warnings         []string
		findings         string
	}{
		{
			name: "warn", mode: "warn", warnings: []string{
				`spec.parentRefs[0].group: not corrected here: kind Service is in the core group (""); set group: "" (parent-group-invalid)`,
				"spec.parentRefs[1].group: would be denied: kind ServiceImport is in multicluster.x-k8s.io; set group: multicluster.x-k8s.io (parent-group-invalid)",
			},
			findings: "parent-group-invalid spec.parentRefs[0].group warn (mutation), parent-group-invalid spec.parentRefs[1].group warn (mode)",
		},
		{name: "audit", mode: "audit", findings: "parent-group-invalid spec.parentRefs[0].group audit (mutation), parent-group-invalid spec.parentRefs[1].group audit (mode)"},
		{
			name: "exempt", mode: "enforce", user: "breaks-glass",
			findings: "parent-group-invalid spec.parentRefs[0].group audit (mutation), parent-group-invalid spec.parentRefs[1].group audit (exemption)",
		},
		{
			name: "switched off", mode: "audit", off: map[string]bool{"parent-group": true},
			findings: "parent-group-invalid spec.parentRefs[0].group audit (mode), parent-group-invalid spec.parentRefs[1].group audit (mode)",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			engine, err := validate.New(rules.Catalog(), &validate.Policy{Exemptions: validate.Exemptions{Usernames: []string{"breaks-glass"}}})
			if err != nil {
				t.Fatal(err)
			}
			o := options(t, world(t, strings.Replace(cluster, "grant: all", "grant: all, gammaguard.dev/mode: "+test.mode, 1)))
			o.Off = test.off
			response := ask(t, Validating(o, engine), admission{object: routeOn(parents), user: test.user})
			if !response.Allowed {
				t.Errorf("refused: %v", response.Result)
			}
			if diff := cmp.Diff(test.warnings, response.Warnings, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
			if got := response.AuditAnnotations["findings"]; got != test.findings {
				t.Errorf("findings %q, want %q", got, test.findings)
			}
			if got, corrected := response.AuditAnnotations["messages"], strings.Contains(test.findings, "(mutation)"); corrected == strings.Contains(got, "parentRefs[0]") || !strings.Contains(got, "parentRefs[1]") {
				t.Errorf("messages of what mode enforce would deny: %q", got)
			}
		})
	}
}
