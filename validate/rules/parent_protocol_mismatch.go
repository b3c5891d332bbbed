package rules

import (
	"fmt"

	"github.com/gammaguard/gammaguard/validate"
)

func parentProtocolMismatch() *validate.Rule {
	return &validate.Rule{
		ID:    "parent-protocol-mismatch",
		Title: "No selected port of the Service uses the route's transport protocol",
		Rationale: "A UDPRoute attaches to UDP ports only, and every other route kind to TCP ports only. If no selected port uses this protocol, " +
			"there is no traffic that the route can match.",
		Remedy: "Select a port with this protocol, use the route kind for the protocol of the port, or correct the protocol of the Service port " +
			"(default: TCP).",
		Citation: "GEP-1294, Route types: UDP is its own protocol, orthogonal to the other routes",
		Default:  validate.Deny,
		Fault:    validate.ParentProtocolMismatch,
		Describe: describeParentProtocolMismatch,
	}
}

func describeParentProtocolMismatch(_ *validate.Policy, parent *validate.Parent) validate.Finding {
	transport := parent.Route.Kind.Transport()
	f := validate.Finding{
		Field:     parent.Path("name"),
		Value:     parent.Ref.Name,
		Problem:   fmt.Sprintf("%s has no %s port", parent.Key, transport),
		Remedy:    fmt.Sprintf("use a Service with a %s port or another route kind", transport),
		Reference: parent.Reference(),
	}
	switch {
	case parent.Ref.Port != 0:
		f.Field, f.Value = parent.Path("port"), parent.Ref.Port
	case parent.Ref.SectionName != "":
		f.Field, f.Value = parent.Path("sectionName"), parent.Ref.SectionName
	default:
		return f
	}
	f.Problem = fmt.Sprintf("port %v of %s is not a %s port", f.Value, parent.Key, transport)
	f.Remedy = fmt.Sprintf("use a %s port or another route kind", transport)
	return f
}
