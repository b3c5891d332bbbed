package validate

import "fmt"

func parentServiceTerminating() *Rule {
	return &Rule{
		ID:    "parent-service-terminating",
		Title: "The parent Service is being deleted",
		Rationale: "A Service that is being deleted stays until its finalizers are removed, and then goes with all that is attached to it. A route " +
			"that is applied now loses its parent.",
		Remedy:   "Wait until the Service is gone and create it again, or attach the route to another Service.",
		Citation: "GEP-1294, API: a route binds to the Service that its parentRef names",
		Default:  Warn, Parent: checkParentServiceTerminating,
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
		Remedy:    "create it again when it is gone, or use another Service",
		Reference: Reference{Service: parent.Key},
	})
}
