package webhook

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// deletedCluster has the routes that TestRoutes deletes.
const deletedCluster = `
{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {gammaguard.dev/grant: all}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: going, labels: {gammaguard.dev/grant: all}, deletionTimestamp: "2026-01-02T03:04:05Z"}}
---
{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: shop}, spec: {ports: [{port: 80}, {port: 90}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: one, namespace: shop}, spec: {ports: [{port: 80}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: going}, spec: {ports: [{port: 80}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: many, namespace: shop}, spec: {ports: [{port: 1}, {port: 2}, {port: 3}, {port: 4}, {port: 5}, {port: 6}, {port: 7}]}}
---
`

// TestRoutes: the deletion of a route, or of a parentRef, tells what requests meet then, and is
// always admitted.
func TestRoutes(t *testing.T) {
	route := func(kind, namespace, name, parents, rules string) string {
		return "{apiVersion: gateway.networking.k8s.io/v1, kind: " + kind + ", metadata: {name: " + name + ", namespace: " + namespace + ", creationTimestamp: \"2026-01-01T00:00:00Z\"}, spec: {parentRefs: [" + parents + "], rules: [" + rules + "]}}"
	}
	const (
		service, ported = `{group: "", kind: Service, name: cart}`, `{group: "", kind: Service, name: cart, port: 80}`
		ninety, gateway = `{group: "", kind: Service, name: cart, port: 90}`, `{name: edge}`
		all, get        = `{}`, `{matches: [{method: GET}]}`
		itself          = " reach the Service itself, since no other route applies"
	)
	own := func(parents string) string { return route("HTTPRoute", "shop", "own", parents, all) }
	grpc := route("GRPCRoute", "shop", "grpc", ninety, `{matches: [{method: {service: a}}]}`)
	for _, test := range []struct {
		name, others, old, now string
		want                   []string
	}{
		{"the only route", "", own(ported), "", []string{"requests to port 80 of Service shop/cart" + itself}},
		{"on all ports", "", own(service), "", []string{"requests to ports 80, 90 of Service shop/cart" + itself}},
		{"on many ports", "", own(`{group: "", kind: Service, name: many}`), "", []string{"requests to ports 1, 2, 3, 4, 5, 6 and 1 more of Service shop/many" + itself}},
		{"on two Services", "", own(ported + `, {group: "", kind: Service, name: one}`), "", []string{"requests to port 80 of Service shop/cart" + itself, "requests to port 80 of Service shop/one" + itself}},
		{"by two parentRefs", "", own(ported + `, {group: "", kind: Service, namespace: shop, name: cart, port: 80}`), "", []string{"requests to port 80 of Service shop/cart" + itself}},
		{"another catch-all rule remains", route("HTTPRoute", "shop", "other", ported, all), own(ported), "", nil},
		{"no catch-all rule before", route("HTTPRoute", "shop", "other", ported, get), route("HTTPRoute", "shop", "own", ported, get), "", nil},
		{"no catch-all rule remains", route("HTTPRoute", "shop", "other", ported, get), own(ported), "", []string{
			"unmatched requests to port 80 of Service shop/cart are rejected, since no catch-all rule remains, for example POST /",
		}},
		{"another fate on each port", route("HTTPRoute", "shop", "other", ported, get), own(service), "", []string{
			"unmatched requests to port 80 of Service shop/cart are rejected, since no catch-all rule remains, for example POST /",
			"requests to port 90 of Service shop/cart" + itself,
		}},
		{"it lost the port", grpc, own(ninety), "", nil},
		{"another kind remains", route("TCPRoute", "shop", "raw", service, all), own(ported), "", []string{"requests to port 80 of Service shop/cart meet TCPRoute shop/raw, which is of another kind"}},
		{"a Gateway's", "", own(gateway), "", nil},
		{"no such Service", "", own(`{group: "", kind: Service, name: gone}`), "", nil},
		{"a parentRef goes", "", own(ported + ", " + ninety), own(ported), []string{"requests to port 90 of Service shop/cart" + itself}},
		{"the Service makes way for a Gateway", "", own(ported), own(gateway), []string{"requests to port 80 of Service shop/cart" + itself}},
		{"a parentRef that is denied takes its place", "", own(ported), own(`{group: "", kind: Service, name: cart, port: 81}`), nil},
		{"all ports are named", "", own(service), own(ported + ", " + ninety), nil},
		{"the rules change", "", own(ported), route("HTTPRoute", "shop", "own", ported, get), nil},
		{"deleted with its namespace", "", route("HTTPRoute", "going", "own", service, all), "", nil},
		{"Linkerd's own", "", "{apiVersion: policy.linkerd.io/v1beta3, kind: HTTPRoute, metadata: {name: own, namespace: shop}, spec: {parentRefs: [" + ported + "]}}", "", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			stored := deletedCluster + test.old
			if test.others != "" {
				stored += "\n---\n" + test.others
			}
			handler := Routes(options(t, world(t, stored)), newEngine(t, nil))
			request := admission{operation: operationUpdate, old: test.old, object: test.now}
			if test.now == "" {
				request.operation = operationDelete
			}
			response := ask(t, handler, request)
			if diff := cmp.Diff(test.want, response.Warnings, cmpopts.EquateEmpty()); diff != "" || !response.Allowed {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
	response := ask(t, Routes(options(t, world(t, deletedCluster)), newEngine(t, nil)), admission{operation: operationDelete, old: "{kind: Service}"})
	if diff := cmp.Diff([]string{undetermined}, response.Warnings); diff != "" || !response.Allowed {
		t.Errorf("what is not a route (-want +got)\n%s", diff)
	}
}
