package rules

import (
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

func backendNoEndpoints() *validate.Rule {
	return &validate.Rule{
		ID:    "backend-no-endpoints",
		Title: "No EndpointSlice of the backend Service has an endpoint",
		Rationale: "Requests to a Service without endpoints fail. A Service has no endpoints if its selector matches no Pod, or if it has no " +
			"selector and nobody creates its EndpointSlices. Such a Service can be a parent, but not a backend.",
		Remedy:   "Correct the selector of the Service, start its Pods, or use another backend. If the Pods are created later, no action is needed.",
		Citation: "GEP-1294, Allowed service types: Services supported as backendRefs MUST have associated endpoints",
		Default:  validate.Warn,
		Backend:  checkBackendNoEndpoints,
	}
}

func checkBackendNoEndpoints(p *validate.Pass, backend *validate.BackendService) {
	service, err := p.Service(backend.Key)
	if err != nil || service.Type == mesh.ExternalName || backend.Key.Kind != mesh.ServiceKind {
		return
	}
	if has, known := p.HasEndpoints(backend.Key); has || !known {
		return
	}
	p.Report(validate.Finding{
		Field:     backend.Path() + ".name",
		Value:     backend.Ref.Name,
		Problem:   backend.Key.String() + " has no endpoints",
		Remedy:    "check its selector and its Pods",
		Reference: validate.Reference{Service: backend.Key},
	})
}
