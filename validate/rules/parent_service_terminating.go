package rules

import (
	"fmt"

	"github.com/gammaguard/gammaguard/validate"
)

func parentServiceTerminating() *validate.Rule {
	return &validate.Rule{
		ID:        "parent-service-terminating",
		Title:     "The parent Service is being deleted",
		Rationale: "A Service that is being deleted remains until its finalizers are removed. A route that is applied now then loses its parent.",
		Remedy:    "Wait until the Service is deleted and create it again, or attach the route to another Service.",
		Citation:  "GEP-1294, API: a route binds to the Service that its parentRef names",
		Default:   validate.Warn, Parent: checkParentServiceTerminating,
	}
}

func checkParentServiceTerminating(p *validate.Pass, parent *validate.Parent) {
	if parent.Service == nil || !parent.Service.Terminating() {
		return
	}
	p.Report(validate.Finding{
		Field:     parent.Path("name"),
		Value:     parent.Ref.Name,
		Problem:   fmt.Sprintf("%s is being deleted", parent.Key),
		Remedy:    "create it again after its deletion, or use another Service",
		Reference: validate.Reference{Service: parent.Key},
	})
}
