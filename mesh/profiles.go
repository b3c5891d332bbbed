package mesh

// Where the facts are from. "route NN" is a route of test/meshes/testdata, which says what
// each mesh made of it.
const (
	istioRun      = "observed with istiod, "
	kumaRun       = "observed with Kuma's HTTPRoute reconciler, "
	ciliumSource  = "predicted from Cilium's source, "
	linkerdSource = "predicted from Linkerd's source at b24cd405, "
)

// Profiles returns the profile of every mesh, by title: the one table of what meshes take
// and ignore.
func Profiles() []*Profile {
	return []*Profile{cilium(), istio(), kuma(), linkerd()}
}

func cilium() *Profile {
	return &Profile{
		Name:            Cilium,
		Title:           "Cilium",
		Evidence:        "Cilium was not run: predicted from a reading of its source, perhaps not the newest",
		RouteKinds:      Fact[[]RouteKind]{[]RouteKind{HTTPRoute, GRPCRoute}, ciliumSource + "routes 01, 17, 21, 41"},
		ConsumerRoutes:  Fact[bool]{false, ciliumSource + "route 16"},
		ReferenceGrants: Fact[bool]{true, ciliumSource + "route 24"},
		ParentKinds:     Fact[[]string]{nil, ciliumSource + "routes 44, 45"},
		ServiceImports:  Fact[bool]{false, ciliumSource + "route 12"},
		SectionNames:    Fact[bool]{false, ciliumSource + "route 06"},
		HeadlessParents: Fact[bool]{true, ciliumSource + "route 03"},
		CoreGroup:       Fact[bool]{false, ciliumSource + "route 10; cilium#41268"},
		AnyCase:         Fact[bool]{false, ciliumSource + "route 11"},
		Expressions:     Fact[Dialect]{RE2, ciliumSource + "routes become CiliumEnvoyConfigs"},
		HostModifiers:   Fact[bool]{false, ciliumSource + "header modifiers are handed on to Envoy; cilium#39588"},
		ServerNames:     Fact[bool]{false, ciliumSource + "route 21: TLSRoutes on Services are not read"},
		Sharing:         Fact[Sharing]{SharingUnknown, ciliumSource + "route 17"},
		ExpressionsLast: Fact[bool]{false, "not observed with Cilium: taken to come before every prefix"},
		PortSplit:       Fact[bool]{false, "Cilium merges them since pull request 39922 of 2025-06"},
		ConflictReason:  Fact[string]{"Conflicted", ciliumSource + "route 17: Cilium has no reason of its own"},
		Groups:          Fact[[]string]{[]string{"cilium.io"}, "Cilium's CustomResourceDefinitions"},
		Domains:         Fact[[]string]{[]string{"cilium.io", "io.cilium"}, "Cilium's documentation: service.cilium.io, and io.cilium before"},
		Controller:      Fact[string]{"io.cilium/app=operator", "Cilium's Helm chart, templates/cilium-operator/deployment.yaml"},
	}
}

func istio() *Profile {
	return &Profile{
		Name:            Istio,
		Title:           "Istio",
		Evidence:        "istiod was run, from its source of 2026-08-22, the same with and without ambient; control plane only",
		RouteKinds:      Fact[[]RouteKind]{[]RouteKind{HTTPRoute, GRPCRoute, TLSRoute, TCPRoute}, istioRun + "routes 01, 17, 21, 31, 41"},
		ConsumerRoutes:  Fact[bool]{true, istioRun + "route 16"},
		ReferenceGrants: Fact[bool]{false, istioRun + "route 24"},
		ParentKinds:     Fact[[]string]{[]string{"ServiceEntry.networking.istio.io"}, istioRun + "route 44"},
		ServiceImports:  Fact[bool]{false, istioRun + "route 12"},
		SectionNames:    Fact[bool]{false, istioRun + "route 06"},
		HeadlessParents: Fact[bool]{true, istioRun + "route 03"},
		CoreGroup:       Fact[bool]{false, istioRun + "route 10"},
		AnyCase:         Fact[bool]{false, istioRun + "route 11"},
		Expressions:     Fact[Dialect]{RE2, "Istio's proxies are Envoy; istio#49993"},
		HostModifiers:   Fact[bool]{true, "predicted from Istio's source, pilot/pkg/networking/core/route: Host in set becomes a rewrite of the host, in add and remove it is left out"},
		ServerNames:     Fact[bool]{true, "predicted from Istio's source, buildTLSMatch in pilot/pkg/config/kube/gateway: the hostnames become sniHosts"},
		Sharing:         Fact[Sharing]{SharingMerged, istioRun + "route 17: one virtual service, the rule of the HTTPRoute first"},
		ExpressionsLast: Fact[bool]{true, "observed with Istio's own code (docs/truth.md): exact paths, prefixes, expressions, each by length"},
		PortSplit:       Fact[bool]{true, "observed with Istio's own code (docs/truth.md): a virtual service for those with the port, and one for those without"},
		ConflictReason:  Fact[string]{"Conflicted", istioRun + "route 17: Istio has no reason of its own"},
		Groups:          Fact[[]string]{[]string{"networking.istio.io", "security.istio.io"}, "Istio's CustomResourceDefinitions"},
		Domains:         Fact[[]string]{[]string{"istio.io"}, "Istio's documentation, Resource annotations and Resource labels: istio.io/rev"},
		Controller:      Fact[string]{"app=istiod", "Istio's Helm chart, istio-discovery/templates/deployment.yaml"},
	}
}

func kuma() *Profile {
	return &Profile{
		Name:            Kuma,
		Title:           "Kuma",
		Evidence:        "Kuma's own HTTPRoute reconciler was run, from its source of 2026-08-21; control plane only",
		RouteKinds:      Fact[[]RouteKind]{[]RouteKind{HTTPRoute}, kumaRun + "routes 01, 17, 21, 41"},
		ConsumerRoutes:  Fact[bool]{true, kumaRun + "route 16: the Service as a backend needs a ReferenceGrant"},
		ReferenceGrants: Fact[bool]{true, kumaRun + "routes 16, 24"},
		ParentKinds:     Fact[[]string]{[]string{"MeshService.kuma.io"}, kumaRun + "route 45"},
		ServiceImports:  Fact[bool]{false, kumaRun + "route 12"},
		SectionNames:    Fact[bool]{true, kumaRun + "routes 06, 07, 29"},
		HeadlessParents: Fact[bool]{false, kumaRun + "route 03; kuma#18073"},
		CoreGroup:       Fact[bool]{false, kumaRun + "route 10"},
		AnyCase:         Fact[bool]{false, kumaRun + "route 11"},
		Expressions:     Fact[Dialect]{RE2, "Kuma's proxies are Envoy"},
		HostModifiers:   Fact[bool]{false, "Envoy refuses such a modifier; what Kuma makes of it was not looked at"},
		ServerNames:     Fact[bool]{false, kumaRun + "route 21: TLSRoutes are not read"},
		Sharing:         Fact[Sharing]{SharingBySpecification, kumaRun + "route 17: GRPCRoutes are not read, so nothing is shared"},
		ExpressionsLast: Fact[bool]{false, "not observed with Kuma: taken to come before every prefix"},
		PortSplit:       Fact[bool]{false, "not observed with Kuma: taken to merge them, as the specification has it"},
		ConflictReason:  Fact[string]{"Conflicted", kumaRun + "route 17: Kuma has no reason of its own"},
		Groups:          Fact[[]string]{[]string{"kuma.io"}, "Kuma's CustomResourceDefinitions"},
		Domains:         Fact[[]string]{[]string{"kuma.io"}, "Kuma's documentation, Annotations and labels: kuma.io/mesh"},
		Controller:      Fact[string]{"app=kuma-control-plane", "Kuma's Helm chart, templates/cp-deployment.yaml"},
	}
}

func linkerd() *Profile {
	return &Profile{
		Name:            Linkerd,
		Title:           "Linkerd",
		Evidence:        "Linkerd was not run: predicted from a reading of its source at b24cd405",
		RouteKinds:      Fact[[]RouteKind]{[]RouteKind{HTTPRoute, GRPCRoute, TLSRoute, TCPRoute}, linkerdSource + "routes 01, 17, 21, 31, 41"},
		ConsumerRoutes:  Fact[bool]{true, linkerdSource + "route 16"},
		ReferenceGrants: Fact[bool]{false, linkerdSource + "route 24"},
		ParentKinds:     Fact[[]string]{[]string{"EgressNetwork.policy.linkerd.io", "Server.policy.linkerd.io", "UnmeshedNetwork.policy.linkerd.io"}, linkerdSource + "the policy controller's indexes; a Server is for inbound policy, with redirects too; UnmeshedNetwork was the name of EgressNetwork"},
		ServiceImports:  Fact[bool]{false, linkerdSource + "route 12"},
		SectionNames:    Fact[bool]{false, linkerdSource + "route 06"},
		HeadlessParents: Fact[bool]{false, linkerdSource + "route 03; linkerd2#12918"},
		CoreGroup:       Fact[bool]{true, linkerdSource + "route 10; a backendRef is compared by the same function, outbound/index.rs at 009bec4f"},
		AnyCase:         Fact[bool]{true, linkerdSource + "route 11"},
		Expressions:     Fact[Dialect]{RustRegex, linkerdSource + "the policy controller parses expressions with that crate"},
		HostModifiers:   Fact[bool]{false, linkerdSource + "the filter changes headers, and not the authority of HTTP/2"},
		ServerNames:     Fact[bool]{true, "predicted from Linkerd's source, policy-controller/k8s/index/src/outbound/index/tls.rs: the hostnames become matches of the server name"},
		Sharing:         Fact[Sharing]{SharingAcrossScopes, linkerdSource + "routes 17, 40"},
		ExpressionsLast: Fact[bool]{false, "not observed with Linkerd: taken to come before every prefix"},
		PortSplit:       Fact[bool]{false, linkerdSource + "the routes of a Service are merged by port"},
		ConflictReason:  Fact[string]{"RouteReasonConflicted", linkerdSource + "routes 17, 27, 40"},
		Groups:          Fact[[]string]{[]string{"linkerd.io", "policy.linkerd.io"}, "Linkerd's CustomResourceDefinitions"},
		Domains:         Fact[[]string]{[]string{"linkerd.io"}, "Linkerd's source at b24cd405, outbound/index/http.rs: timeout.linkerd.io, retry.linkerd.io"},
		Controller:      Fact[string]{"linkerd.io/control-plane-component=destination", "Linkerd's Helm chart, templates/destination.yaml"},
	}
}
