package validate

import "github.com/gammaguard/gammaguard/mesh"

func backendNoEndpoints() *Rule {
	return &Rule{
		ID:    "backend-no-endpoints",
		Title: "No EndpointSlice of the backend Service has an endpoint",
		Rationale: "Requests to a Service without endpoints fail. A Service has no endpoints if its selector matches no Pod, or if it has no " +
			"selector and nobody creates its EndpointSlices. Such a Service can be a parent, but not a backend.",
		Remedy:   "Correct the selector of the Service, start its Pods, or use another backend. If the Pods are created later, no action is needed.",
		Citation: "GEP-1294, Allowed service types: Services supported as backendRefs MUST have associated endpoints",
		Default:  Warn,
		Backend:  checkBackendNoEndpoints,
	}
}

func checkBackendNoEndpoints(p *Pass, backend *BackendService) {
	service, err := p.Service(backend.Key)
	if err != nil || service.Type == mesh.ExternalName || backend.Key.Kind != mesh.ServiceKind {
		return
	}
	if has, known := p.HasEndpoints(backend.Key); has || !known {
		return
	}
	p.Report(Finding{
		Field:     backend.Path() + ".name",
		Value:     backend.Ref.Name,
		Problem:   backend.Key.String() + " has no endpoints",
		Remedy:    "check its selector and its Pods",
		Reference: Reference{Service: backend.Key},
	})
}
