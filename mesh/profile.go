package mesh

import (
	"slices"
	"strings"
)

// ProfileName names a mesh, with the release that runs where it is known: the value of mesh in
// the configuration, "kuma" or "kuma@2.13".
type ProfileName string

// The meshes that have a profile.
const (
	Istio   ProfileName = "istio"
	Linkerd ProfileName = "linkerd"
	Cilium  ProfileName = "cilium"
	Kuma    ProfileName = "kuma"
)

// Profile is what one mesh takes of the routes on Services, and what it ignores. A nil
// Profile is the specification. Profiles holds them all.
type Profile struct {
	Name ProfileName
	// Title is the name of the mesh in prose.
	Title string
	// Newest is the newest release that the facts are about.
	Newest string
	// Evidence describes which source of the mesh was looked at, and how.
	Evidence string

	// RouteKinds are the kinds that the mesh applies on Services.
	RouteKinds Fact[[]RouteKind]
	// ConsumerRoutes: the mesh applies routes of other namespaces than the Service's.
	ConsumerRoutes Fact[bool]
	// ReferenceGrants: a backendRef to another namespace needs a ReferenceGrant.
	ReferenceGrants Fact[bool]
	// ParentKinds are the parents besides Service, as "Kind.group".
	ParentKinds Fact[[]string]
	// ServiceImports: the mesh takes a ServiceImport as a parent.
	ServiceImports Fact[bool]
	// SectionNames: the mesh selects a Service port by the sectionName of a parentRef.
	SectionNames Fact[bool]
	// HeadlessParents: the mesh reports a route on a headless Service as accepted.
	HeadlessParents Fact[bool]
	// CoreGroup: the mesh takes the group core for the empty group in a parentRef, and in a
	// backendRef.
	CoreGroup Fact[bool]
	// AnyCase: the mesh compares kinds of parents without regard to case.
	AnyCase Fact[bool]
	// Expressions is the syntax of regular expressions: RE2 where the proxies are Envoy.
	Expressions Fact[Dialect]
	// HostModifiers: the mesh takes a header modifier that sets Host for a rewrite of the
	// host. Elsewhere it breaks the configuration of a proxy, or has an effect on HTTP/1 only.
	HostModifiers Fact[bool]
	// Sharing is what happens to an HTTPRoute and a GRPCRoute on one port.
	Sharing Fact[Sharing]
	// Ranking is the place of a path by RegularExpression among the matches. The specification
	// leaves it to implementations.
	Ranking Fact[Ranking]
	// Calls are how the mesh reads the matches of GRPCRoutes.
	Calls Fact[Calls]
	// Joined are the types of filters for which ReplacePrefixMatch is joined as it is with the rest
	// of the path, without regard to slashes.
	Joined Fact[[]string]
	// WholePrefix: where a URLRewrite replaces a prefix that ends with a slash by a slash, the path without
	// the slash stays as it is, and of two slashes in its place one is lost.
	WholePrefix Fact[bool]
	// QueryReplaced: a redirect that replaces the whole path loses the query of the request.
	QueryReplaced Fact[bool]
	// Backends are how the mesh reads backendRefs.
	Backends Fact[Backends]
	// Portless are the appProtocols that a port must have for a parentRef without port to select
	// it, by the kind of route; none for those kinds that need none.
	Portless Fact[map[RouteKind]string]
	// PortNames are the application protocols that the mesh takes from the name of a port without appProtocol, up to its first hyphen.
	PortNames Fact[[]string]
	// PortsTogether: the routes of a Service apply on every port that any of them selects, and a
	// redirect without port and scheme leads to the first port that its route selects.
	PortsTogether Fact[bool]
	// PortSplit: of the routes of one kind and scope that are bound to a port, those whose parentRef
	// has a port do not merge with those whose has none. The oldest route decides which of them
	// apply.
	PortSplit Fact[bool]
	// ConflictReason is the reason of Accepted=False on a route that lost its ports.
	ConflictReason Fact[string]
	// Groups are API groups that the control plane installs.
	Groups Fact[[]string]
	// Domains are those of the labels and annotations that the mesh reads, with all their
	// subdomains.
	Domains Fact[[]string]
	// Controller selects the Deployment of the control plane by its labels.
	Controller Fact[string]
	// Injection is how namespaces have their Pods added to the mesh.
	Injection Fact[Injection]
	// Overrides are kinds, as "Kind.group", whose objects of the name of a Service, fully
	// qualified, make the mesh ignore the routes on it.
	Overrides Fact[[]string]
	// Fields are what the mesh does with fields and filters. Does answers from them.
	Fields []FieldFact

	// release is the release that runs; empty where it is not known.
	release release
}

// Sharing is what a mesh does with routes of different kinds on one port.
type Sharing string

const (
	// SharingBySpecification: the most specific kind has the port in each scope.
	SharingBySpecification Sharing = "by-specification"
	// SharingUnknown: the mesh accepts both; which of them is applied is not known.
	SharingUnknown Sharing = "accepts-both"
	// SharingMerged: the rules of an HTTPRoute and a GRPCRoute are merged.
	SharingMerged Sharing = "merged"
	// SharingAcrossScopes: the most specific kind has the port, whatever the scope.
	SharingAcrossScopes Sharing = "across-scopes"
)

// ProfileNames returns the name of every profile, in the order of Profiles.
func ProfileNames() []ProfileName {
	var names []ProfileName
	for _, p := range Profiles() {
		names = append(names, p.Name)
	}
	return names
}

// FindProfile returns the profile of that name, as of its release, or nil.
func FindProfile(name ProfileName) *Profile {
	mesh, version, versioned := strings.Cut(string(name), "@")
	at, err := parseRelease(version)
	if versioned && err != nil {
		return nil
	}
	i := slices.IndexFunc(profiles, func(p *Profile) bool { return string(p.Name) == mesh })
	switch {
	case i < 0:
		return nil
	case versioned:
		return makers[i](at)
	}
	return profiles[i]
}

// Newer reports whether the release that runs is newer than the facts: they may hold no longer,
// so that nothing is denied for them.
func (p *Profile) Newer() bool {
	return p != nil && len(p.release) > 0 && p.release.compare(p.Newest) > 0
}

// MeshDomains returns the domains of the labels and annotations that shape traffic: those
// of the profiles, and of Consul, which has none. A domain stands for its subdomains too.
func MeshDomains() []string {
	domains := []string{"consul.hashicorp.com"}
	for _, p := range Profiles() {
		domains = append(domains, p.Domains.Value...)
	}
	slices.Sort(domains)
	return domains
}

// meshDomains is MeshDomains, which is asked for each label.
var meshDomains = MeshDomains()

// inMeshDomain reports whether a label or annotation of this key is under one of
// MeshDomains: "timeout.linkerd.io/request".
func inMeshDomain(key string) bool {
	prefix, _, prefixed := strings.Cut(key, "/")
	return prefixed && slices.ContainsFunc(meshDomains, func(domain string) bool {
		rest, within := strings.CutSuffix(prefix, domain)
		return within && (rest == "" || strings.HasSuffix(rest, "."))
	})
}

// ParentKindsOfMeshes returns the other parents of every profile, as "Kind.group".
func ParentKindsOfMeshes() []string {
	var kinds []string
	for _, p := range Profiles() {
		kinds = append(kinds, p.ParentKinds.Value...)
	}
	return kinds
}

// Takes reports whether the mesh applies routes of the kind.
func (p *Profile) Takes(kind RouteKind) bool {
	return p == nil || slices.Contains(p.RouteKinds.Value, kind)
}

// reads reports whether the mesh takes the parentRef for one to that kind, Service or
// ServiceImport, whose name it has in any case.
func (p *Profile) reads(ref *ParentRef, kind string) bool {
	if p == nil || kind == ServiceImportKind && !p.ServiceImports.Value || kind != ref.Kind && !p.AnyCase.Value {
		return false
	}
	group := ref.EffectiveGroup()
	return group == groupOf(kind) || kind == ServiceKind && p.takesCore(group)
}

// takesCore reports whether that is the group core, and the mesh takes it for the empty one.
func (p *Profile) takesCore(group string) bool {
	return group == "core" && p != nil && p.CoreGroup.Value
}

// taken returns the parentRefs that are mesh parents by the profile alone.
func (p *Profile) taken(refs []ParentRef) (set ParentSet) {
	if p == nil {
		return 0
	}
	for i := range refs {
		if refs[i].Class(p) == MeshParent && refs[i].Class(nil) != MeshParent {
			set |= 1 << i
		}
	}
	return set
}

// merges reports whether the mesh merges routes of the two kinds on one port.
func (p *Profile) merges(a, b RouteKind) bool {
	return p.Shares(SharingMerged) && a.MatchesRequests() && b.MatchesRequests()
}

// Same reports whether both are of the same mesh and release.
func (p *Profile) Same(q *Profile) bool {
	if p == nil || q == nil {
		return p == q
	}
	return p.Name == q.Name && slices.Equal(p.release, q.release)
}

// SplitsByPort reports whether routes with a port in their parentRef do not merge with routes
// without one.
func (p *Profile) SplitsByPort() bool { return p != nil && p.PortSplit.Value }

// Shares reports whether that is what the mesh does with kinds on one port.
func (p *Profile) Shares(how Sharing) bool { return p != nil && p.Sharing.Value == how }

// OfAnotherMesh returns the title of the mesh whose parent kind this is, if it is the
// kind of another mesh and not of this one; else nothing.
func (p *Profile) OfAnotherMesh(ref *ParentRef) string {
	if p == nil || p.takesParent(ref) {
		return ""
	}
	for _, other := range Profiles() {
		if other.takesParent(ref) {
			return other.Title
		}
	}
	return ""
}

func (p *Profile) takesParent(ref *ParentRef) bool {
	named := ref.EffectiveKind() + "." + ref.EffectiveGroup()
	return slices.ContainsFunc(p.ParentKinds.Value, func(kind string) bool { return strings.EqualFold(kind, named) })
}
