package validate

import "fmt"

func parentProtocolMismatch() *Rule {
	return &Rule{
		ID:    "parent-protocol-mismatch",
		Title: "No selected port of the Service speaks the route's transport protocol",
		Rationale: "A UDPRoute can only attach to UDP ports, every other route only to TCP ports. Where none of the selected ports is of that " +
			"protocol, there is no traffic that the route could be about.",
		Remedy:   "Select a port of the right protocol, use the route kind for the port's protocol, or correct the Service's protocol (TCP if left out).",
		Citation: "GEP-1294, Route types: UDP is its own protocol, orthogonal to the other routes",
		Default:  Deny,
		Fault:    ParentProtocolMismatch,
		Describe: describeParentProtocolMismatch,
	}
}

func describeParentProtocolMismatch(_ *Policy, parent *Parent) Finding {
	transport := parent.Route.Kind.Transport()
	f := Finding{
		Field:     parent.Path("name"),
		Value:     parent.Ref.Name,
		Problem:   fmt.Sprintf("%s has no %s port", parent.Key, transport),
		Remedy:    "use a Service with one, or another route kind",
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
	f.Problem = fmt.Sprintf("that port of %s is not %s", parent.Key, transport)
	f.Remedy = fmt.Sprintf("use a %s port or another route kind", transport)
	return f
}
