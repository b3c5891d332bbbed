package validate

import (
	"fmt"

	"github.com/gammaguard/gammaguard/mesh"
)

func consumerRefused() *Rule {
	return &Rule{
		ID:    "consumer-refused",
		Title: "The Service or its namespace refuses consumer routes",
		Rationale: "A consumer route changes how an entire namespace reaches a Service that others own. As with the allowed routes of a Gateway, the " +
			"parent decides which routes it accepts: a mesh admin sets a label on the namespace of the Service, and the owner of the Service " +
			"can override it with the same label on the Service.",
		Remedy: "Ask the owner of the Service to label it gammaguard.dev/consumer-routes=allow, or use a producer route in the namespace of the " +
			"Service.",
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
		Remedy: fmt.Sprintf("ask the Service's owner to run: kubectl label %s -n %s %s %s=allow --overwrite", resourceOf(parent.Key),
			parent.Key.Namespace, parent.Key.Name, mesh.ConsumerRoutesLabel),
		Reference: Reference{Service: parent.Key, Namespace: parent.Key.Namespace},
	}
	switch parent.Refusal {
	case mesh.RefusedByNamespace:
		f.Problem = fmt.Sprintf("namespace %s refuses consumer routes", parent.Key.Namespace)
	case mesh.NotRefused: // unknown
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
