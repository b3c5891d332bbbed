package rules

import (
	"fmt"
	"slices"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

func backendPortNotFound() *validate.Rule {
	return &validate.Rule{
		ID:        "backend-port-not-found",
		Title:     "The backend Service does not have the port",
		Rationale: "The port of a backendRef is a port of the Service, not of a container. Requests to a port that the Service does not have fail.",
		Remedy:    "Use a port number of the Service, with the transport protocol of the route kind.",
		Citation:  "Gateway API, BackendObjectReference: for a Kubernetes Service, port is the Service port number, not the target port",
		Default:   validate.Warn,
		Backend:   checkBackendPortNotFound,
	}
}

func checkBackendPortNotFound(p *validate.Pass, backend *validate.BackendService) {
	transport := p.Route.Kind.Transport()
	service, err := p.Service(backend.Key)
	// The schema rejects a missing port where the group is empty, and a Service of type
	// ExternalName needs no ports.
	if err != nil || backend.Ref.Port == 0 && backend.Ref.Group != "core" || service.Type == mesh.ExternalName {
		return
	}
	if slices.ContainsFunc(service.Ports, func(port mesh.Port) bool {
		return port.Number == backend.Ref.Port && port.Protocol == transport
	}) {
		return
	}
	problem := fmt.Sprintf("%s has no %s port %d", backend.Key, transport, backend.Ref.Port)
	if backend.Ref.Port == 0 {
		problem = "a backendRef to a Service needs a port"
	}
	p.Report(validate.Finding{
		Field:     backend.Path() + ".port",
		Value:     backend.Ref.Port,
		Problem:   problem,
		Remedy:    useOneOf(service.Ports, transport),
		Reference: validate.Reference{Service: backend.Key, Detail: fmt.Sprint(backend.Ref.Port)},
	})
}
