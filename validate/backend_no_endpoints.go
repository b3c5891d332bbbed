package validate

import "github.com/gammaguard/gammaguard/mesh"

func backendNoEndpoints() *Rule {
	return &Rule{
		ID:    "backend-no-endpoints",
		Title: "The backend Service has no EndpointSlice with an endpoint",
		Rationale: "A route to a Service without selector, or whose selector fits no Pod, sends its requests nowhere. A Service can be a fine parent " +
			"without endpoints, but not a backend.",
		Remedy:   "Correct the Service's selector, start its Pods, or use another backend. Where the Pods come later, nothing needs to be done.",
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
		Remedy:    "check its selector, and that its Pods exist",
		Reference: Reference{Service: backend.Key},
	})
}
