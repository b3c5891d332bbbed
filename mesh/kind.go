package mesh

import "slices"

// GatewayGroup is the API group of routes, and the group that the API server
// fills in where a parentRef leaves it out.
const GatewayGroup = "gateway.networking.k8s.io"

// MulticlusterGroup is the API group of ServiceImport (GEP-1748).
const MulticlusterGroup = "multicluster.x-k8s.io"

// RouteKind is the kind of an xRoute.
type RouteKind string

// The route kinds that a mesh may implement (GEP-1294, Route types).
const (
	GRPCRoute RouteKind = "GRPCRoute"
	HTTPRoute RouteKind = "HTTPRoute"
	TLSRoute  RouteKind = "TLSRoute"
	TCPRoute  RouteKind = "TCPRoute"
	UDPRoute  RouteKind = "UDPRoute"
)

// RouteKinds returns every route kind of the Gateway API, the most specific first. Where routes of
// different kinds meet on one Service port the first of them wins; UDPRoute
// stands last because it competes with nobody (GEP-1294, Route types).
func RouteKinds() []RouteKind {
	return []RouteKind{GRPCRoute, HTTPRoute, TLSRoute, TCPRoute, UDPRoute}
}

// IsRouteKind reports whether kind names an xRoute of the Gateway API.
func IsRouteKind(kind string) bool { return slices.Contains(RouteKinds(), RouteKind(kind)) }

// Resource returns the kind's resource name, as in a URL of the API server.
func (k RouteKind) Resource() string {
	switch k {
	case GRPCRoute:
		return "grpcroutes"
	case HTTPRoute, LinkerdHTTPRoute:
		return "httproutes"
	case TLSRoute:
		return "tlsroutes"
	case TCPRoute:
		return "tcproutes"
	case UDPRoute:
		return "udproutes"
	}
	return ""
}

// Transport returns the protocol that a Service port must speak for routes of
// this kind to attach to it.
func (k RouteKind) Transport() Protocol {
	if k == UDPRoute {
		return UDP
	}
	return TCP
}

// Beats reports whether routes of kind k take a port from routes of kind other
// (GEP-1294, Route types). Kinds of different transports never meet.
func (k RouteKind) Beats(other RouteKind) bool {
	return k != other && k.Transport() == other.Transport() && k.rank() < other.rank()
}

// MatchesRequests reports whether the kind matches requests, not connections.
func (k RouteKind) MatchesRequests() bool { return k == HTTPRoute || k == GRPCRoute }

func (k RouteKind) rank() int { return slices.Index(RouteKinds(), k) }
