package mesh

import (
	"iter"
	"slices"
	"strconv"
	"strings"
)

// BackendRef is what gammaguard reads of a backendRef. An empty field was left
// out, and so was a nil Weight.
type BackendRef struct {
	Group     string   `json:"group"`
	Kind      string   `json:"kind"`
	Namespace string   `json:"namespace"`
	Name      string   `json:"name"`
	Port      int32    `json:"port"`
	Weight    *int32   `json:"weight"`
	Filters   []Filter `json:"filters"`
}

// Share is the part of the requests that the backend gets of the sum of all: its weight, which is 1 where it is left out.
func (b *BackendRef) Share() int32 {
	if b.Weight == nil {
		return 1
	}
	return *b.Weight
}

// IsService reports whether the backend is a Service or ServiceImport, as the mesh of the
// profile takes it, and so one that gammaguard judges.
func (b *BackendRef) IsService(profile *Profile) bool {
	switch b.Kind {
	case "", ServiceKind:
		return b.Group == "" || profile.takesCore(b.Group)
	case ServiceImportKind:
		return b.Group == MulticlusterGroup
	}
	return false
}

// WrongGroup reports whether the backend is a Service or ServiceImport in a group that
// has none, as people write it by mistake: the mesh of the profile finds no such backend.
func (b *BackendRef) WrongGroup(profile *Profile) bool {
	switch b.Kind {
	case "", ServiceKind:
		return !b.IsService(profile) && inServiceGroup(b.Group)
	case ServiceImportKind:
		return b.Group != MulticlusterGroup && inServiceGroup(b.Group)
	}
	return false
}

// kubernetesGroups are Kubernetes' own API groups with a dot in their name.
var kubernetesGroups = []string{
	"admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "authentication.k8s.io", "authorization.k8s.io",
	"certificates.k8s.io", "coordination.k8s.io", "discovery.k8s.io", "events.k8s.io", "flowcontrol.apiserver.k8s.io",
	"internal.apiserver.k8s.io", "networking.k8s.io", "node.k8s.io", "rbac.authorization.k8s.io", "resource.k8s.io", "scheduling.k8s.io",
	"storage.k8s.io", "storagemigration.k8s.io",
}

// WrongKind reports whether the backend is of a kind of Kubernetes that no mesh takes for one: the Service is
// the only one. A group without a dot is Kubernetes' own, as apps is, or none: definitions need a dot. What is
// in the wrong group is not among them.
func (b *BackendRef) WrongKind(profile *Profile) bool {
	group, _, _ := strings.Cut(b.Group, "/")
	return (!strings.Contains(group, ".") || slices.Contains(kubernetesGroups, group)) && !b.IsService(profile) && !b.WrongGroup(profile)
}

// externalKinds are the kinds of backends that stand for hosts outside of the cluster, by group:
// the Gateway API's experimental XBackend, which has no other type, and those of meshes.
var externalKinds = map[string]string{
	"XBackend":            "gateway.networking.x-k8s.io",
	"EgressNetwork":       "policy.linkerd.io",
	"Hostname":            "networking.istio.io",
	"MeshExternalService": "kuma.io",
}

// External reports whether the backend is a destination outside of the cluster, of another kind
// than an ExternalName Service.
func (b *BackendRef) External() bool { return b.Group != "" && externalKinds[b.Kind] == b.Group }

// Service returns the key of the Service or ServiceImport that the backendRef of
// a route in the given namespace refers to.
func (b *BackendRef) Service(routeNamespace string) ServiceKey {
	key := ServiceKey{Kind: b.Kind, Namespace: b.Namespace, Name: b.Name}
	if key.Kind == "" {
		key.Kind = ServiceKind
	}
	if key.Namespace == "" {
		key.Namespace = routeNamespace
	}
	return key
}

// Backend is one backendRef of a route and its place.
type Backend struct {
	Ref *BackendRef
	// Rule is the index of the route's rule.
	Rule int
	// backend is an index, or -1 for a rule's mirror. Of a mirror, filter is the index; others have none.
	backend, filter int
	mirror          *RequestMirror
}

// Mirror reports whether the backendRef is that of a RequestMirror filter.
func (b *Backend) Mirror() bool { return b.mirror != nil }

// Copies returns the part of the requests that a mirror copies to it, as parts of a number.
func (b *Backend) Copies() (parts, of int64) { return b.mirror.Part() }

// Path returns the backendRef's field path: "spec.rules[0].backendRefs[1]".
func (b *Backend) Path() string {
	rule, backend := strconv.Itoa(b.Rule), strconv.Itoa(b.backend)
	if !b.Mirror() {
		return "spec.rules[" + rule + "].backendRefs[" + backend + "]"
	}
	mirror := "].filters[" + strconv.Itoa(b.filter) + "].requestMirror.backendRef"
	if b.backend < 0 {
		return "spec.rules[" + rule + mirror
	}
	return "spec.rules[" + rule + "].backendRefs[" + backend + mirror
}

// Backends yields every backendRef of the route, also those of RequestMirror
// filters and those with weight 0, of any kind.
func (r *Route) Backends() iter.Seq[Backend] {
	return func(yield func(Backend) bool) {
		for i := range r.Spec.Rules {
			rule := &r.Spec.Rules[i]
			if !mirrors(rule.Filters, Backend{Rule: i, backend: -1}, yield) {
				return
			}
			for j := range rule.BackendRefs {
				ref := &rule.BackendRefs[j]
				if !yield(Backend{Ref: ref, Rule: i, backend: j}) ||
					!mirrors(ref.Filters, Backend{Rule: i, backend: j}, yield) {
					return
				}
			}
		}
	}
}

func mirrors(filters []Filter, at Backend, yield func(Backend) bool) bool {
	for i := range filters {
		if mirror := filters[i].RequestMirror; mirror != nil {
			at.Ref, at.filter, at.mirror = &mirror.BackendRef, i, mirror
			if !yield(at) {
				return false
			}
		}
	}
	return true
}
