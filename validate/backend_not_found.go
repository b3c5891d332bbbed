package validate

import (
	"errors"

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
		Backend:   checkBackendNotFound,
	}
}

func checkBackendNotFound(p *Pass, backend *BackendService) {
	service, err := p.Service(backend.Key)
	if service != nil {
		return
	}
	f := notFound(backend.Key, err, Finding{
		Field:  backend.Path() + ".name",
		Value:  backend.Ref.Name,
		Remedy: "create it, or correct the reference",
	})
	switch {
	case errors.Is(err, mesh.ErrNotFound):
		p.Report(f)
	case errors.Is(err, mesh.ErrUnknown):
		p.Unknown(f)
	}
}
