package validate

import "fmt"

func parentExternalName() *Rule {
	return &Rule{
		ID:    "parent-external-name",
		Title: "The parent is a Service of type ExternalName",
		Rationale: "An ExternalName Service is a DNS alias for a name outside: it has no cluster IP by which a mesh could tell its traffic, and " +
			"routing it would let a route's author redirect calls to hosts of others.",
		Remedy:   "Refer to a Service of type ClusterIP.",
		Citation: "GEP-1294, Allowed service types: ExternalName SHOULD NOT be allowed as parentRefs or backendRefs due to security concerns",
		Default:  Deny,
		Fault:    ParentExternalName,
		Describe: describeParentExternalName,
	}
}

func describeParentExternalName(_ *Policy, parent *Parent) Finding {
	return Finding{
		Field:     parent.Path("name"),
		Value:     parent.Ref.Name,
		Problem:   fmt.Sprintf("%s is of type ExternalName, a mere DNS alias", parent.Key),
		Remedy:    "use one of type ClusterIP",
		Reference: Reference{Service: parent.Key},
	}
}
