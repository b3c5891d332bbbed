package main

import (
	"encoding/json"
	"fmt"
	"strconv"
)

type object = map[string]any

// layout is what the cluster holds: Services spread over namespaces, and routes
// spread over the Services. All names follow from numbers.
type layout struct{ namespaces, services, routes int }

const (
	// ungranted is a namespace without a grant, shared the one of the Service that
	// many routes share, and rivals the one where routes conflict.
	ungranted, shared, rivals = "load-ungranted", "load-shared", "load-rivals"
	sharedService             = "busy"
)

func namespaceName(i int) string { return fmt.Sprintf("load-%03d", i) }
func serviceName(i int) string   { return fmt.Sprintf("service-%05d", i) }

// at returns the namespace of the Service with the number.
func (l layout) at(service int) string { return namespaceName(service % l.namespaces) }

func namespace(name, grant string) object {
	return object{"apiVersion": "v1", "kind": "Namespace", "metadata": object{"name": name, "labels": object{"gammaguard.dev/grant": grant}}}
}

var httpPort = []object{{"name": "http", "port": 80, "targetPort": 8080, "protocol": "TCP"}}

// service returns a Service; without a spec, one with port 80.
func service(namespace, name string, spec object) object {
	if spec == nil {
		spec = object{"selector": object{"app": name}, "ports": httpPort}
	}
	return object{"apiVersion": "v1", "kind": "Service", "metadata": metadata(namespace, name, nil), "spec": spec}
}

func endpointSlice(namespace, name string) object {
	return object{
		"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
		"metadata":    metadata(namespace, name, object{"kubernetes.io/service-name": name}),
		"addressType": "IPv4", "ports": []object{{"name": "http", "port": 8080}}, "endpoints": []object{{"addresses": []string{"10.0.0.1"}}},
	}
}

// route returns a route on a Service of its own namespace.
func route(kind, namespace, name string, parent object, rules ...object) object {
	return object{
		"apiVersion": "gateway.networking.k8s.io/v1", "kind": kind, "metadata": metadata(namespace, name, object{"app": name}),
		"spec": object{"parentRefs": []object{parent}, "rules": rules},
	}
}

// plainRoute returns an HTTPRoute with two rules and nothing wrong.
func plainRoute(namespace, name, service string, i int) object {
	return route("HTTPRoute", namespace, name, parent(service, 80), rule(i, service), rule(-1, service))
}

// metadata is as the API server would have completed it: what is created there gets
// its own in place of these.
func metadata(namespace, name string, labels object) object {
	return object{
		"namespace": namespace, "name": name, "labels": labels,
		"uid": namespace + "." + name, "creationTimestamp": "2026-01-02T03:04:05Z", "generation": 1,
	}
}

// parent refers to a Service of the route's namespace; without a port where it is
// zero.
func parent(name string, port int) object {
	ref := object{"group": "", "kind": "Service", "name": name}
	if port != 0 {
		ref["port"] = port
	}
	return ref
}

// rule sends what a path and a header match, or everything, to a Service.
func rule(matched int, backend string) object {
	r := object{"backendRefs": []object{{"group": "", "kind": "Service", "name": backend, "port": 80, "weight": 1}}}
	if matched >= 0 {
		r["matches"] = []object{{
			"path":    object{"type": "PathPrefix", "value": "/items/" + strconv.Itoa(matched)},
			"headers": []object{{"type": "Exact", "name": "x-tenant", "value": "tenant-" + strconv.Itoa(matched)}},
		}}
		r["filters"] = []object{{"type": "RequestHeaderModifier", "requestHeaderModifier": object{"set": []object{{"name": "x-rule", "value": strconv.Itoa(matched)}}}}}
	}
	return r
}

// serviceEntries returns what etcd holds of the Service with the number: itself,
// its address and its EndpointSlice.
func (l layout) serviceEntries(i int) []entry {
	namespace, name := l.at(i), serviceName(i)
	ip := fmt.Sprintf("10.96.%d.%d", 100+i/250, 1+i%250)
	address := object{
		"apiVersion": "networking.k8s.io/v1", "kind": "IPAddress",
		"metadata": metadata("", ip, object{"ipaddress.kubernetes.io/ip-family": "IPv4", "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io"}),
		"spec":     object{"parentRef": object{"group": "", "resource": "services", "namespace": namespace, "name": name}},
	}
	return []entry{
		{"ipaddresses/" + ip, address},
		{"services/specs/" + namespace + "/" + name, service(namespace, name, object{
			"type": "ClusterIP", "clusterIP": ip, "clusterIPs": []string{ip}, "ipFamilies": []string{"IPv4"}, "ipFamilyPolicy": "SingleStack",
			"sessionAffinity": "None", "internalTrafficPolicy": "Cluster", "selector": object{"app": name}, "ports": httpPort,
		})},
		{"endpointslices/" + namespace + "/" + name, endpointSlice(namespace, name)},
	}
}

// routeEntry returns what etcd holds of the route with the number.
func (l layout) routeEntry(i int) entry {
	namespace, name := l.at(i%l.services), fmt.Sprintf("route-%06d", i)
	return entry{"gateway.networking.k8s.io/httproutes/" + namespace + "/" + name, plainRoute(namespace, name, serviceName(i%l.services), i)}
}

func encode(o object) []byte {
	data, err := json.Marshal(o)
	if err != nil {
		panic(err) // maps of strings, numbers and bytes
	}
	return data
}
