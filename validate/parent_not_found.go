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
		Fault:    ParentNotFound,
		Describe: describeParentNotFound,
	}
}

func describeParentNotFound(_ *Policy, parent *Parent) Finding {
	return notFound(parent.Key, parent.Missing, Finding{
		Field:  parent.Path("name"),
		Value:  parent.Ref.Name,
		Remedy: "create it first, or correct name and namespace",
	})
}

// notFound completes the finding that a Service or ServiceImport does not exist, or,
// by the error, cannot.
func notFound(key mesh.ServiceKey, err error, f Finding) Finding {
	f.Type = NotFound
	f.Problem = fmt.Sprintf("%s does not exist", key)
	f.Reference = Reference{Service: key}
	if errors.Is(err, mesh.ErrNotServed) {
		f.Problem = fmt.Sprintf("%s cannot exist: the CRD of ServiceImport (%s) is not installed", key, mesh.MulticlusterGroup)
		f.Remedy = "install the Multi-Cluster Services API, or refer to a Service"
	}
	return f
}
