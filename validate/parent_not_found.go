package validate

import (
	"errors"
	"fmt"

	"github.com/gammaguard/gammaguard/mesh"
)

func parentNotFound() *Rule {
	return &Rule{
		ID:    "parent-not-found",
		Title: "The parent Service or ServiceImport does not exist",
		Rationale: "A route on a Service that does not exist is stored, and changes nothing. Mostly the name is misspelt, or the Service is in " +
			"another namespace than the route and the parentRef does not say so.",
		Remedy: "Correct the name, set the parentRef's namespace, or create the Service first; in one kubectl apply the Service must come " +
			"before the route. On a dry run this only warns, since tools dry-run a whole set before its Services exist.",
		Citation: "GEP-1294, API: a route binds to the Service that its parentRef names",
		Default:  Deny,
		DryRun:   Warn,
		Stage:    RouteStage,
		Reads:    ReadsServices,
		Check:    checkParentNotFound,
	}
}

func checkParentNotFound(p *Pass) {
	for _, parent := range p.Parents() {
		if parent.Service != nil {
			continue
		}
		f := Finding{
			Field:     parent.Path("name"),
			Value:     parent.Ref.Name,
			Type:      NotFound,
			Problem:   fmt.Sprintf("%s does not exist", parent.Key),
			Remedy:    "create it first, or correct name and namespace",
			Reference: Reference{Service: parent.Key},
		}
		err := p.Missing(parent.Key, f)
		if errors.Is(err, mesh.ErrNotServed) {
			f.Problem = fmt.Sprintf("%s cannot exist: the CRD of ServiceImport (%s) is not installed", parent.Key, mesh.MulticlusterGroup)
			f.Remedy = "install the Multi-Cluster Services API, or refer to a Service"
		}
		if err != nil {
			p.Report(f)
		}
	}
}
