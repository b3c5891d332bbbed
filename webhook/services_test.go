package webhook

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// attachedCluster has routes on a Service, and to it as a backend.
const attachedCluster = `
{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {gammaguard.dev/grant: all}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: web, labels: {gammaguard.dev/grant: all}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: lab, labels: {gammaguard.dev/grant: all}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: ungranted}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: going, deletionTimestamp: "2026-01-02T03:04:05Z"}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: cart, namespace: shop, creationTimestamp: "2026-01-01T00:00:00Z"}, spec: {parentRefs: [{group: "", kind: Service, name: cart, port: 80}], rules: [{backendRefs: [{name: cart, port: 80}]}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: GRPCRoute, metadata: {name: named, namespace: shop, creationTimestamp: "2026-01-02T00:00:00Z"}, spec: {parentRefs: [{group: "", kind: Service, name: cart, sectionName: grpc}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: TCPRoute, metadata: {name: never, namespace: shop, creationTimestamp: "2026-01-03T00:00:00Z"}, spec: {parentRefs: [{group: "", kind: Service, name: cart, port: 79}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: visitor, namespace: web, creationTimestamp: "2026-01-04T00:00:00Z"}, spec: {parentRefs: [{group: "", kind: Service, namespace: shop, name: cart}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: other, namespace: lab, creationTimestamp: "2026-01-05T00:00:00Z"}, spec: {parentRefs: [{group: "", kind: Service, namespace: shop, name: cart}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: idle, namespace: ungranted}, spec: {parentRefs: [{group: "", kind: Service, namespace: shop, name: cart}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: north, namespace: shop}, spec: {parentRefs: [{name: gateway}], rules: [{backendRefs: [{name: cart, port: 80}]}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: cart, namespace: going}, spec: {parentRefs: [{group: "", kind: Service, name: cart}]}}
`

func serviceObject(namespace, spec string) string {
	return "{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: " + namespace + "}, spec: " + spec + "}"
}

// TestServices: a change of a Service tells which routes it detaches, and is always
// admitted.
func TestServices(t *testing.T) {
	set := world(t, attachedCluster)
	o := options(t, set)
	o.Stored = storedRoutes{set, nil}
	handler := Services(o, newEngine(t, nil))
	const both, http, grpc = "{ports: [{port: 80}, {port: 90, name: grpc}]}", "{ports: [{port: 80}]}", "{ports: [{port: 90, name: grpc}]}"
	const others = "2 routes of other namespaces have this Service as a parent"
	for _, test := range []struct {
		name, namespace, old, now string
		want                      []string
	}{
		{"a port goes", "shop", both, grpc, []string{"HTTPRoute shop/cart selects port 80, which this change removes"}},
		{"a named port goes", "shop", both, http, []string{"GRPCRoute shop/named selects port grpc, which this change removes"}},
		{"a port comes", "shop", http, both, nil},
		{"another protocol", "shop", http, "{ports: [{port: 80, protocol: UDP}]}", []string{"HTTPRoute shop/cart selects TCP ports, of which this change leaves none", others}},
		{"an alias", "shop", both, "{type: ExternalName, externalName: a.test}", []string{
			"HTTPRoute shop/cart has this Service as a parent, which cannot be of type ExternalName",
			"GRPCRoute shop/named has this Service as a parent, which cannot be of type ExternalName",
			"HTTPRoute shop/cart has this Service as a backend, which cannot be of type ExternalName", others,
		}},
		{"headless", "shop", http, "{clusterIP: None, ports: [{port: 80}]}", []string{"HTTPRoute shop/cart has this Service as a parent, which cannot be headless", others}},
		{"deleted", "shop", both, "", []string{"HTTPRoute shop/cart has this Service as a parent", "GRPCRoute shop/named has this Service as a parent", others}},
		{"deleted, and it never was a parent", "shop", "{clusterIP: None, ports: [{port: 80}]}", "", nil},
		{"deleted with its namespace", "going", http, "", nil},
		{"another Service", "lab", http, "", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			request := admission{operation: operationUpdate, old: serviceObject(test.namespace, test.old)}
			if test.now == "" {
				request.operation = operationDelete
			} else {
				request.object = serviceObject(test.namespace, test.now)
			}
			for _, dryRun := range []bool{true, false} {
				request.dryRun = dryRun
				response := ask(t, handler, request)
				if diff := cmp.Diff(test.want, response.Warnings, cmpopts.EquateEmpty()); diff != "" || !response.Allowed {
					t.Errorf("dry run %v (-want +got)\n%s", dryRun, diff)
				}
			}
		})
	}
	o.Stored = storedRoutes{set, errors.New("too slow")}
	response := ask(t, Services(o, newEngine(t, nil)), admission{operation: operationUpdate, old: serviceObject("shop", http), object: serviceObject("shop", "{type: ExternalName, externalName: a.test}")})
	if !response.Allowed || strings.Join(response.Warnings, "") != undetermined {
		t.Errorf("a list fails: %+v", response)
	}
}
