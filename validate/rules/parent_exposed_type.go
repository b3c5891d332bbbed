package rules

import (
	"fmt"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

func parentExposedType() *validate.Rule {
	return &validate.Rule{
		ID:    "parent-exposed-type",
		Title: "The parent is a Service of type NodePort or LoadBalancer",
		Rationale: "Such a Service has a cluster IP and works as a parent. However, traffic through its node ports or its load balancer can bypass " +
			"the mesh, and therefore the route.",
		Remedy:   "Use a ClusterIP Service and expose it through a Gateway. If only clients in the mesh matter, no action is needed.",
		Citation: "GEP-1294, Allowed service types: NodePort and LoadBalancer MAY be allowed; north-south Gateways should be preferred",
		Default:  validate.Audit,
		Parent:   checkParentExposedType,
	}
}

func checkParentExposedType(p *validate.Pass, parent *validate.Parent) {
	if parent.Service == nil || parent.Service.Type != mesh.NodePort && parent.Service.Type != mesh.LoadBalancer {
		return
	}
	p.Report(validate.Finding{
		Field:     parent.Path("name"),
		Value:     parent.Ref.Name,
		Problem:   fmt.Sprintf("%s is of type %s, so traffic may bypass routes", parent.Key, parent.Service.Type),
		Remedy:    "prefer a Gateway",
		Reference: validate.Reference{Service: parent.Key},
	})
}
