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
		Rationale: "A route on a Service that does not exist is stored, but has no effect. Usually the name is misspelled, or the Service is in " +
			"another namespace and the parentRef does not set namespace.",
		Remedy: "Correct the name, set namespace in the parentRef, or create the Service first. In a single kubectl apply, the Service must come " +
			"before the route. On a dry run, this rule only warns, because tools dry-run a set of objects before its Services exist.",
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
		Remedy: "create it first, or correct the reference",
	})
}

// notFound completes the finding that a Service or ServiceImport does not exist or,
// depending on the error, cannot exist.
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
