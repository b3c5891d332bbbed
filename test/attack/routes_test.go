package attack

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const gatewayGroup = "gateway.networking.k8s.io"

// An endpoint is a kind of route in one of its versions.
type endpoint struct{ kind, version string }

// endpoints are all that the API server serves.
var endpoints = []endpoint{
	{"HTTPRoute", "v1"},
	{"HTTPRoute", "v1beta1"},
	{"GRPCRoute", "v1"},
	{"TLSRoute", "v1"},
	{"TLSRoute", "v1alpha2"},
	{"TLSRoute", "v1alpha3"},
	{"TCPRoute", "v1"},
	{"TCPRoute", "v1alpha2"},
	{"UDPRoute", "v1"},
	{"UDPRoute", "v1alpha2"},
}

func (e endpoint) resource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: gatewayGroup, Version: e.version, Resource: strings.ToLower(e.kind) + "s"}
}

// route is a route that the schema of each kind admits.
func (e endpoint) route(namespace, name string, parents ...parent) *unstructured.Unstructured {
	spec := object{
		"parentRefs": list(parents),
		"rules":      []any{object{"backendRefs": []any{object{"name": "cart", "port": int64(80)}}}},
	}
	if e.kind == "TLSRoute" {
		spec["hostnames"] = []any{"cart.example.com"}
	}
	return &unstructured.Unstructured{Object: object{
		"apiVersion": gatewayGroup + "/" + e.version, "kind": e.kind,
		"metadata": object{"namespace": namespace, "name": name}, "spec": spec,
	}}
}

// list is the parentRefs as JSON has them.
func list(parents []parent) []any {
	all := make([]any, len(parents))
	for i, p := range parents {
		all[i] = p
	}
	return all
}

// setParents replaces the parentRefs of a route.
func setParents(route *unstructured.Unstructured, parents ...parent) {
	route.Object["spec"].(object)["parentRefs"] = list(parents)
}

// meshParentsOf returns the parentRefs of a stored route that are not Gateways, by the
// specification's own defaults and not by gammaguard's reading of them.
func meshParentsOf(route *unstructured.Unstructured) []any {
	refs, _, _ := unstructured.NestedSlice(route.Object, "spec", "parentRefs")
	var others []any
	for _, ref := range refs {
		ref := ref.(object)
		group, hasGroup := ref["group"]
		kind, hasKind := ref["kind"]
		if hasGroup && group != gatewayGroup || hasKind && kind != "Gateway" {
			others = append(others, ref)
		}
	}
	return others
}
