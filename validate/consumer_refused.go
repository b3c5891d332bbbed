package validate

import (
	"fmt"

	"github.com/gammaguard/gammaguard/mesh"
)

func consumerRefused() *Rule {
	return &Rule{
		ID:    "consumer-refused",
		Title: "The Service, or its namespace, refuses consumer routes",
		Rationale: "A consumer route changes how a whole namespace reaches somebody else's Service. As with a Gateway's allowed routes, " +
			"the parent's side says whom it trusts: a mesh admin by a label on the Service's namespace, the Service's owner by the " +
			"same label on the Service, which overrides the namespace either way.",
		Remedy: "Ask the Service's owner to label it gammaguard.dev/consumer-routes=allow, or move the routing into a producer route in " +
			"the Service's own namespace.",
		Citation: "GEP-724: the parent's side says which namespaces it trusts; GEP-1294, Namespace boundaries",
		Default:  Deny,
		Fault:    ConsumerRefused,
		Describe: describeConsumerRefused,
	}
}

func describeConsumerRefused(_ *Policy, parent *Parent) Finding {
	f := Finding{
		Field:   parent.Path(""),
		Type:    Forbidden,
		Problem: fmt.Sprintf("%s refuses consumer routes", parent.Key),
		Remedy: fmt.Sprintf("the Service's owner can: kubectl label %s -n %s %s %s=allow --overwrite", resourceOf(parent.Key),
			parent.Key.Namespace, parent.Key.Name, mesh.ConsumerRoutesLabel),
		Reference: Reference{Service: parent.Key, Namespace: parent.Key.Namespace},
	}
	switch parent.Refusal {
	case mesh.RefusedByNamespace:
		f.Problem = fmt.Sprintf("namespace %s refuses consumer routes", parent.Key.Namespace)
	case mesh.NotRefused: // that is not known
		f.Problem = fmt.Sprintf("whether %s accepts consumer routes", parent.Key)
	}
	return f
}

// resourceOf returns the resource name that kubectl takes for the kind.
func resourceOf(key mesh.ServiceKey) string {
	if key.Kind == mesh.ServiceImportKind {
		return "serviceimport"
	}
	return "service"
}
