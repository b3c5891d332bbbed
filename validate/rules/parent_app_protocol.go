package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

func parentAppProtocol() *validate.Rule {
	return &validate.Rule{
		ID:    "parent-app-protocol",
		Title: "Every selected port has an appProtocol that the route kind does not support",
		Rationale: "A mesh uses the appProtocol of a Service port to determine the protocol of the traffic. If it is TLS or plain TCP, the mesh sees " +
			"no HTTP requests to match. If it is HTTP/1.1, the mesh sees no gRPC requests.",
		Remedy:   "Use a route kind that supports the protocol, or correct the appProtocol of the Service port.",
		Citation: "GEP-1294, Route types; Kubernetes, Service: appProtocol; GEP-1911, Backend protocol selection",
		Default:  validate.Warn,
		Kinds:    []mesh.RouteKind{mesh.HTTPRoute, mesh.GRPCRoute, mesh.TLSRoute},
		Parent:   checkParentAppProtocol,
	}
}

// unsupported returns the application protocols that the route kind does not
// support. Any other name is accepted.
func unsupported(kind mesh.RouteKind) []string {
	switch kind {
	case mesh.HTTPRoute:
		return []string{"tcp", "udp", "tls", "https", "kubernetes.io/wss", "mongo", "mysql", "postgresql", "redis"}
	case mesh.GRPCRoute:
		return append(unsupported(mesh.HTTPRoute), "http", "kubernetes.io/ws")
	case mesh.TLSRoute:
		return []string{"http", "http2", "h2c", "grpc", "grpc-web", "kubernetes.io/h2c", "kubernetes.io/ws", "udp"}
	}
	return nil
}

func checkParentAppProtocol(p *validate.Pass, parent *validate.Parent) {
	protocols := unsupported(p.Route.Kind)
	if len(parent.Ports) == 0 || slices.ContainsFunc(parent.Ports, func(port mesh.Port) bool {
		return !slices.Contains(protocols, strings.ToLower(port.AppProtocol))
	}) {
		return
	}
	found := make([]string, 0, len(parent.Ports))
	for _, port := range parent.Ports {
		found = append(found, fmt.Sprintf("%s (port %d)", port.AppProtocol, port.Number))
	}
	p.Report(validate.Finding{
		Field:     parent.Path("name"),
		Value:     parent.Ref.Name,
		Problem:   fmt.Sprintf("%s does not support appProtocol %s of %s", p.Route.Kind, shortList(found), parent.Key),
		Remedy:    "use another route kind or appProtocol",
		Reference: parent.Reference(),
	})
}
