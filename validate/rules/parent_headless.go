package rules

import (
	"fmt"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

func parentHeadless() *validate.Rule {
	return &validate.Rule{
		ID:    "parent-headless",
		Title: "The parent is a headless Service or ServiceImport",
		Rationale: "A mesh identifies traffic to a Service by its cluster IP. A headless Service has none, so there is no traffic to match and the " +
			"route has no effect.",
		Remedy: "Refer to a Service with a cluster IP: create a second Service of type ClusterIP for the same Pods. Or delete the headless one, and " +
			"create it again without clusterIP: None: an update does not change the cluster IP of a Service.",
		Citation: "GEP-1294, Allowed service types: headless Services SHOULD NOT be supported as a parentRef",
		Default:  validate.Deny,
		Fault:    validate.ParentHeadless,
		Describe: describeParentHeadless,
	}
}

func describeParentHeadless(_ *validate.Policy, parent *validate.Parent) validate.Finding {
	why := "clusterIP: None"
	if parent.Key.Kind == mesh.ServiceImportKind {
		why = "type: Headless"
	}
	return validate.Finding{
		Field:     parent.Path("name"),
		Value:     parent.Ref.Name,
		Problem:   fmt.Sprintf("%s is headless (%s): it has no cluster IP to match", parent.Key, why),
		Remedy:    "use a ClusterIP Service",
		Reference: validate.Reference{Service: parent.Key},
	}
}
