package rules

import (
	"fmt"
	"strconv"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

func parentAppProtocol() *validate.Rule {
	return &validate.Rule{
		ID:    validate.RuleParentAppProtocol,
		Title: "A selected port has an appProtocol that the route kind does not support",
		Rationale: "A mesh uses the appProtocol of a Service port to determine the protocol of the traffic. If it is TLS or plain TCP, the mesh sees " +
			"no HTTP requests to match. If it is HTTP/1.1, the mesh sees no gRPC requests. A parentRef without port and sectionName selects all ports of " +
			"the Service, also those that were not meant, such as the port of a database. Under the profile of a mesh that selects ports by their " +
			"appProtocol where the parentRef has no port, the rule reports the ports that it leaves out. Under the profile of a mesh " +
			"that takes the protocol from the name of a port without appProtocol, the name counts.",
		Remedy: "Set port or sectionName in the parentRef, to select only ports that the route kind supports. Or use a route kind that supports the " +
			"protocol, or correct the appProtocol of the Service port.",
		Citation: "GEP-1294, Ports: without port, the route is associated with all ports; Route types; Kubernetes, Service: appProtocol; GEP-1911, Backend protocol selection",
		Default:  validate.Warn,
		Kinds:    []mesh.RouteKind{mesh.HTTPRoute, mesh.GRPCRoute, mesh.TLSRoute},
		Parent:   checkParentAppProtocol,
	}
}

func checkParentAppProtocol(p *validate.Pass, parent *validate.Parent) {
	if f := unselectedPorts(p.Policy.Mesh, parent, p.Unselected(parent)); f != nil {
		p.Report(*f)
	}
	var found, fit []string
	for _, port := range parent.Ports {
		if protocol := p.Policy.Mesh.Unfit(p.Route.Kind, &port); protocol != "" {
			found = append(found, fmt.Sprintf("%s (port %d)", protocol, port.Number))
		} else {
			fit = append(fit, strconv.Itoa(int(port.Number)))
		}
	}
	if len(found) == 0 {
		return
	}
	remedy := "use another route kind or appProtocol"
	if len(fit) > 0 {
		remedy = "set port in the parentRef: " + shortList(fit)
	}
	p.Report(validate.Finding{
		Field:     parent.Path("name"),
		Value:     parent.Ref.Name,
		Problem:   fmt.Sprintf("%s does not support appProtocol %s of %s", p.Route.Kind, shortList(found), parent.Key),
		Remedy:    remedy,
		Reference: parent.Reference(),
	})
}
