package validate_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/test/fixture"
	"github.com/gammaguard/gammaguard/validate"
)

// Who has no grant learns nothing, in any mode, and exempt or not: the whole verdict is the
// same, whatever there is in the other namespace, and nothing is read there.
func TestUngrantedLearnNothing(t *testing.T) {
	worlds := map[string]string{
		"nothing there":        ``,
		"a Service":            `{apiVersion: v1, kind: Service, metadata: {namespace: shop, name: secret}, spec: {ports: [{port: 80}]}}`,
		"a headless Service":   `{apiVersion: v1, kind: Service, metadata: {namespace: shop, name: secret}, spec: {clusterIP: None, ports: [{port: 80}]}}`,
		"an ExternalName":      `{apiVersion: v1, kind: Service, metadata: {namespace: shop, name: secret}, spec: {type: ExternalName}}`,
		"a refusing Service":   `{apiVersion: v1, kind: Service, metadata: {namespace: shop, name: secret, labels: {gammaguard.dev/consumer-routes: deny}}, spec: {ports: [{port: 80}]}}`,
		"a welcoming Service":  `{apiVersion: v1, kind: Service, metadata: {namespace: shop, name: secret, labels: {gammaguard.dev/consumer-routes: allow}}, spec: {ports: [{port: 80}]}}`,
		"a refusing namespace": `{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {gammaguard.dev/consumer-routes: deny}}}`,
		"a ServiceImport":      `{apiVersion: multicluster.x-k8s.io/v1alpha1, kind: ServiceImport, metadata: {namespace: shop, name: secret}, spec: {type: ClusterSetIP}}`,
		"a route on it": `{apiVersion: v1, kind: Service, metadata: {namespace: shop, name: secret}, spec: {ports: [{port: 80}]}}` + "\n---\n" +
			routeText(mesh.GRPCRoute, "mine", "rival", on(service("secret, namespace: shop, port: 80"))),
	}
	const refs = `, hostnames: [a.example], rules: [{matches: [{method: GET}], backendRefs: [{name: secret, namespace: shop, port: 80, weight: 0}]}]`
	lenient := map[string]validate.Policy{
		"enforce": {}, "warn": {Mode: mesh.Warn}, "audit": {Mode: mesh.Audit}, "exempt": {Exemptions: validate.Exemptions{Namespaces: []string{"mine"}}},
	}
	for _, label := range []string{"", "none", "producer", "bogus"} {
		for _, parents := range []string{
			on(service("secret, namespace: shop")),
			on(service("secret, namespace: shop, port: 81"), service("own")),
			on(service("secret, namespace: shop"), service("secret, namespace: shop, port: 80"), `{kind: Service, name: secret, namespace: shop}`),
			on(serviceImport("secret, namespace: shop")),
		} {
			for as, policy := range lenient {
				t.Run(fmt.Sprintf("grant=%q %s %s", label, as, parents), func(t *testing.T) {
					namespace := `{apiVersion: v1, kind: Namespace, metadata: {name: mine, labels: {gammaguard.dev/grant: "` + label + `"}}}` + "\n---\n"
					if label == "" {
						namespace = `{apiVersion: v1, kind: Namespace, metadata: {name: mine}}` + "\n---\n"
					}
					policy.Actions = map[string]validate.Action{"backend-not-permitted": validate.Warn}
					wantSameVerdict(t, &policy, namespace, worlds, newRoute(t, mesh.HTTPRoute, "mine", parents+refs))
				})
			}
		}
	}
}

// wantSameVerdict judges the route in each world: the verdict lacks the grant, is the same
// in all, and nothing was asked for but the namespace of the route.
func wantSameVerdict(t *testing.T, policy *validate.Policy, namespace string, worlds map[string]string, route *mesh.Route) {
	t.Helper()
	var first *validate.Verdict
	for name, manifests := range worlds {
		world := &fixture.Witness{Reader: newWorld(t, namespace, manifests)}
		verdict := judge(t, policy, world, &validate.Request{Route: route})
		lacks := slices.ContainsFunc(verdict.Findings, func(f validate.Finding) bool { return f.Rule == "grant-missing" && f.Action == validate.Deny })
		enforced := policy.Mode == "" && len(policy.Exemptions.Namespaces) == 0
		if !lacks || verdict.Denied() != enforced || len(verdict.Unknown) > 0 {
			t.Fatalf("%s: lacks the grant %v, denied %v, unknown %v", name, lacks, verdict.Denied(), verdict.Unknown)
		}
		for _, question := range world.Asked {
			if question != "Namespace mine" {
				t.Errorf("%s: asked for %s", name, question)
			}
		}
		if first == nil {
			first = &verdict
		}
		if diff := cmp.Diff(*first, verdict, cmp.AllowUnexported(validate.Finding{})); diff != "" {
			t.Errorf("%s: the verdict differs (-other +this):\n%s", name, diff)
		}
	}
}

// An update that leaves alone what a mesh reads passes without a grant, and reveals no more
// than the route itself says: nothing, unless the ignore annotation changes.
func TestUngrantedMetadataUpdate(t *testing.T) {
	spec := on(service("headless, namespace: shop"), service("shy, namespace: shop")) + `, hostnames: [a.example], rules: [{backendRefs: [{name: gone, namespace: shop, port: 80}]}]`
	for _, test := range []struct {
		name, namespace string
		policy          *validate.Policy
		unchanged       bool
		// annotation comes with the update.
		annotation string
		want       []string
		asked      []string
	}{
		{
			"no grant, nothing changed", "lab", nil, true, "",
			nil,
			[]string{"Namespace lab"},
		},
		{
			"no grant, a note comes", "lab", nil, true, "note",
			nil,
			[]string{"Namespace lab"},
		},
		{
			"no grant, the ignore annotation comes", "lab", nil, true, mesh.IgnoreAnnotation,
			[]string{"warn spec.hostnames hostnames-ignored"},
			[]string{"Namespace lab"},
		},
		{
			"no grant, a mesh's annotation comes", "lab", nil, true, "timeout.linkerd.io/request",
			[]string{"warn spec.hostnames hostnames-ignored", "deny spec.parentRefs[0] grant-missing", "deny spec.parentRefs[1] grant-missing"},
			[]string{"Namespace lab"},
		},
		{
			"no grant, spec changed", "lab", nil, false, "",
			[]string{"warn spec.hostnames hostnames-ignored", "deny spec.parentRefs[0] grant-missing", "deny spec.parentRefs[1] grant-missing"},
			[]string{"Namespace lab"},
		},
		{
			"refused, nothing changed", "faces", nil, true, "",
			nil,
			[]string{"Namespace faces", "Namespace shop", "Service shop/headless", "Service shop/shy"},
		},
		{
			"refused, spec changed", "faces", nil, false, "",
			[]string{"warn spec.hostnames hostnames-ignored", "deny spec.parentRefs[1] consumer-refused"},
			[]string{"Namespace faces", "Namespace shop", "Service shop/headless", "Service shop/shy"},
		},
		{
			"no grant needed, the ignore annotation comes", "lab", &validate.Policy{Actions: map[string]validate.Action{"grant-missing": validate.Warn, "consumer-refused": validate.Warn}}, true, mesh.IgnoreAnnotation,
			[]string{
				"warn spec.hostnames hostnames-ignored", "warn spec.parentRefs[0].name parent-headless",
				"warn spec.rules[0].backendRefs[0].name backend-not-found",
			},
			nil,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			world := &fixture.Witness{Reader: newWorld(t, cluster)}
			old := spec
			if !test.unchanged {
				old += `, useDefaultGateways: All` // a field that no rule reads
			}
			object := routeJSON(t, mesh.HTTPRoute, test.namespace, spec)
			if test.annotation != "" {
				object = bytes.Replace(object, []byte(`"metadata":{`), fmt.Appendf(nil, `"metadata":{"annotations":{%q:"hostnames-ignored-not"},`, test.annotation), 1)
			}
			route, err := mesh.DecodeRoute(object)
			if err != nil {
				t.Fatal(err)
			}
			verdict := judge(t, test.policy, world, &validate.Request{Route: route, Object: object, Old: routeJSON(t, mesh.HTTPRoute, test.namespace, old)})
			var got []string
			for _, f := range verdict.Findings {
				got = append(got, string(f.Effect)+" "+f.Field+" "+f.Rule)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
			slices.Sort(world.Asked)
			if diff := cmp.Diff(test.asked, slices.Compact(world.Asked)); diff != "" && test.asked != nil {
				t.Errorf("questions to the world (-want +got):\n%s", diff)
			}
		})
	}
}

// Where a missing grant, or a refusal, does not deny, the rest is judged.
func TestGrantThatDoesNotDeny(t *testing.T) {
	policy := &validate.Policy{Actions: map[string]validate.Action{"grant-missing": validate.Warn, "consumer-refused": validate.Audit}}
	spec := on(service("headless, namespace: shop"), service("shy, namespace: shop, port: 81"))
	verdict := judge(t, policy, newWorld(t, cluster), &validate.Request{Route: newRoute(t, mesh.HTTPRoute, "lab", spec)})
	want := []string{
		"grant-missing warn", "parent-headless deny", "consumer-refused audit", "grant-missing warn", "parent-port-not-found deny",
	}
	if diff := cmp.Diff(want, effects(verdict)); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

// A request that nothing denies is judged without reading the old object as a route.
func TestOldIsReadOnlyForDenials(t *testing.T) {
	judge(t, nil, newWorld(t, cluster), &validate.Request{
		Route: newRoute(t, mesh.HTTPRoute, "shop", on(service("cart"))+`, hostnames: [a.example]`),
		Old:   []byte("an error if it is read"),
	})
}
