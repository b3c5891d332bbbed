package install

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// adopters are the namespaces that adopt; each has the routes of legacyRoutes.
var adopters = []string{"shop", "faces"}

// legacyRoute is a stored route. In its spec, OWN is a Service of the route alone, and
// NAMESPACE is its namespace.
type legacyRoute struct {
	kind, name, parents, rules, more string
	// denied is the rule that denies it, and warned those that only warn, in some order.
	denied string
	warned []string
}

// fine has no fault, and is what all others are fixed to.
var fine = legacyRoute{kind: "HTTPRoute", name: "fine", parents: `{group: "", kind: Service, name: OWN, port: 80}`, rules: `{backendRefs: [{name: OWN, port: 80}]}`}

// legacyFaults are what is wrong with stored routes, in place of what is in fine.
var legacyFaults = []legacyRoute{
	{kind: "HTTPRoute", name: "group", parents: `{kind: Service, name: OWN}`},
	{kind: "HTTPRoute", name: "missing", parents: `{group: "", kind: Service, name: nowhere}`, denied: "parent-not-found"},
	{kind: "HTTPRoute", name: "headless", parents: `{group: "", kind: Service, name: bare}`, denied: "parent-headless"},
	{kind: "GRPCRoute", name: "alias", parents: `{group: "", kind: Service, name: dns}`, denied: "parent-external-name"},
	{kind: "GRPCRoute", name: "port", parents: `{group: "", kind: Service, name: OWN, port: 81}`, denied: "parent-port-not-found"},
	{kind: "TCPRoute", name: "protocol", parents: `{group: "", kind: Service, name: names, port: 53}`, denied: "parent-protocol-mismatch"},
	{kind: "GRPCRoute", name: "twice", parents: `{group: "", kind: Service, name: OWN}, {group: "", kind: Service, namespace: NAMESPACE, name: OWN}`, denied: "parent-duplicate"},
	{kind: "HTTPRoute", name: "to-alias", rules: `{backendRefs: [{name: dns, port: 80}]}`, denied: "backend-external-name"},
	{kind: "TCPRoute", name: "to-group", rules: `{backendRefs: [{group: core, kind: ServiceImport, name: OWN, port: 80}]}`, denied: "backend-group-invalid"},
	{kind: "HTTPRoute", name: "gone", rules: `{backendRefs: [{name: nowhere, port: 80}]}`, warned: []string{"backend-not-found"}},
	{kind: "HTTPRoute", name: "closed", rules: `{backendRefs: [{name: OWN, port: 81}]}`, warned: []string{"backend-port-not-found"}},
	{kind: "TCPRoute", name: "empty", rules: `{backendRefs: [{name: idle, port: 80}]}`, warned: []string{"backend-no-endpoints"}},
	{kind: "GRPCRoute", name: "zero", rules: `{backendRefs: [{name: OWN, port: 80, weight: 0}]}`, warned: []string{"backend-weights-zero"}},
	{kind: "HTTPRoute", name: "nothing", rules: `{matches: [{path: {value: /}}]}`, warned: []string{"backend-missing"}},
	{
		kind: "HTTPRoute", name: "hosts", more: ", hostnames: [shop.example.com]",
		rules: `{matches: [{path: {value: /v1}}, {path: {value: /v1}}], backendRefs: [{name: OWN, port: 80}]}`, warned: []string{"hostnames-ignored", "no-catch-all", "match-unreachable"},
	},
	{
		kind: "HTTPRoute", name: "overlap", parents: `{group: "", kind: Service, name: httproute-hosts}`,
		rules: `{matches: [{path: {value: /v1}}], backendRefs: [{name: OWN, port: 80}]}`, warned: []string{"route-overlap"},
	},
	{kind: "HTTPRoute", name: "raw", parents: `{group: "", kind: Service, name: tcp}`, warned: []string{"parent-app-protocol", "route-conflict"}},
	{kind: "GRPCRoute", name: "raw", parents: `{group: "", kind: Service, name: tcp}`, warned: []string{"parent-app-protocol", "route-conflict"}},
}

// byNamespace are the faults of one of the namespaces alone.
var byNamespace = map[string]legacyRoute{
	"shop":  {kind: "HTTPRoute", name: "chain", rules: `{backendRefs: [{name: httproute-fine, port: 80}]}`, warned: []string{"backend-has-routes"}},
	"faces": {kind: "HTTPRoute", name: "refused", parents: `{group: "", kind: Service, namespace: closed, name: cart}`, denied: "consumer-refused"},
}

// legacyRoutes returns the routes of the namespace by kind and name.
func legacyRoutes(namespace string) map[string]legacyRoute {
	routes := map[string]legacyRoute{}
	for _, route := range append(slices.Clone(legacyFaults), fine, byNamespace[namespace]) {
		routes[route.kind+"/"+route.name] = route
	}
	return routes
}

// manifest is the route in the namespace, faulty as it is.
func (r *legacyRoute) manifest(namespace string) string {
	parents, rules := r.parents, r.rules
	if parents == "" {
		parents = fine.parents
	}
	if rules == "" {
		rules = fine.rules
	}
	return strings.NewReplacer("OWN", r.service(), "NAMESPACE", namespace).Replace(fmt.Sprintf(
		"{apiVersion: gateway.networking.k8s.io/v1, kind: %s, metadata: {name: %s, namespace: NAMESPACE}, spec: {parentRefs: [%s], rules: [%s]%s}}",
		r.kind, r.name, parents, rules, r.more))
}

// fixed is the route without its fault, as it is applied over what was created.
func (r *legacyRoute) fixed(namespace string) string {
	route := legacyRoute{kind: r.kind, name: r.name}
	if r.more != "" {
		route.more = ", hostnames: null"
	}
	return route.manifest(namespace)
}

// service is the name of the route's own Service.
func (r *legacyRoute) service() string { return strings.ToLower(r.kind) + "-" + r.name }

// legacyCluster returns all that is there before the adoption.
func legacyCluster() []string {
	documents := []string{
		"{apiVersion: v1, kind: Namespace, metadata: {name: closed}}",
		"{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: closed}, spec: {ports: [{port: 80}]}}",
	}
	for _, namespace := range adopters {
		documents = append(documents, "{apiVersion: v1, kind: Namespace, metadata: {name: "+namespace+"}}")
		service := func(name, spec string) {
			documents = append(documents, fmt.Sprintf("{apiVersion: v1, kind: Service, metadata: {name: %s, namespace: %s}, spec: {%s}}", name, namespace, spec))
		}
		service("bare", "clusterIP: None, ports: [{port: 80}]")
		service("dns", "type: ExternalName, externalName: a.test, ports: [{port: 80}]")
		service("names", "ports: [{port: 53, protocol: UDP}]")
		service("idle", "ports: [{port: 80}]")
		service("tcp", "ports: [{port: 80, appProtocol: tcp}]")
		routes := legacyRoutes(namespace)
		for _, name := range slices.Sorted(maps.Keys(routes)) {
			route := routes[name]
			service(route.service(), "ports: [{port: 80}]")
			documents = append(documents, fmt.Sprintf(
				"{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: %[1]s, namespace: %[2]s, labels: {kubernetes.io/service-name: %[1]s}}, addressType: IPv4, endpoints: [{addresses: [10.1.2.3]}]}",
				route.service(), namespace), route.manifest(namespace))
		}
	}
	return documents
}
