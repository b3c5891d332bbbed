package mesh

import (
	"fmt"
	"strings"
)

// LinkerdGroup is the API group of Linkerd's own kinds: its HTTPRoute, and the parents
// EgressNetwork and Server.
const LinkerdGroup = "policy.linkerd.io"

// LinkerdHTTPRoute is Linkerd's own HTTPRoute, which Linkerd applies as it does the Gateway
// API's. It needs the grant for the same parents. Nothing else is checked about it: it takes
// no part in conflicts, has no status of gammaguard's, and is never mutated.
const LinkerdHTTPRoute RouteKind = "HTTPRoute." + LinkerdGroup

// GuardedKinds returns the kinds of routes that need a grant: RouteKinds, and those of other
// groups.
func GuardedKinds() []RouteKind { return append(RouteKinds(), LinkerdHTTPRoute) }

// GrantOnly reports whether nothing but the grant is checked about routes of the kind.
func (k RouteKind) GrantOnly() bool { return k == LinkerdHTTPRoute }

// Group returns the API group of the kind.
func (k RouteKind) Group() string {
	if k == LinkerdHTTPRoute {
		return LinkerdGroup
	}
	return GatewayGroup
}

// Name returns the kind without its group, as objects and grants spell it.
func (k RouteKind) Name() string {
	name, _, _ := strings.Cut(string(k), ".")
	return name
}

// NamedKind returns the kind of routes of that API group and name, or nothing.
func NamedKind(group, name string) RouteKind {
	for _, kind := range GuardedKinds() {
		if kind.Group() == group && kind.Name() == name {
			return kind
		}
	}
	return ""
}

// Settle gives a route that was just decoded the kind of its API group, in place of the
// version. The error says that
// it is not a route.
func (r *Route) Settle() error {
	group, _, _ := strings.Cut(r.APIVersion, "/")
	if group != LinkerdGroup {
		group = GatewayGroup // also where it is left out: the caller knows that it is a route
	}
	kind := NamedKind(group, string(r.Kind))
	if kind == "" {
		return fmt.Errorf("not a route: kind %q is not one of %v", r.Kind, RouteKinds())
	}
	r.Kind, r.APIVersion = kind, ""
	if kind == LinkerdHTTPRoute {
		r.settleLinkerd()
	}
	return nil
}

// settleLinkerd keeps what is checked, and gives the parentRefs their group: an omitted one
// is LinkerdGroup by the definition, and the core group by Linkerd's own code. There is no
// Service in LinkerdGroup, so whoever names one left the group out.
func (r *Route) settleLinkerd() {
	r.Spec.Hostnames, r.Spec.Rules = nil, nil
	for i := range r.Spec.ParentRefs {
		ref, group := &r.Spec.ParentRefs[i], LinkerdGroup
		switch {
		case ref.Group != nil && !strings.EqualFold(*ref.Group, LinkerdGroup):
		case ref.ServiceKind() != "":
			ref.Group = nil
		default:
			ref.Group = &group
		}
	}
}

// decodeLinkerd reads of a route what is checked about Linkerd's own, whose lists have other
// limits than those of the Gateway API's. It reports false for any other route.
func decodeLinkerd(data []byte, route *Route) bool {
	var narrow struct {
		APIVersion string    `json:"apiVersion"`
		Kind       RouteKind `json:"kind"`
		Metadata   Metadata  `json:"metadata"`
		Spec       struct {
			ParentRefs []ParentRef `json:"parentRefs"`
		} `json:"spec"`
	}
	if Decode(data, &narrow) != nil || !strings.HasPrefix(narrow.APIVersion, LinkerdGroup+"/") {
		return false
	}
	*route = Route{APIVersion: narrow.APIVersion, Kind: narrow.Kind, Metadata: narrow.Metadata, Spec: RouteSpec{ParentRefs: narrow.Spec.ParentRefs}}
	return true
}
