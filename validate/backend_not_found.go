package validate

import (
	"errors"
	"fmt"

	"github.com/gammaguard/gammaguard/mesh"
)

func backendNotFound() *Rule {
	return &Rule{
		ID:        "backend-not-found",
		Title:     "A backend Service or ServiceImport does not exist",
		Rationale: "Requests that a rule sends to a backend that does not exist fail with a server error.",
		Remedy:    "Create the backend, or correct the backendRef's name and namespace.",
		Citation:  "GEP-1294, Allowed service types: Services supported as backendRefs MUST have associated endpoints",
		Default:   Warn,
		Stage:     RouteStage,
		Reads:     ReadsServices,
		Check:     checkBackendNotFound,
	}
}

func checkBackendNotFound(p *Pass) {
	for _, backend := range p.BackendServices() {
		if backend.Service != nil {
			continue
		}
		f := Finding{
			Field:     backend.Path() + ".name",
			Value:     backend.Ref.Name,
			Type:      NotFound,
			Problem:   fmt.Sprintf("%s does not exist", backend.Key),
			Remedy:    "create it, or correct name and namespace",
			Reference: Reference{Service: backend.Key},
		}
		err := p.Missing(backend.Key, f)
		if errors.Is(err, mesh.ErrNotServed) {
			f.Problem = fmt.Sprintf("%s cannot exist: the CRD of ServiceImport (%s) is not installed", backend.Key, mesh.MulticlusterGroup)
			f.Remedy = "install the Multi-Cluster Services API, or refer to a Service"
		}
		if err != nil {
			p.Report(f)
		}
	}
}
