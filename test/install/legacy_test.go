package install

import (
	"fmt"
	"strings"
)

// adopters are the namespaces that adopt; each has the routes of legacyFaults, of two
// kinds.
var adopters = []string{"shop", "faces"}

// legacyFaults are what is wrong with the stored routes: a parentRef, and the name of a
// backend, where "cart" is the route's own Service.
var legacyFaults = []struct{ name, parents, backend, rule string }{
	{"fine", `{group: "", kind: Service, name: cart, port: 80}`, "cart", ""},
	{"group", `{kind: Service, name: cart}`, "cart", ""},
	{"missing", `{group: "", kind: Service, name: nowhere}`, "cart", "parent-not-found"},
	{"headless", `{group: "", kind: Service, name: bare}`, "cart", "parent-headless"},
	{"alias", `{group: "", kind: Service, name: dns}`, "cart", "parent-external-name"},
	{"port", `{group: "", kind: Service, name: cart, port: 81}`, "cart", "parent-port-not-found"},
	{"protocol", `{group: "", kind: Service, name: names, port: 53}`, "cart", "parent-protocol-mismatch"},
	{"twice", `{group: "", kind: Service, name: cart}, {group: "", kind: Service, namespace: NAMESPACE, name: cart}`, "cart", "parent-duplicate"},
	{"to-alias", `{group: "", kind: Service, name: cart}`, "dns", "backend-external-name"},
}

// refused is the fault of a consumer route, in one of the namespaces.
const refused = `{group: "", kind: Service, namespace: closed, name: cart}`

// legacyRoute is a stored route, faulty as it is, or fixed.
func legacyRoute(kind, namespace, name, parents, backend string) string {
	own := strings.ToLower(kind) + "-" + name
	replace := func(text string) string {
		return strings.ReplaceAll(strings.ReplaceAll(text, "name: cart", "name: "+own), "NAMESPACE", namespace)
	}
	if parents != refused {
		parents = replace(parents)
	}
	return fmt.Sprintf("{apiVersion: gateway.networking.k8s.io/v1, kind: %s, metadata: {name: %s, namespace: %s}, spec: {parentRefs: [%s], rules: [{backendRefs: [{%s, port: 80}]}]}}",
		kind, name, namespace, parents, replace("name: "+backend))
}

// legacy returns the routes of the namespace, by kind and name, and everything else.
func legacy(namespace string) (routes map[string]string, others []string) {
	routes = map[string]string{}
	others = []string{
		"{apiVersion: v1, kind: Service, metadata: {name: bare, namespace: " + namespace + "}, spec: {clusterIP: None, ports: [{port: 80}]}}",
		"{apiVersion: v1, kind: Service, metadata: {name: dns, namespace: " + namespace + "}, spec: {type: ExternalName, externalName: a.test, ports: [{port: 80}]}}",
		"{apiVersion: v1, kind: Service, metadata: {name: names, namespace: " + namespace + "}, spec: {ports: [{port: 53, protocol: UDP}]}}",
	}
	add := func(name, parents, backend string) {
		for _, kind := range []string{"HTTPRoute", "GRPCRoute"} {
			own := strings.ToLower(kind) + "-" + name
			others = append(others,
				fmt.Sprintf("{apiVersion: v1, kind: Service, metadata: {name: %s, namespace: %s}, spec: {ports: [{port: 80}]}}", own, namespace),
				fmt.Sprintf("{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: %[1]s, namespace: %[2]s, labels: {kubernetes.io/service-name: %[1]s}}, addressType: IPv4, endpoints: [{addresses: [10.1.2.3]}]}", own, namespace))
			routes[kind+"/"+name] = legacyRoute(kind, namespace, name, parents, backend)
		}
	}
	for _, fault := range legacyFaults {
		add(fault.name, fault.parents, fault.backend)
	}
	if namespace == "faces" {
		add("refused", refused, "cart")
	} else {
		add("plain", legacyFaults[0].parents, "cart")
	}
	return routes, others
}

// ruleOf returns the rule that the route breaks, in parentheses, as denials name it.
func ruleOf(route string) string {
	_, name, _ := strings.Cut(route, "/")
	for _, fault := range legacyFaults {
		if fault.name == name {
			return "(" + fault.rule + ")"
		}
	}
	return "(consumer-refused)"
}

// legacyCluster returns all that is there before the adoption.
func legacyCluster() []string {
	documents := []string{
		"{apiVersion: v1, kind: Namespace, metadata: {name: closed}}",
		"{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: closed}, spec: {ports: [{port: 80}]}}",
	}
	for _, namespace := range adopters {
		documents = append(documents, "{apiVersion: v1, kind: Namespace, metadata: {name: "+namespace+"}}")
		routes, others := legacy(namespace)
		documents = append(documents, others...)
		for _, route := range routes {
			documents = append(documents, route)
		}
	}
	return documents
}
