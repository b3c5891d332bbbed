package validate

import (
	"fmt"

	"github.com/gammaguard/gammaguard/mesh"
)

func backendExternalName() *Rule {
	return &Rule{
		ID:    "backend-external-name",
		Title: "A backendRef is a Service of type ExternalName",
		Rationale: "A backend's endpoints are where traffic ends up. An ExternalName Service has none: it is a name, chosen by whoever may write the " +
			"Service, and a proxy that followed it would reach hosts that the route's author may not.",
		Remedy: "Send traffic to a Service with endpoints. This holds for mirrors and for backends with weight 0 too: a weight is changed " +
			"more easily than a review is repeated.",
		Citation: "GEP-1294, Allowed service types: ExternalName SHOULD NOT be allowed as parentRefs or backendRefs due to security concerns",
		Default:  Deny,
		Backend:  checkBackendExternalName,
	}
}

func checkBackendExternalName(p *Pass, backend *BackendService) {
	service, err := p.Service(backend.Key)
	if err != nil || service.Type != mesh.ExternalName {
		return
	}
	p.Report(Finding{
		Field:     backend.Path() + ".name",
		Value:     backend.Ref.Name,
		Problem:   fmt.Sprintf("%s is of type ExternalName", backend.Key),
		Remedy:    "use a Service with endpoints",
		Reference: Reference{Service: backend.Key},
	})
}
