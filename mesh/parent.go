package mesh

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// ParentRef is a parentRef as the route's author wrote it. An empty field was
// left out; Group is a pointer because an empty group is the core group.
type ParentRef struct {
	Group       *string `json:"group,omitempty"`
	Kind        string  `json:"kind,omitempty"`
	Namespace   string  `json:"namespace,omitempty"`
	Name        string  `json:"name"`
	SectionName string  `json:"sectionName,omitempty"`
	Port        int32   `json:"port,omitempty"`
}

// ParentPath returns the path of a route's parentRef, or of a field in it:
// "spec.parentRefs[0].port".
func ParentPath(index int, field string) string {
	path := "spec.parentRefs[" + strconv.Itoa(index) + "]"
	if field != "" {
		path += "." + field
	}
	return path
}

// ParentSet is a set of parentRefs of one route, by index. A route has at most 32.
type ParentSet uint32

// Has reports whether the parentRef of this index is in the set.
func (s ParentSet) Has(i int) bool { return s&(1<<i) != 0 }

// ParentClass is the class of the object that a parentRef refers to.
type ParentClass uint8

const (
	// GatewayParent is a Gateway or ListenerSet: north-south, never judged.
	GatewayParent ParentClass = iota
	// MeshParent is a Service or ServiceImport (GEP-1294, Allowed service types), also as
	// the mesh at hand takes it.
	MeshParent
	// LookAlikeParent is one that some other mesh may take for a Service or ServiceImport
	// though it is not written as one: kinds are compared without regard to case, and
	// groups that people write by mistake count.
	LookAlikeParent
	// ImplementationSpecificParent is a kind of another implementation (GEP-1294,
	// Implementation-specific parentRefs).
	ImplementationSpecificParent
)

// Same reports whether both parentRefs have the same fields.
func (p *ParentRef) Same(q *ParentRef) bool {
	return p.Name == q.Name && p.Port == q.Port && p.Kind == q.Kind && p.Namespace == q.Namespace && p.SectionName == q.SectionName &&
		(p.Group == nil) == (q.Group == nil) && p.EffectiveGroup() == q.EffectiveGroup()
}

// EffectiveGroup returns the group, with the API's default where it is left out.
func (p *ParentRef) EffectiveGroup() string {
	if p.Group == nil {
		return GatewayGroup
	}
	return *p.Group
}

// EffectiveKind returns the kind, with the API's default where it is left out.
func (p *ParentRef) EffectiveKind() string {
	if p.Kind == "" {
		return "Gateway"
	}
	return p.Kind
}

// ServiceKind returns Service or ServiceImport, in its proper case, if the parentRef
// names that kind in any case; else nothing.
func (p *ParentRef) ServiceKind() string {
	for _, kind := range []string{ServiceKind, ServiceImportKind} {
		if strings.EqualFold(p.Kind, kind) {
			return kind
		}
	}
	return ""
}

// Class returns the class of the parentRef under the profile of a mesh. Only the groups
// that people write by mistake (none, core, the Gateway API's, a version) make a Service a
// look-alike; in any other group it is another implementation's kind. All that a profile
// does is to make mesh parents of look-alikes: where these two count alike, nil will do.
func (p *ParentRef) Class(profile *Profile) ParentClass {
	group, kind := p.EffectiveGroup(), p.ServiceKind()
	switch {
	case group == GatewayGroup && (p.EffectiveKind() == "Gateway" || p.EffectiveKind() == "ListenerSet"):
		return GatewayParent
	case kind == "":
		return ImplementationSpecificParent
	case p.Kind == kind && group == groupOf(kind), profile.reads(p, kind):
		return MeshParent
	case inServiceGroup(group):
		return LookAlikeParent
	}
	return ImplementationSpecificParent
}

// groupOf returns the API group of Service or ServiceImport.
func groupOf(kind string) string {
	if kind == ServiceImportKind {
		return MulticlusterGroup
	}
	return ""
}

// ServiceGroups returns the groups, each also with a version, in which a parentRef to a
// Service or ServiceImport is a mesh parent or a look-alike. Besides their own, these are the
// groups that are written where those are meant: no API group has these names and a Service.
func ServiceGroups() []string { return []string{"", "core", "v1", GatewayGroup, MulticlusterGroup} }

var serviceGroups = ServiceGroups()

// inServiceGroup reports whether the group, without its version, is one of ServiceGroups.
func inServiceGroup(group string) bool {
	name, _, _ := strings.Cut(group, "/")
	return slices.Contains(serviceGroups, name)
}

// Service returns the key of the Service or ServiceImport that the parentRef of
// a route in the given namespace refers to. It has a meaning only for a
// MeshParent or LookAlikeParent.
func (p *ParentRef) Service(routeNamespace string) ServiceKey {
	namespace := p.Namespace
	if namespace == "" {
		namespace = routeNamespace
	}
	return ServiceKey{Kind: cmp.Or(p.ServiceKind(), p.Kind), Namespace: namespace, Name: p.Name}
}

// Role is what a route is to its parent's Service (GEP-1294, Namespace
// boundaries). A role is per parentRef.
type Role string

const (
	// Producer routes are in their Service's namespace and affect every client.
	Producer Role = "producer"
	// Consumer routes are in another namespace and affect its clients only.
	Consumer Role = "consumer"
)

// Scope defines who is affected by a binding. Routes merge and conflict only
// inside one scope (GEP-1294, Multiple routes for a Service).
type Scope struct {
	// ConsumerNamespace is the namespace whose clients are affected; empty for
	// the producer scope, which affects all clients.
	ConsumerNamespace string
}

// ScopeOf returns the scope of a route in routeNamespace on the Service.
func ScopeOf(routeNamespace string, service ServiceKey) Scope {
	if routeNamespace == service.Namespace {
		return Scope{}
	}
	return Scope{ConsumerNamespace: routeNamespace}
}

// Role returns the role of the routes in this scope.
func (s Scope) Role() Role {
	if s.ConsumerNamespace == "" {
		return Producer
	}
	return Consumer
}

// String reads "producer" or "consumer of NAMESPACE".
func (s Scope) String() string {
	if s.ConsumerNamespace == "" {
		return string(Producer)
	}
	return "consumer of " + s.ConsumerNamespace
}
