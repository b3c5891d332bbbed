package mesh

import "slices"

// fieldFacts are facts about several fields that have all but the field in common.
type fieldFacts []FieldFact

// does returns what a mesh does with each of the fields.
func does(what Treatment, evidence Evidence, source string, fields ...Field) fieldFacts {
	all := make(fieldFacts, len(fields))
	for i, field := range fields {
		all[i] = FieldFact{Field: field, Fact: fact(what, source), Evidence: evidence}
	}
	return all
}

func (f fieldFacts) each(change func(*FieldFact)) fieldFacts {
	for i := range f {
		change(&f[i])
	}
	return f
}

// of narrows the facts to routes of these kinds.
func (f fieldFacts) of(kinds ...RouteKind) fieldFacts {
	return f.each(func(f *FieldFact) { f.Kinds = kinds })
}

func (f fieldFacts) since(release string) fieldFacts {
	return f.each(func(f *FieldFact) { f.Since = release })
}

func (f fieldFacts) until(release string) fieldFacts {
	return f.each(func(f *FieldFact) { f.Until = release })
}

func (f fieldFacts) instead(what string) fieldFacts {
	return f.each(func(f *FieldFact) { f.Instead = what })
}

// filters returns the fields of filters of these types, on a rule or on a backendRef.
func filters(on func(string) Field, kinds ...string) []Field {
	fields := make([]Field, len(kinds))
	for i, kind := range kinds {
		fields[i] = on(kind)
	}
	return fields
}

// Where the facts about fields are from.
const (
	ciliumIngestion = "read in the source of Cilium 1.20.2, operator/pkg/model/ingestion"
	istioConversion = "read in Istio's source of 2026-08-27, pilot/pkg/config/kube/gateway/conversion.go"
	kumaConversion  = "read in Kuma's source of 2026-08-21"
	linkerdOutbound = "read in Linkerd's source of 2026-08-21, policy-controller/k8s/index/src/outbound/index"
	linkerdGRPC     = "read in Linkerd's source, policy-controller/grpc/src/outbound"
)

func ciliumFields() []FieldFact {
	return slices.Concat(
		does(Ignored, ReadInSource, "cilium#38415", HostnamesField).of(HTTPRoute, GRPCRoute),
		does(Honored, ReadInSource, ciliumIngestion+": as a path", GRPCMethodExpression),
		does(RequestFails, ReadInSource, ciliumIngestion, NoBackendRefs).of(HTTPRoute, GRPCRoute),
		does(Honored, ReadInSource, ciliumIngestion, RequestTimeout, Retry).since("1.20"),
		does(BoundsRequest, Observed, ciliumTranslation+"timeoutMutation", BackendRequestTimeout).since("1.20"),
		does(Ignored, ReadInSource, ciliumIngestion, SessionPersistence),
		does(Honored, ReadInSource, ciliumIngestion, filters(RuleFilter, RequestHeaderModifierFilter, ResponseHeaderModifierFilter,
			RequestMirrorFilter, RequestRedirectFilter, URLRewriteFilter, CORSFilter, ExternalAuthFilter)...).since("1.20"),
		does(Ignored, ReadInSource, ciliumIngestion, RuleFilter(ExtensionRefFilter)),
		does(Honored, ReadInSource, ciliumIngestion, filters(BackendFilter, RequestHeaderModifierFilter, ResponseHeaderModifierFilter)...).of(HTTPRoute).since("1.20"),
		does(Ignored, ReadInSource, ciliumIngestion, filters(BackendFilter, RequestHeaderModifierFilter, ResponseHeaderModifierFilter)...).of(GRPCRoute).
			instead("a filter on the rule"),
		does(Ignored, ReadInSource, ciliumIngestion, filters(BackendFilter, RequestMirrorFilter, RequestRedirectFilter, URLRewriteFilter, CORSFilter,
			ExternalAuthFilter, ExtensionRefFilter)...).instead("a filter on the rule"),
	)
}

func istioFields() []FieldFact {
	return slices.Concat(
		does(Ignored, ReadInSource, istioConversion, HostnamesField).of(HTTPRoute, GRPCRoute),
		does(Honored, ReadInSource, "predicted from Istio's source, buildTLSMatch in pilot/pkg/config/kube/gateway: the hostnames become sniHosts", HostnamesField).of(TLSRoute),
		does(Honored, ReadInSource, istioConversion+": as a path", GRPCMethodExpression),
		does(RequestFails, ReadInSource, istioConversion, NoBackendRefs).of(HTTPRoute, GRPCRoute),
		does(RequestFails, Observed, "the route configurations that Istio makes, 1,944 of 1,944 requests", NoMatch),
		does(Honored, ReadInSource, istioConversion, RequestTimeout, Retry),
		does(BoundsRequestWithoutRetry, Observed, istioTruth+", and convertHTTPRoute in pilot/pkg/config/kube/gateway/conversion.go", BackendRequestTimeout),
		does(Ignored, ReadInSource, istioConversion, SessionPersistence).instead("consistentHash in a DestinationRule"),
		does(Honored, ReadInSource, istioConversion, filters(RuleFilter, RequestHeaderModifierFilter, ResponseHeaderModifierFilter,
			RequestMirrorFilter, RequestRedirectFilter, URLRewriteFilter, CORSFilter)...),
		does(RouteDropped, ReadInSource, istioConversion+": Accepted=False", RuleFilter(ExternalAuthFilter)).instead("an AuthorizationPolicy with action CUSTOM"),
		does(RouteDropped, ReadInSource, istioConversion+": Accepted=False", RuleFilter(ExtensionRefFilter)).instead("a VirtualService or an EnvoyFilter"),
		does(Honored, ReadInSource, istioConversion, filters(BackendFilter, RequestHeaderModifierFilter, ResponseHeaderModifierFilter)...),
		does(RouteDropped, ReadInSource, istioConversion+": Accepted=False", filters(BackendFilter, RequestMirrorFilter, RequestRedirectFilter,
			URLRewriteFilter, CORSFilter, ExternalAuthFilter, ExtensionRefFilter)...).instead("a filter on the rule, or separate rules"),
	)
}

func kumaFields() []FieldFact {
	const fails = "kuma#18297: 500, and UnsupportedValue in status"
	unsupported := filters(RuleFilter, CORSFilter, ExternalAuthFilter, ExtensionRefFilter)
	return slices.Concat(
		does(Ignored, ReadInSource, kumaConversion, HostnamesField).of(HTTPRoute),
		does(ToParent, ReadInSource, "kuma#18260", NoMatch).of(HTTPRoute).until("2.15"),
		does(RequestFails, ReadInSource, "kuma#18260", NoMatch).since("2.15"),
		does(Ignored, ReadInSource, kumaConversion+"; kuma#7906", RequestTimeout, BackendRequestTimeout).instead("a MeshTimeout"),
		does(Ignored, ReadInSource, kumaConversion, Retry).instead("a MeshRetry"),
		does(Ignored, ReadInSource, kumaConversion, SessionPersistence).instead("a MeshLoadBalancingStrategy"),
		does(Honored, ReadInSource, kumaConversion, filters(RuleFilter, RequestHeaderModifierFilter, ResponseHeaderModifierFilter,
			RequestMirrorFilter, RequestRedirectFilter, URLRewriteFilter)...).of(HTTPRoute),
		does(Ignored, ReadInSource, kumaConversion, unsupported...).of(HTTPRoute).until("2.15"),
		does(RequestFails, ReadInSource, fails, unsupported...).of(HTTPRoute).since("2.15"),
		does(Ignored, ReadInSource, kumaConversion, filters(BackendFilter, RequestHeaderModifierFilter, ResponseHeaderModifierFilter, RequestMirrorFilter,
			RequestRedirectFilter, URLRewriteFilter, CORSFilter, ExternalAuthFilter, ExtensionRefFilter)...).of(HTTPRoute).instead("a filter on the rule"),
	)
}

func linkerdFields() []FieldFact {
	const (
		dropped = linkerdOutbound + ": a warning in the log; on an update the former version of the route stays in effect"
		fails   = linkerdOutbound + ": the backend answers 500"
	)
	return slices.Concat(
		does(Honored, ReadInSource, linkerdGRPC+"; linkerd.io, reference/httproute", HostnamesField).of(HTTPRoute, GRPCRoute),
		does(Honored, ReadInSource, "predicted from Linkerd's source, policy-controller/k8s/index/src/outbound/index/tls.rs: the hostnames become matches of the server name", HostnamesField).of(TLSRoute),
		does(RouteDropped, ReadInSource, dropped+"; before edge-25.2.3, an expression was compared as text", GRPCMethodExpression).instead("Exact, or no method"),
		does(ToParent, ReadInSource, linkerdGRPC+": the default backend is FirstAvailable", NoBackendRefs).of(HTTPRoute, GRPCRoute, TLSRoute),
		does(Honored, ReadInSource, "linkerd2 PR 14750", RequestTimeout).since("25.12"),
		does(Ignored, ReadInSource, "linkerd2#14713", RequestTimeout).until("25.12").instead("the annotation timeout.linkerd.io/request on the route"),
		does(Ignored, ReadInSource, linkerdOutbound, BackendRequestTimeout).instead("the annotation timeout.linkerd.io/response on the route"),
		does(Ignored, ReadInSource, linkerdOutbound, Retry).instead("the annotations retry.linkerd.io/http and retry.linkerd.io/limit on the route"),
		does(Ignored, ReadInSource, linkerdOutbound, SessionPersistence),
		does(Honored, ReadInSource, linkerdOutbound, filters(RuleFilter, RequestHeaderModifierFilter, ResponseHeaderModifierFilter, RequestRedirectFilter)...).of(HTTPRoute),
		does(Honored, ReadInSource, linkerdOutbound, RuleFilter(RequestHeaderModifierFilter)).of(GRPCRoute),
		does(Ignored, ReadInSource, linkerdGRPC+"/grpc.rs", RuleFilter(ResponseHeaderModifierFilter)).of(GRPCRoute).instead("an HTTPRoute"),
		does(RouteDropped, ReadInSource, dropped, filters(RuleFilter, RequestMirrorFilter, URLRewriteFilter, CORSFilter, ExternalAuthFilter, ExtensionRefFilter)...),
		does(Honored, ReadInSource, linkerdOutbound, filters(BackendFilter, RequestHeaderModifierFilter, ResponseHeaderModifierFilter, RequestRedirectFilter)...).of(HTTPRoute),
		does(Honored, ReadInSource, linkerdOutbound, BackendFilter(RequestHeaderModifierFilter)).of(GRPCRoute),
		does(Ignored, ReadInSource, linkerdGRPC+"/grpc.rs", BackendFilter(ResponseHeaderModifierFilter)).of(GRPCRoute).instead("an HTTPRoute"),
		does(RequestFails, ReadInSource, fails, filters(BackendFilter, RequestMirrorFilter, URLRewriteFilter, CORSFilter, ExternalAuthFilter, ExtensionRefFilter)...),
	)
}
