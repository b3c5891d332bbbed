package rules

import (
	"errors"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

func backendExternalName() *validate.Rule {
	return &validate.Rule{
		ID:    validate.RuleBackendExternalName,
		Title: "A backendRef refers to a Service of type ExternalName",
		Rationale: "A backend receives traffic at its endpoints. An ExternalName Service has none: it is an alias for a DNS name, chosen by anyone " +
			"who can write the Service. A proxy that follows the alias can reach hosts that the author of the route may not access.",
		Remedy: "Send traffic to a Service with endpoints. This also applies to mirrors and to backends with weight 0, because a weight can " +
			"change without another review.",
		Citation: "GEP-1294, Allowed service types: ExternalName SHOULD NOT be allowed as parentRefs or backendRefs due to security concerns",
		Default:  validate.Deny,
		Backend:  checkBackendExternalName,
	}
}

func checkBackendExternalName(p *validate.Pass, backend *validate.BackendService) {
	service, err := p.Service(backend.Key)
	unknown := errors.Is(err, mesh.ErrUnknown)
	if !unknown && (err != nil || service.Type != mesh.ExternalName) {
		return
	}
	f := validate.ExternalNameBackend(backend.Key)
	f.Field = backend.Path() + ".name"
	if unknown {
		p.Unknown(f)
		return
	}
	p.Report(f)
}
