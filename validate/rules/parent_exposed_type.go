package rules

import (
	"fmt"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

func parentExposedType() *validate.Rule {
	return &validate.Rule{
		ID:    "parent-exposed-type",
		Title: "The parent, or a backend, is a Service of type NodePort or LoadBalancer",
		Rationale: "Such a Service has a cluster IP and works as a parent and as a backend. However, traffic through its node ports or its load " +
			"balancer can bypass the mesh, and therefore the route.",
		Remedy:   "Use a ClusterIP Service and expose it through a Gateway. If only clients in the mesh matter, no action is needed.",
		Citation: "GEP-1294, Allowed service types: NodePort and LoadBalancer MAY be allowed; north-south Gateways should be preferred",
		Default:  validate.Audit,
		Parent:   checkParentExposedType,
		Backend:  checkBackendExposedType,
	}
}

func checkParentExposedType(p *validate.Pass, parent *validate.Parent) {
	if isExposed(parent.Service) {
		p.Report(exposed(parent.Path("name"), parent.Key, parent.Service, "so traffic may bypass routes"))
	}
}

// checkBackendExposedType leaves out a backend that is a parent too, which is reported as one.
func checkBackendExposedType(p *validate.Pass, backend *validate.BackendService) {
	if p.HasParent(backend.Key) {
		return
	}
	if service, err := p.Service(backend.Key); err == nil && isExposed(service) {
		p.Report(exposed(backend.Path(), backend.Key, service, "which can bypass routes"))
	}
}

func isExposed(service *mesh.Service) bool {
	return service != nil && (service.Type == mesh.NodePort || service.Type == mesh.LoadBalancer)
}

func exposed(field string, key mesh.ServiceKey, service *mesh.Service, consequence string) validate.Finding {
	return validate.Finding{
		Field:     field,
		Value:     key.Name,
		Problem:   fmt.Sprintf("%s is of type %s, %s", key, service.Type, consequence),
		Remedy:    "prefer a Gateway",
		Reference: validate.Reference{Service: key},
	}
}
