package manifest

import (
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/mesh"
)

// MeantRoute returns the kind of route that is probably meant by an object that is none: its kind differs from that by case or in the
// plural alone, or, in the group of the Gateway API, by a letter or two, or its group is not that of the Gateway API, but begins alike, or
// is one that Kubernetes reserves (k8s.io, and those without a dot, such as apps, of which no definition can be). It is empty if there is none.
func (o *Object) MeantRoute() mesh.RouteKind {
	if !o.near() && strings.Contains(o.Key.Group, ".") || o.IsRoute() || o.Version == "" && !o.named() {
		return ""
	}
	for _, kind := range mesh.RouteKinds() {
		if strings.EqualFold(o.Key.Kind, string(kind)) || strings.EqualFold(o.Key.Kind, string(kind)+"s") {
			return kind
		}
	}
	if o.Key.Group == mesh.GatewayGroup {
		return mesh.Nearest(o.Key.Kind, mesh.RouteKinds())
	}
	return ""
}

// MeantOther returns the kind, Namespace or Service, that is probably meant by an object of Kubernetes' own group of another kind; it is empty if
// there is none.
func (o *Object) MeantOther() string {
	if o.Key.Group != "" || o.Version != "v1" {
		return ""
	}
	if meant := mesh.Nearest(o.Key.Kind, []string{mesh.NamespaceKind, mesh.ServiceKind}); meant != o.Key.Kind {
		return meant
	}
	return ""
}

// near reports whether the group is that of the Gateway API, begins alike, or is one of Kubernetes.
func (o *Object) near() bool {
	return o.Key.Group == "" || strings.HasSuffix(o.Key.Group, "k8s.io") || strings.HasPrefix(o.Key.Group, "gateway.")
}

// named reports whether the object has a name, or the beginning of one.
func (o *Object) named() bool { return o.Key.Name != "*" }

// hasParents reports whether the object has parentRefs where routes have them.
func (o *Object) hasParents() bool {
	var route struct {
		Spec struct {
			ParentRefs []any `json:"parentRefs"`
		} `json:"spec"`
	}
	return mesh.Decode(o.JSON, &route) == nil && len(route.Spec.ParentRefs) > 0
}

// Lacks returns the field, kind or apiVersion or both, without which an object with a name, or with the group of the Gateway API, cannot be
// read, though what else it has says that it is one that bears on routes: other YAML has a field kind or apiVersion, too. It is empty if there is none.
func (o *Object) Lacks() string {
	switch {
	case o.Key.Kind == "" && o.Key.Group == "" && o.Version == "":
		if o.named() && o.hasParents() {
			return "apiVersion and kind"
		}
	case o.Key.Kind == "" && (o.Key.Group == mesh.GatewayGroup || o.Version != "" && o.near() && o.named()):
		return "kind"
	case o.Key.Kind != "" && o.Key.Group == "" && o.Version == "" && o.named() &&
		(o.MeantRoute() != "" || slices.Contains([]string{mesh.NamespaceKind, mesh.ServiceKind, mesh.ServiceImportKind}, o.Key.Kind)):
		return "apiVersion"
	}
	return ""
}
