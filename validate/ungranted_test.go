package validate

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/mesh"
)

// Who has no grant learns nothing: the whole verdict is the same, whatever there
// is in the other namespace, and nothing is read there.
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
	for _, label := range []string{"", "none", "producer", "bogus"} {
		for _, parents := range []string{
			on(service("secret, namespace: shop")),
			on(service("secret, namespace: shop, port: 81"), service("own")),
			on(service("secret, namespace: shop"), service("secret, namespace: shop, port: 80"), `{kind: Service, name: secret, namespace: shop}`),
			on(serviceImport("secret, namespace: shop")),
		} {
			t.Run(fmt.Sprintf("grant=%q %s", label, parents), func(t *testing.T) {
				namespace := `{apiVersion: v1, kind: Namespace, metadata: {name: mine, labels: {gammaguard.dev/grant: "` + label + `"}}}` + "\n---\n"
				if label == "" {
					namespace = `{apiVersion: v1, kind: Namespace, metadata: {name: mine}}` + "\n---\n"
				}
				var first *Verdict
				for name, manifests := range worlds {
					world := &witness{Reader: newWorld(t, namespace, manifests)}
					policy := &Policy{Actions: map[string]Action{"backend-not-permitted": Warn}}
					verdict := judge(t, policy, world, &Request{Route: newRoute(t, mesh.HTTPRoute, "mine", parents+refs)})
					if !verdict.Denied() || len(verdict.Unknown) > 0 {
						t.Fatalf("%s: denied %v, unknown %v", name, verdict.Denied(), verdict.Unknown)
					}
					for _, question := range world.asked {
						if question != "Namespace mine" {
							t.Errorf("%s: asked for %s", name, question)
						}
					}
					if first == nil {
						first = &verdict
					}
					if diff := cmp.Diff(*first, verdict, cmp.AllowUnexported(Finding{})); diff != "" {
						t.Errorf("%s: the verdict differs (-other +this):\n%s", name, diff)
					}
				}
			})
		}
	}
}

// An update that leaves the spec alone passes without a grant, and is told no more
// than the route itself says.
func TestUngrantedMetadataUpdate(t *testing.T) {
	spec := on(service("headless, namespace: shop"), service("shy, namespace: shop")) + `, hostnames: [a.example], rules: [{backendRefs: [{name: gone, namespace: shop, port: 80}]}]`
	for _, test := range []struct {
		name, namespace string
		policy          *Policy
		unchanged       bool
		want            []string
		asked           []string
	}{
		{
			"no grant, spec unchanged", "lab", nil, true,
			[]string{"warn spec.hostnames hostnames-ignored"},
			[]string{"Namespace lab"},
		},
		{
			"no grant, spec changed", "lab", nil, false,
			[]string{"warn spec.hostnames hostnames-ignored", "deny spec.parentRefs[0] grant-missing", "deny spec.parentRefs[1] grant-missing"},
			[]string{"Namespace lab"},
		},
		{
			"refused, spec unchanged", "faces", nil, true,
			[]string{"warn spec.hostnames hostnames-ignored"},
			[]string{"Namespace faces", "Namespace shop", "Service shop/headless", "Service shop/shy"},
		},
		{
			"refused, spec changed", "faces", nil, false,
			[]string{"warn spec.hostnames hostnames-ignored", "deny spec.parentRefs[1] consumer-refused"},
			[]string{"Namespace faces", "Namespace shop", "Service shop/headless", "Service shop/shy"},
		},
		{
			"no grant needed, spec unchanged", "lab", &Policy{Actions: map[string]Action{"grant-missing": Warn, "consumer-refused": Warn}}, true,
			[]string{
				"warn spec.hostnames hostnames-ignored", "warn spec.parentRefs[0].name parent-headless",
				"warn spec.rules[0].backendRefs[0].name backend-not-found",
			},
			nil,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			world := &witness{Reader: newWorld(t, cluster)}
			old := spec
			if !test.unchanged {
				old += `, useDefaultGateways: All` // a field that no rule reads
			}
			verdict := judge(t, test.policy, world, &Request{
				Route:  newRoute(t, mesh.HTTPRoute, test.namespace, spec),
				Object: routeJSON(t, mesh.HTTPRoute, test.namespace, spec),
				Old:    routeJSON(t, mesh.HTTPRoute, test.namespace, old),
			})
			var got []string
			for _, f := range verdict.Findings {
				got = append(got, string(f.Effect)+" "+f.Field+" "+f.Rule)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
			slices.Sort(world.asked)
			if diff := cmp.Diff(test.asked, slices.Compact(world.asked)); diff != "" && test.asked != nil {
				t.Errorf("questions to the world (-want +got):\n%s", diff)
			}
		})
	}
}

// Where a missing grant, or a refusal, does not deny, the rest is judged.
func TestGrantThatDoesNotDeny(t *testing.T) {
	policy := &Policy{Actions: map[string]Action{"grant-missing": Warn, "consumer-refused": Audit}}
	spec := on(service("headless, namespace: shop"), service("shy, namespace: shop, port: 81"))
	verdict := judge(t, policy, newWorld(t, cluster), &Request{Route: newRoute(t, mesh.HTTPRoute, "lab", spec)})
	want := []string{
		"grant-missing warn", "parent-headless deny", "consumer-refused audit", "grant-missing warn", "parent-port-not-found deny",
	}
	if diff := cmp.Diff(want, effects(verdict)); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

// To read the old object costs: a request that nothing denies need not pay for it.
func TestOldIsReadOnlyForDenials(t *testing.T) {
	judge(t, nil, newWorld(t, cluster), &Request{
		Route: newRoute(t, mesh.HTTPRoute, "shop", on(service("cart"))+`, hostnames: [a.example]`),
		Old:   []byte("an error if it is read"),
	})
}
