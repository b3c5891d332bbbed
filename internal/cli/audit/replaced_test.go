package audit_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/internal/cli/audit"
	"github.com/gammaguard/gammaguard/internal/manifest"
)

// TestReplaced: what consumer routes replace shows on the producer's routes too, with the ports, whose
// clients, and by which route.
func TestReplaced(t *testing.T) {
	c := cluster{manifest.NewSet(manifest.Options{Complete: true})}
	objects, errs := manifest.Read("cluster.yaml", []byte(`
{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {gammaguard.dev/grant: all}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: faces, labels: {gammaguard.dev/grant: all}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: lab}}
---
{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: shop}, spec: {clusterIP: 10.0.0.1, ports: [{name: a, port: 80}, {name: b, port: 81}, {name: c, port: 82}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: canary, namespace: shop}, spec: {parentRefs: [{group: "", kind: Service, name: cart}], rules: [{backendRefs: [{name: cart, port: 80}]}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: third, namespace: shop}, spec: {parentRefs: [{group: "", kind: Service, name: cart, port: 82}], rules: [{backendRefs: [{name: cart, port: 82}]}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: timeout, namespace: faces}, spec: {parentRefs: [
  {group: "", kind: Service, name: cart, namespace: shop, port: 80, sectionName: a}, {group: "", kind: Service, name: cart, namespace: shop, port: 81, sectionName: b}], rules: [{backendRefs: [{name: cart, namespace: shop, port: 80}]}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: ungranted, namespace: lab}, spec: {parentRefs: [{group: "", kind: Service, name: cart, namespace: shop}], rules: [{backendRefs: [{name: cart, namespace: shop, port: 80}]}]}}
`), "default")
	for _, object := range objects {
		errs = append(errs, c.Put(object))
	}
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	configuration := config.Default()
	r, err := audit.Run(c, c.Set.Routes(), &audit.Options{Config: configuration})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]audit.Replaced{}
	for i := range r.Routes {
		if route := &r.Routes[i]; len(route.Replaced) > 0 {
			got[route.Name] = route.Replaced
		}
	}
	want := map[string][]audit.Replaced{
		"canary": {{Field: "spec.parentRefs[0]", Service: "Service shop/cart", Ports: []int32{80, 81}, In: "faces", By: "HTTPRoute faces/timeout"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	var table strings.Builder
	if err := r.Table(&table, false); err != nil {
		t.Fatal(err)
	}
	const message = "clients in namespace faces meet HTTPRoute faces/timeout instead on ports 80, 81 of Service shop/cart"
	if !strings.Contains(table.String(), message) {
		t.Errorf("the table lacks %q:\n%s", message, table.String())
	}
}
