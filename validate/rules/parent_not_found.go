package rules

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

func parentNotFound() *validate.Rule {
	return &validate.Rule{
		ID:    "parent-not-found",
		Title: "The parent does not exist",
		Rationale: "A route on a Service that does not exist is stored, but has no effect. Usually the name is misspelled, or the Service is in another " +
			"namespace and the parentRef does not set namespace. A parent of another kind is looked up as well. The rule then warns, unless the " +
			"configuration sets its action, if the API server does not serve the kind, such as Services. For a kind in grants.parentKinds, it warns also if the object does " +
			"not exist.",
		Remedy: "Correct the name, set namespace in the parentRef, or create the Service first. In a single kubectl apply, the Service must come " +
			"before the route. On a dry run, this rule only warns, because tools dry-run a set of objects before its Services exist.",
		Citation:    "GEP-1294, API: a route binds to the Service that its parentRef names",
		Default:     validate.Deny,
		DryRun:      validate.Warn,
		Fault:       validate.ParentNotFound,
		Describe:    describeParentNotFound,
		HasWarnings: true,
		Other:       checkOtherParent,
	}
}

func describeParentNotFound(_ *validate.Policy, parent *validate.Parent) validate.Finding {
	return notFound(parent.Key, parent.Missing, validate.Finding{
		Field:  parent.Path("name"),
		Value:  parent.Ref.Name,
		Remedy: correction("create it first", parent.Key, parent.Ref.Namespace, "parentRef"),
	})
}

// correction says how to refer to the Service that is meant: one whose host is written as its name, or one elsewhere, where the
// reference has no namespace. It is the same whatever exists.
func correction(create string, key mesh.ServiceKey, namespace, in string) string {
	if key.Kind == mesh.ServiceKind && strings.Contains(key.Name, ".") {
		return "of a host, name is the first part, and namespace the second"
	}
	if namespace != "" {
		return create + ", or correct the reference"
	}
	return create + ", or correct the reference; for a Service elsewhere, set namespace in the " + in
}

// notFound completes the finding that a Service or ServiceImport does not exist or,
// depending on the error, cannot exist.
func notFound(key mesh.ServiceKey, err error, f validate.Finding) validate.Finding {
	f.Type = validate.NotFound
	f.Problem = fmt.Sprintf("%s does not exist", key)
	f.Reference = validate.Reference{Service: key}
	if errors.Is(err, mesh.ErrNotServed) {
		f.Problem = fmt.Sprintf("%s cannot exist: the CRD of ServiceImport (%s) is not installed", key, mesh.MulticlusterGroup)
		f.Remedy = "install the Multi-Cluster Services API, or refer to a Service"
	}
	return f
}

// whatIsServed says how to correct a kind that is not served. Where group is "" and kind was omitted, the API server has set Gateway.
func whatIsServed(key mesh.ObjectKey) string {
	if key.Group == "" && key.Kind == "Gateway" {
		return `for a Service, set kind: Service; for a Gateway, omit group`
	}
	return "correct kind and group, or install the definition of the kind"
}

// checkOtherParent looks up a parent of another implementation: its kind and, where that
// is another mesh parent, the object.
func checkOtherParent(p *validate.Pass, index int) {
	ref := &p.Route.Spec.ParentRefs[index]
	key := mesh.ObjectKey{Group: ref.EffectiveGroup(), Kind: ref.EffectiveKind()}
	named := ref.Service(p.Route.Metadata.Namespace)
	if p.Policy.Grants.Covers(ref) {
		key.Namespace, key.Name = named.Namespace, named.Name
	}
	f := validate.Finding{
		Field: mesh.ParentPath(index, "name"), Value: ref.Name, Type: validate.NotFound, Default: validate.Warn, Reference: validate.Reference{Service: named, Detail: key.Group},
		Problem: fmt.Sprintf("%s %s/%s does not exist", key.Kind, named.Namespace, named.Name),
		Remedy:  "create it first, or correct the reference",
	}
	notServed := func(remedy string) {
		f.Field, f.Value = mesh.ParentPath(index, "kind"), key.Kind
		f.Problem, f.Remedy = fmt.Sprintf("the API server does not serve kind %s in group %q", key.Kind, key.Group), remedy
		p.Report(f)
	}
	if (key.Group == "" || key.Group == mesh.GatewayGroup) && (mesh.Nearest(key.Kind, []string{mesh.ServiceKind}) != "" || strings.EqualFold(key.Kind, "svc")) {
		notServed(`did you mean Service in group ""?`) // no API server does
		return
	}
	switch err := p.Object(key); {
	case errors.Is(err, mesh.ErrNotServed):
		notServed(whatIsServed(key))
	case errors.Is(err, mesh.ErrNotFound):
		p.Report(f)
	case errors.Is(err, mesh.ErrUnknown) && key.Name != "":
		p.Unknown(f)
	}
}
