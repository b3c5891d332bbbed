package rules

import (
	"fmt"

	"github.com/gammaguard/gammaguard/validate"
)

func parentExternalName() *validate.Rule {
	return &validate.Rule{
		ID:    "parent-external-name",
		Title: "The parent is a Service of type ExternalName",
		Rationale: "An ExternalName Service is an alias for an external DNS name. It has no cluster IP by which a mesh can identify its traffic. A " +
			"route on it could let its author redirect requests to hosts they do not own.",
		Remedy:   "Refer to a Service of type ClusterIP.",
		Citation: "GEP-1294, Allowed service types: ExternalName SHOULD NOT be allowed as parentRefs or backendRefs due to security concerns",
		Default:  validate.Deny,
		Fault:    validate.ParentExternalName,
		Describe: describeParentExternalName,
	}
}

func describeParentExternalName(_ *validate.Policy, parent *validate.Parent) validate.Finding {
	return validate.Finding{
		Field:     parent.Path("name"),
		Value:     parent.Ref.Name,
		Problem:   fmt.Sprintf("%s is of type ExternalName and has no cluster IP", parent.Key),
		Remedy:    "use a ClusterIP Service",
		Reference: validate.Reference{Service: parent.Key},
	}
}
