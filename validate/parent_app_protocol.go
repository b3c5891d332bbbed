package validate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/mesh"
)

func parentAppProtocol() *Rule {
	return &Rule{
		ID:    "parent-app-protocol",
		Title: "Every selected port declares an appProtocol that the route kind cannot serve",
		Rationale: "A Service port's appProtocol tells a mesh what to expect on the wire. Where it says TLS or plain TCP, a mesh sees no HTTP " +
			"requests to match; where it says HTTP/1.1, there is no gRPC.",
		Remedy:   "Use the kind of route that fits the protocol, or correct appProtocol on the Service's port.",
		Citation: "GEP-1294, Route types; Kubernetes, Service: appProtocol; GEP-1911, Backend protocol selection",
		Default:  Warn,
		Kinds:    []mesh.RouteKind{mesh.HTTPRoute, mesh.GRPCRoute, mesh.TLSRoute},
		Parent:   checkParentAppProtocol,
	}
}

// unservable lists, by route kind, the application protocols that such a route
// cannot serve. Names that are not listed are never complained about.
func unservable(kind mesh.RouteKind) []string {
	switch kind {
	case mesh.HTTPRoute:
		return []string{"tcp", "udp", "tls", "https", "kubernetes.io/wss", "mongo", "mysql", "postgresql", "redis"}
	case mesh.GRPCRoute:
		return append(unservable(mesh.HTTPRoute), "http", "kubernetes.io/ws")
	case mesh.TLSRoute:
		return []string{"http", "http2", "h2c", "grpc", "grpc-web", "kubernetes.io/h2c", "kubernetes.io/ws", "udp"}
	}
	return nil
}

func checkParentAppProtocol(p *Pass, parent *Parent) {
	cannot := unservable(p.Route.Kind)
	if len(parent.Ports) == 0 || slices.ContainsFunc(parent.Ports, func(port mesh.Port) bool {
		return !slices.Contains(cannot, strings.ToLower(port.AppProtocol))
	}) {
		return
	}
	said := make([]string, 0, len(parent.Ports))
	for _, port := range parent.Ports {
		said = append(said, fmt.Sprintf("%d: %s", port.Number, port.AppProtocol))
	}
	p.Report(Finding{
		Field:     parent.Path("name"),
		Value:     parent.Ref.Name,
		Problem:   fmt.Sprintf("%ss cannot serve the appProtocol of %s (%s)", p.Route.Kind, parent.Key, shortList(said)),
		Remedy:    "use another route kind, or correct it",
		Reference: parent.Reference(),
	})
}
