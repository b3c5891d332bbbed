package rules

import (
	"fmt"

	"github.com/gammaguard/gammaguard/validate"
)

func backendExternal() *validate.Rule {
	return &validate.Rule{
		ID:    "backend-external",
		Title: "A backendRef refers to a host outside of the cluster",
		Rationale: "An XBackend, an EgressNetwork, a Hostname of Istio, or a MeshExternalService of Kuma stands for hosts that no Service of the " +
			"cluster has. Like a Service of type ExternalName, such a backend sends requests of the mesh to a host that only its object names, " +
			"and the specification leaves egress to implementations.",
		Remedy: "Check that the requests may leave the cluster. If they may not, send them to a Service with endpoints. A mesh admin who wants to " +
			"review such routes can set this rule to warn or deny.",
		Citation: "GEP-1294, Non-goals (egress), and Allowed service types: ExternalName SHOULD NOT be allowed as backendRefs due to security concerns",
		Default:  validate.Audit,
		Route:    checkBackendExternal,
	}
}

func checkBackendExternal(p *validate.Pass) {
	if len(p.Parents()) == 0 {
		return
	}
	for backend := range p.Route.Backends() {
		if !backend.Ref.External() {
			continue
		}
		p.Report(validate.Finding{
			Field:     backend.Path(),
			Value:     backend.Ref.Name,
			Problem:   fmt.Sprintf("a backend of kind %s is outside of the cluster", backend.Ref.Kind),
			Remedy:    "check that these requests may leave the cluster, or use a Service",
			Reference: validate.Reference{Service: backend.Ref.Service(p.Route.Metadata.Namespace), Detail: backend.Ref.Group},
		})
	}
}
