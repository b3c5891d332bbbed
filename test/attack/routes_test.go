package attack

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const gatewayGroup, linkerdGroup = "gateway.networking.k8s.io", "policy.linkerd.io"

// An endpoint is a kind of route, with its group if it is not the Gateway API's, in one of
// its versions.
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
	{"HTTPRoute." + linkerdGroup, "v1alpha1"},
	{"HTTPRoute." + linkerdGroup, "v1beta1"},
	{"HTTPRoute." + linkerdGroup, "v1beta2"},
	{"HTTPRoute." + linkerdGroup, "v1beta3"},
}

// group returns the API group of the endpoint, and its kind there.
func (e endpoint) group() (group, kind string) {
	kind, group, _ = strings.Cut(e.kind, ".")
	return cmp.Or(group, gatewayGroup), kind
}

func (e endpoint) resource() schema.GroupVersionResource {
	group, kind := e.group()
	return schema.GroupVersionResource{Group: group, Version: e.version, Resource: strings.ToLower(kind) + "s"}
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
	group, kind := e.group()
	return &unstructured.Unstructured{Object: object{
		"apiVersion": group + "/" + e.version, "kind": kind,
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
		if hasGroup && group != gatewayGroup && group != route.GroupVersionKind().Group || hasKind && kind != "Gateway" {
			others = append(others, ref)
		}
	}
	return others
}
