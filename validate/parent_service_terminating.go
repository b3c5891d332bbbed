package validate

import "fmt"

func parentServiceTerminating() *Rule {
	return &Rule{
		ID:        "parent-service-terminating",
		Title:     "The parent Service is being deleted",
		Rationale: "A Service that is being deleted remains until its finalizers are removed. A route that is applied now then loses its parent.",
		Remedy:    "Wait until the Service is deleted and create it again, or attach the route to another Service.",
		Citation:  "GEP-1294, API: a route binds to the Service that its parentRef names",
		Default:   Warn, Parent: checkParentServiceTerminating,
	}
}

func checkParentServiceTerminating(p *Pass, parent *Parent) {
	if parent.Service == nil || !parent.Service.Terminating() {
		return
	}
	p.Report(Finding{
		Field:     parent.Path("name"),
		Value:     parent.Ref.Name,
		Problem:   fmt.Sprintf("%s is being deleted", parent.Key),
		Remedy:    "create it again after its deletion, or use another Service",
		Reference: Reference{Service: parent.Key},
	})
}
