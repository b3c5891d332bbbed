package main

import (
	"encoding/json"
	"fmt"
	"strconv"
)

type object = map[string]any

// layout says what the cluster holds: Services spread over namespaces, and routes
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

func service(namespace, name string) object {
	return object{
		"apiVersion": "v1", "kind": "Service", "metadata": object{"namespace": namespace, "name": name},
		"spec": object{"selector": object{"app": name}, "ports": []object{{"name": "http", "port": 80}}},
	}
}

func headlessService(namespace, name string) object {
	o := service(namespace, name)
	o["spec"].(object)["clusterIP"] = "None" //nolint:forcetypeassert // see service
	return o
}

func externalService(namespace, name string) object {
	o := service(namespace, name)
	o["spec"] = object{"type": "ExternalName", "externalName": "example.test"}
	return o
}

func endpointSlice(namespace, name string) object {
	return object{
		"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
		"metadata":    object{"namespace": namespace, "name": name, "labels": object{"kubernetes.io/service-name": name}},
		"addressType": "IPv4", "ports": []object{{"name": "http", "port": 8080}}, "endpoints": []object{{"addresses": []string{"10.0.0.1"}}},
	}
}

// route returns a route on a Service of its own namespace.
func route(kind, namespace, name string, parents, rules []object) object {
	return object{
		"apiVersion": "gateway.networking.k8s.io/v1", "kind": kind,
		"metadata": object{"namespace": namespace, "name": name, "labels": object{"app": name}},
		"spec":     object{"parentRefs": parents, "rules": rules},
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

// seeded returns the seeded HTTPRoute with the number: two rules, nothing wrong.
func (l layout) seeded(i int) object {
	service := i % l.services
	name := serviceName(service)
	return route("HTTPRoute", l.at(service), fmt.Sprintf("route-%06d", i), []object{parent(name, 80)}, []object{rule(i, name), rule(-1, name)})
}

func encode(o object) []byte {
	data, err := json.Marshal(o)
	if err != nil {
		panic(err) // maps of strings, numbers and bytes
	}
	return data
}
