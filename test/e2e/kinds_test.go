//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// kindPorts are the ports of Service brief that the routes of each kind are on. On
// one port, they would conflict.
var kindPorts = map[string]int{"HTTPRoute": 80, "GRPCRoute": 81, "TLSRoute": 82, "TCPRoute": 83, "UDPRoute": 53}

// testKinds has a Service go away under routes of every kind, twice: each route
// says so in its status, and the Event that tells of it is counted up. A parent
// of the multi-cluster API is looked for too.
func testKinds(t *testing.T) {
	const service = `
apiVersion: v1
kind: Service
metadata: {name: brief, namespace: shop}
spec:
  ports: [{name: http, port: 80}, {name: grpc, port: 81}, {name: tls, port: 82}, {name: tcp, port: 83}, {name: udp, port: 53, protocol: UDP}]
`
	mustKubectl(t, service, "apply", "-f", "-")
	for kind := range kindPorts {
		admitted(t, kindRoute(kind))
	}
	for range 2 {
		mustKubectl(t, service, "apply", "-f", "-")
		for kind := range kindPorts {
			wantReasons(t, kind, "")
		}
		mustKubectl(t, "", "delete", "service", "-n", "shop", "brief")
		for kind := range kindPorts {
			wantReasons(t, kind, "NoMatchingParent")
		}
	}
	refused(t, route("HTTPRoute", "elsewhere", `{group: multicluster.x-k8s.io, kind: ServiceImport, name: missing, port: 80}`), "parent-not-found")
}

// kindRoute returns a route of any kind on Service brief.
func kindRoute(kind string) string {
	hostnames := ""
	if kind == "TLSRoute" {
		hostnames = "\n  hostnames: [shop.example]"
	}
	document := route(kind, "kind-"+strings.ToLower(kind), fmt.Sprintf(`{group: "", kind: Service, name: brief, port: %d}`, kindPorts[kind]))
	return strings.Replace(document, "\n  rules:", hostnames+"\n  rules:", 1)
}

// wantReasons waits until the reasons of gammaguard's entries in the status of the
// route of a kind are as wanted.
func wantReasons(t *testing.T, kind, want string) {
	t.Helper()
	waitFor(t, "status of "+kind, 20*time.Second, func() error {
		got := mustKubectl(t, "", "get", strings.ToLower(kind), "-n", "shop", "kind-"+strings.ToLower(kind), "-o",
			`jsonpath={.status.parents[?(@.controllerName=="gammaguard.dev/guard")].conditions[?(@.type=="Accepted")].reason}`)
		if got != want {
			return fmt.Errorf("reason %q, want %q", got, want)
		}
		return nil
	})
}

// otherParents are the mesh parents of other implementations, by resource: group and kind.
var otherParents = map[string][2]string{
	"serviceentries":   {"networking.istio.io", "ServiceEntry"},
	"meshservices":     {"kuma.io", "MeshService"},
	"egressnetworks":   {"policy.linkerd.io", "EgressNetwork"},
	"servers":          {"policy.linkerd.io", "Server"},
	"unmeshednetworks": {"policy.linkerd.io", "UnmeshedNetwork"},
}

// testOtherParents has routes on parents of other implementations: once their kinds are
// served, gammaguard looks for them.
func testOtherParents(t *testing.T) {
	for resource, names := range otherParents {
		define(t, names[0], resource, names[1])
	}
	for resource, names := range otherParents {
		group, kind := names[0], names[1]
		object := route("HTTPRoute", "on-"+resource, fmt.Sprintf("{group: %s, kind: %s, name: missing}", group, kind))
		waitFor(t, "a missing "+kind+" is looked for", time.Minute, func() error {
			said := admitted(t, object)
			mustKubectl(t, object, "delete", "-f", "-")
			return says(said, kind+" shop/missing does not exist")
		})
	}
}

// define has a kind served for the time of a test.
func define(t *testing.T, group, resource, kind string) {
	t.Helper()
	definition := fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[2]s.%[1]s}
spec:
  group: %[1]s
  scope: Namespaced
  names: {kind: %[3]s, plural: %[2]s, singular: %[4]s}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`, group, resource, kind, strings.ToLower(kind))
	mustKubectl(t, definition, "apply", "-f", "-")
	t.Cleanup(func() { mustKubectl(t, definition, "delete", "-f", "-") })
}

// testOverridden: under the profile of Linkerd, a ServiceProfile of a Service's name is looked for.
func testOverridden(t *testing.T) {
	define(t, "linkerd.io", "serviceprofiles", "ServiceProfile")
	mustKubectl(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: linkerd, namespace: "+system+"}\ndata:\n"+
		"  guard.yaml: |\n    apiVersion: gammaguard.dev/v1alpha1\n    kind: GuardConfiguration\n    mesh: linkerd\n", "apply", "-f", "-")
	rollOut(t, `{"spec":{"template":{"spec":{"volumes":[{"name":"config","configMap":{"name":"linkerd"}}]}}}}`)
	mustKubectl(t, "", "rollout", "status", "-n", system, deployment, "--timeout=180s")
	profile := "apiVersion: linkerd.io/v1\nkind: ServiceProfile\nmetadata: {name: cart.shop.svc.cluster.local, namespace: shop}\n"
	waitFor(t, "ServiceProfiles are served", time.Minute, func() error { return applies(t, profile) })
	object := route("HTTPRoute", "overridden", cartParent)
	waitFor(t, "the ServiceProfile is looked for", time.Minute, func() error {
		said := admitted(t, object)
		mustKubectl(t, object, "delete", "-f", "-")
		return says(said, "because of ServiceProfile shop/cart.shop.svc.cluster.local")
	})
}
