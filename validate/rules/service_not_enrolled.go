package rules

import (
	"errors"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

func serviceNotEnrolled() *validate.Rule {
	return &validate.Rule{
		ID:    validate.RuleServiceNotEnrolled,
		Title: "By its labels, the Service or the consumer's namespace is not in the mesh",
		Rationale: "Proxies apply routes. In Istio's ambient mode, the waypoint of a Service does: without one, no route on the Service has an effect. A " +
			"consumer route is applied by the sidecars of the clients: if their namespace has none, the route has no effect. Status reports the " +
			"route as accepted all the same. The rule reads the labels and annotations that enroll Services and namespaces, and reports nothing " +
			"without mesh in the configuration.",
		Remedy: "Set the label istio.io/use-waypoint on the Service or on its namespace, or have Pods in the namespace of a consumer route injected: " +
			"label istio-injection=enabled, annotation linkerd.io/inject=enabled, or label kuma.io/sidecar-injection=enabled. If the Pods are " +
			"injected one by one, no action is needed.",
		Citation: "GEP-1294, which leaves it to the mesh whose Pods it has: Istio, Configure waypoint proxies; Linkerd, Automatic Proxy Injection",
		Default:  validate.Warn,
		OfMesh:   true,
		Kinds:    []mesh.RouteKind{mesh.HTTPRoute, mesh.GRPCRoute, mesh.TLSRoute, mesh.TCPRoute},
		Parent:   checkServiceNotEnrolled,
	}
}

func checkServiceNotEnrolled(p *validate.Pass, parent *validate.Parent) {
	if len(parent.Ports) == 0 && !errors.Is(parent.Missing, mesh.ErrUnknown) || p.Policy.Ignores(p.Attached(), parent.Key) {
		return
	}
	if gap := p.Unenrolled(parent); gap != nil {
		p.Report(validate.Finding{
			Field: mesh.ParentPath(parent.Index, "name"), Value: parent.Ref.Name, Reference: validate.Reference{Service: parent.Key},
			Problem: gap.Problem, Remedy: gap.Remedy,
		})
	}
}
