package validate

import (
	"fmt"

	"github.com/gammaguard/gammaguard/mesh"
)

func parentHeadless() *Rule {
	return &Rule{
		ID:    "parent-headless",
		Title: "The parent is a headless Service or ServiceImport",
		Rationale: "A mesh identifies traffic to a Service by its cluster IP. A headless Service has none, so there is no traffic to match and the " +
			"route has no effect.",
		Remedy:   "Refer to a Service with a cluster IP: remove clusterIP: None, or create a second Service of type ClusterIP for the same Pods.",
		Citation: "GEP-1294, Allowed service types: headless Services SHOULD NOT be supported as a parentRef",
		Default:  Deny,
		Fault:    ParentHeadless,
		Describe: describeParentHeadless,
	}
}

func describeParentHeadless(_ *Policy, parent *Parent) Finding {
	why := "clusterIP: None"
	if parent.Key.Kind == mesh.ServiceImportKind {
		why = "type: Headless"
	}
	return Finding{
		Field:     parent.Path("name"),
		Value:     parent.Ref.Name,
		Problem:   fmt.Sprintf("%s is headless (%s): it has no cluster IP to match", parent.Key, why),
		Remedy:    "use a ClusterIP Service",
		Reference: Reference{Service: parent.Key},
	}
}
