package rules

import (
	"errors"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

func backendNotFound() *validate.Rule {
	return &validate.Rule{
		ID:        "backend-not-found",
		Title:     "A backend Service or ServiceImport does not exist",
		Rationale: "Requests that a rule sends to a backend that does not exist fail with a server error.",
		Remedy:    "Create the backend, or correct the backendRef's name and namespace.",
		Citation:  "GEP-1294, Allowed service types: Services supported as backendRefs MUST have associated endpoints",
		Default:   validate.Warn,
		Backend:   checkBackendNotFound,
	}
}

func checkBackendNotFound(p *validate.Pass, backend *validate.BackendService) {
	service, err := p.Service(backend.Key)
	if service != nil {
		return
	}
	f := notFound(backend.Key, err, validate.Finding{
		Field:  backend.Path() + ".name",
		Value:  backend.Ref.Name,
		Remedy: correction("create it", backend.Key, backend.Ref.Namespace, "backendRef"),
	})
	switch {
	case errors.Is(err, mesh.ErrNotFound):
		p.Report(f)
	case errors.Is(err, mesh.ErrUnknown):
		p.Unknown(f)
	}
}
