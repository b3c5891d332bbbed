package mesh

import "slices"

// Where the facts are from. "route NN" is a route of test/meshes/testdata, which says what
// each mesh made of it.
const (
	istioRun          = "observed with istiod, "
	istioTruth        = "observed with Istio's own code (docs/truth.md)"
	kumaRun           = "observed with Kuma's HTTPRoute reconciler, "
	ciliumSource      = "predicted from Cilium's source, "
	ciliumTranslation = "observed with Cilium's own code, of 1.20.2 (docs/truth.md), operator/pkg/model: "
	envoyQuery        = "Envoy keeps the query unless strip_query is set; not looked at whether the mesh sets it"
	linkerdSource     = "predicted from Linkerd's source at b24cd405, "
)

// makers make the profile of each mesh as of a release, by title: the one table of what meshes
// take and ignore.
var makers = []func(at release) *Profile{cilium, istio, kuma, linkerd}

var profiles = func() (all []*Profile) {
	for _, of := range makers {
		all = append(all, of(nil))
	}
	return all
}()

// Profiles returns the profile of every mesh, by title, of a release that is not known. They are
// shared and must not be changed.
func Profiles() []*Profile { return profiles }

func cilium(at release) *Profile {
	return &Profile{
		release:  at,
		Name:     Cilium,
		Title:    "Cilium",
		Newest:   "1.20",
		Evidence: "Cilium was not run, but its own translation of routes, of 1.20.2; the rest is predicted from a reading of its source, perhaps not the newest",
		RouteKinds: choose(at,
			fact([]RouteKind{HTTPRoute, GRPCRoute}, ciliumSource+"routes 01, 17, 21, 41").since("1.19"),
			fact([]RouteKind{HTTPRoute}, "cilium PR 41936").until("1.19")),
		ConsumerRoutes:  fact(false, ciliumSource+"route 16"),
		ReferenceGrants: fact(true, ciliumSource+"route 24"),
		ParentKinds:     fact([]string(nil), ciliumSource+"routes 44, 45"),
		ServiceImports:  fact(false, ciliumSource+"route 12"),
		SectionNames:    fact(false, ciliumSource+"route 06"),
		HeadlessParents: fact(true, ciliumSource+"route 03"),
		CoreGroup: choose(at,
			fact(false, ciliumSource+"route 10").until("1.19"),
			fact(true, "cilium#41268").since("1.19")),
		AnyCase:        fact(false, ciliumSource+"route 11"),
		Expressions:    fact(RE2, ciliumSource+"routes become CiliumEnvoyConfigs"),
		HostModifiers:  fact(false, ciliumSource+"header modifiers are handed on to Envoy; cilium#39588"),
		Sharing:        fact(SharingMerged, ciliumTranslation+"GRPCRoutes become rules beside those of HTTPRoutes"),
		ConflictReason: fact("Conflicted", ciliumSource+"route 17: Cilium has no reason of its own"),
		Groups:         fact([]string{"cilium.io"}, "Cilium's CustomResourceDefinitions"),
		Domains:        fact([]string{"cilium.io", "io.cilium"}, "Cilium's documentation: service.cilium.io, and io.cilium before"),
		Controller:     fact("io.cilium/app=operator", "Cilium's Helm chart, templates/cilium-operator/deployment.yaml"),
		Injection:      fact(Injection{}, "Cilium has no sidecars"),
		Overrides:      fact([]string(nil), "not looked at"),
		Fields:         slices.Concat(ciliumFields(), reported[Cilium]),
		Ranking:        fact(RankedFirst, ciliumTranslation+"SortableRoute: exact paths, expressions, prefixes, each by length"),
		Backends:       fact(Backends{LeavesOut: true, OnlyOne: true, MergesEqual: true, ZeroRefused: true, WholePercents: true, ByName: true}, ciliumTranslation+"envoyHTTPRoutes, getRouteAction, and extractRoutes"),
		Portless:       fact(map[RouteKind]string{HTTPRoute: "http", GRPCRoute: "grpc"}, ciliumTranslation+"toGammaHTTPRoutes and toGammaGRPCRoutes"),
		PortsTogether:  fact(true, ciliumTranslation+"desiredEnvoyHTTPRouteConfiguration: one virtual host for all ports"),
		PortNames:      fact([]string(nil), "not looked at"),
		Calls:          fact(Calls{AnyService: ".+", AfterHTTP: true}, ciliumTranslation+"toGRPCPathMatch"),
		Joined:         fact([]string{RequestRedirectFilter}, ciliumTranslation+"getRouteRedirect"),
		WholePrefix:    fact(true, ciliumTranslation+"pathPrefixMutation"),
		QueryReplaced:  fact(false, envoyQuery),
		PortSplit:      fact(false, "Cilium merges them since pull request 39922 of 2025-06"),
	}
}

func istio(at release) *Profile {
	return &Profile{
		release:         at,
		Name:            Istio,
		Title:           "Istio",
		Newest:          "1.31",
		Evidence:        "istiod was run, from its source of 2026-08-22, the same with and without ambient; control plane only",
		RouteKinds:      fact([]RouteKind{HTTPRoute, GRPCRoute, TLSRoute, TCPRoute}, istioRun+"routes 01, 17, 21, 31, 41"),
		ConsumerRoutes:  fact(true, istioRun+"route 16"),
		ReferenceGrants: fact(false, istioRun+"route 24"),
		ParentKinds:     fact([]string{"ServiceEntry.networking.istio.io"}, istioRun+"route 44"),
		ServiceImports:  fact(false, istioRun+"route 12"),
		SectionNames:    fact(false, istioRun+"route 06"),
		HeadlessParents: fact(true, istioRun+"route 03"),
		CoreGroup:       fact(false, istioRun+"route 10"),
		AnyCase:         fact(false, istioRun+"route 11"),
		Expressions:     fact(RE2, "Istio's proxies are Envoy; istio#49993"),
		HostModifiers:   fact(true, "predicted from Istio's source, pilot/pkg/networking/core/route: Host in set becomes a rewrite of the host, in add and remove it is left out"),
		Sharing:         fact(SharingMerged, istioRun+"route 17: one virtual service, the rule of the HTTPRoute first"),
		ConflictReason:  fact("Conflicted", istioRun+"route 17: Istio has no reason of its own"),
		Groups:          fact([]string{"networking.istio.io", "security.istio.io"}, "Istio's CustomResourceDefinitions"),
		Domains:         fact([]string{"istio.io"}, "Istio's documentation, Resource annotations and Resource labels: istio.io/rev"),
		Controller:      fact("app=istiod", "Istio's Helm chart, istio-discovery/templates/deployment.yaml"),
		Injection: fact(Injection{
			Labels: map[string][]string{"istio-injection": {"enabled"}, "istio.io/rev": nil, "istio.io/dataplane-mode": {"ambient"}},
			Remedy: "label the namespace istio-injection=enabled, or with istio.io/rev",
		}, "Istio's documentation, Installing the Sidecar, and Add workloads to the mesh"),
		Overrides:     fact([]string(nil), "not looked at: a VirtualService of the same host may"),
		Fields:        slices.Concat(istioFields(), reported[Istio]),
		Ranking:       fact(RankedLast, istioTruth+": exact paths, prefixes, expressions, each by length"),
		Calls:         fact(Calls{AnyService: "[^/]+", SlashCounts: true, OthersLast: true}, istioTruth+", and createGRPCURIMatch in pilot/pkg/config/kube/gateway/conversion.go"),
		Backends:      fact(Backends{}, istioTruth),
		Portless:      fact(map[RouteKind]string(nil), istioTruth),
		PortsTogether: fact(false, istioTruth),
		PortNames: fact([]string{"grpc", "grpc-web", "http2", "https", "mongo", "mysql", "redis", "tcp", "tls", "udp"},
			"Istio's documentation, Protocol Selection: name: <protocol>[-<suffix>]"),
		Joined:        fact([]string{URLRewriteFilter, RequestRedirectFilter}, istioTruth+", and applyHTTPRouteDestination in pilot/pkg/networking/core/route"),
		WholePrefix:   fact(false, istioTruth),
		QueryReplaced: fact(false, envoyQuery),
		PortSplit:     fact(true, istioTruth+": a virtual service for those with the port, and one for those without"),
	}
}

func kuma(at release) *Profile {
	return &Profile{
		release:  at,
		Name:     Kuma,
		Title:    "Kuma",
		Newest:   "2.14",
		Evidence: "Kuma's own HTTPRoute reconciler was run, from its source of 2026-08-21; control plane only",
		RouteKinds: choose(at,
			fact([]RouteKind{HTTPRoute}, kumaRun+"routes 01, 17, 21, 41").until("2.15"),
			fact([]RouteKind{HTTPRoute, GRPCRoute}, "kuma#18264").since("2.15")),
		ConsumerRoutes:  fact(true, kumaRun+"route 16: the Service as a backend needs a ReferenceGrant"),
		ReferenceGrants: fact(true, kumaRun+"routes 16, 24"),
		ParentKinds:     fact([]string{"MeshService.kuma.io"}, kumaRun+"route 45"),
		ServiceImports:  fact(false, kumaRun+"route 12"),
		SectionNames:    fact(true, kumaRun+"routes 06, 07, 29"),
		HeadlessParents: fact(false, kumaRun+"route 03; kuma#18073"),
		CoreGroup:       fact(false, kumaRun+"route 10"),
		AnyCase:         fact(false, kumaRun+"route 11"),
		Expressions:     fact(RE2, "Kuma's proxies are Envoy"),
		HostModifiers:   fact(false, "Envoy refuses such a modifier; what Kuma makes of it was not looked at"),
		Sharing:         fact(SharingBySpecification, kumaRun+"route 17: GRPCRoutes are not read, so nothing is shared"),
		ConflictReason:  fact("Conflicted", kumaRun+"route 17: Kuma has no reason of its own"),
		Groups:          fact([]string{"kuma.io"}, "Kuma's CustomResourceDefinitions"),
		Domains:         fact([]string{"kuma.io"}, "Kuma's documentation, Annotations and labels: kuma.io/mesh"),
		Controller:      fact("app=kuma-control-plane", "Kuma's Helm chart, templates/cp-deployment.yaml"),
		Injection: fact(Injection{
			Labels: map[string][]string{"kuma.io/sidecar-injection": {"enabled", "true"}},
			Remedy: "label the namespace kuma.io/sidecar-injection=enabled",
		}, "Kuma's documentation, Annotations and labels"),
		Overrides:     fact([]string(nil), "not looked at"),
		Fields:        slices.Concat(kumaFields(), reported[Kuma]),
		Ranking:       fact(RankingUnknown, "not looked at"),
		Calls:         fact(Calls{}, "not looked at: taken to match gRPC requests"),
		Joined:        fact([]string(nil), "not looked at"),
		WholePrefix:   fact(false, "not looked at"),
		QueryReplaced: fact(false, envoyQuery),
		Backends:      fact(Backends{}, "not looked at"),
		Portless:      fact(map[RouteKind]string(nil), "not looked at"),
		PortsTogether: fact(false, "not looked at"),
		PortNames:     fact([]string(nil), "not looked at"),
		PortSplit:     fact(false, "not observed with Kuma: taken to merge them, as the specification has it"),
	}
}

// linkerdEdges are the edge releases that Linkerd's releases were made from, by their second
// number. Facts about Linkerd are by edge releases.
var linkerdEdges = map[int]release{15: {24, 2, 4}, 16: {24, 8, 2}, 17: {24, 11, 8}, 18: {25, 4, 4}, 19: {25, 10, 7}}

// linkerdEdge returns the edge release of a release of Linkerd. One that is not known is newer
// than all that are.
func linkerdEdge(at release) release {
	switch {
	case len(at) < 2 || at[0] != 2:
		return at
	case linkerdEdges[at[1]] != nil:
		return linkerdEdges[at[1]]
	case at[1] < 15:
		return release{23}
	}
	return release{9999}
}

func linkerd(at release) *Profile {
	at = linkerdEdge(at)
	return &Profile{
		release:         at,
		Name:            Linkerd,
		Title:           "Linkerd",
		Newest:          "26.8",
		Evidence:        "Linkerd was not run: predicted from a reading of its source at b24cd405",
		RouteKinds:      fact([]RouteKind{HTTPRoute, GRPCRoute, TLSRoute, TCPRoute}, linkerdSource+"routes 01, 17, 21, 31, 41"),
		ConsumerRoutes:  fact(true, linkerdSource+"route 16"),
		ReferenceGrants: fact(false, linkerdSource+"route 24"),
		ParentKinds:     fact([]string{"EgressNetwork.policy.linkerd.io", "Server.policy.linkerd.io", "UnmeshedNetwork.policy.linkerd.io"}, linkerdSource+"the policy controller's indexes; a Server is for inbound policy, with redirects too; UnmeshedNetwork was the name of EgressNetwork"),
		ServiceImports:  fact(false, linkerdSource+"route 12"),
		SectionNames:    fact(false, linkerdSource+"route 06"),
		HeadlessParents: fact(false, linkerdSource+"route 03; linkerd2#12918"),
		CoreGroup:       fact(true, linkerdSource+"route 10; a backendRef is compared by the same function, outbound/index.rs at 009bec4f"),
		AnyCase:         fact(true, linkerdSource+"route 11"),
		Expressions:     fact(RustRegex, linkerdSource+"the policy controller parses expressions with that crate"),
		HostModifiers:   fact(false, linkerdSource+"the filter changes headers, and not the authority of HTTP/2"),
		Sharing:         fact(SharingAcrossScopes, linkerdSource+"routes 17, 40"),
		ConflictReason:  fact("RouteReasonConflicted", linkerdSource+"routes 17, 27, 40"),
		Groups:          fact([]string{"linkerd.io", "policy.linkerd.io"}, "Linkerd's CustomResourceDefinitions"),
		Domains:         fact([]string{"linkerd.io"}, "Linkerd's source at b24cd405, outbound/index/http.rs: timeout.linkerd.io, retry.linkerd.io"),
		Controller:      fact("linkerd.io/control-plane-component=destination", "Linkerd's Helm chart, templates/destination.yaml"),
		Injection: fact(Injection{
			Annotation: true,
			Remedy:     "annotate the namespace with linkerd.io/inject=enabled",
		}, "Linkerd's documentation, Automatic Proxy Injection"),
		Overrides:     fact([]string{"ServiceProfile.linkerd.io"}, "Linkerd's documentation, Getting per-route metrics; linkerd2#14274"),
		Fields:        slices.Concat(linkerdFields(), reported[Linkerd]),
		Ranking:       fact(RankingUnknown, "not looked at"),
		Calls:         fact(Calls{}, "not looked at: taken to match gRPC requests"),
		Joined:        fact([]string(nil), "not looked at"),
		WholePrefix:   fact(false, "not looked at"),
		QueryReplaced: fact(true, "predicted from the source of Linkerd's proxy, filter/redirect.rs: ReplaceFullPath takes the place of path and query"),
		Backends:      fact(Backends{}, "not looked at"),
		Portless:      fact(map[RouteKind]string(nil), "not looked at"),
		PortsTogether: fact(false, "not looked at"),
		PortNames:     fact([]string(nil), "not looked at"),
		PortSplit:     fact(false, linkerdSource+"the routes of a Service are merged by port"),
	}
}
