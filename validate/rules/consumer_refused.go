package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

func consumerRefused() *validate.Rule {
	return &validate.Rule{
		ID:    validate.RuleConsumerRefused,
		Title: "The Service or its namespace refuses consumer routes",
		Rationale: "A consumer route changes how an entire namespace reaches a Service that others own. As with the allowed routes of a Gateway, the " +
			"parent decides which routes it accepts. A mesh admin sets a label on the namespace of the Service, or annotations that name the accepted " +
			"namespaces and route kinds. The owner of the Service can override each of them with the same one on the Service. An annotation that cannot " +
			"be read accepts no route. Where neither has the label, grants.consumerRoutes in the configuration decides.",
		Remedy: "Ask the owner of the Service to label it gammaguard.dev/consumer-routes=allow, or to accept the namespace and the kind of the " +
			"route in the annotations gammaguard.dev/consumer-routes-from and gammaguard.dev/consumer-route-kinds of the Service. " +
			"Alternatively, use a producer route in the namespace of the Service.",
		Citation: "GEP-724: the parent's side says which namespaces, and which kinds of routes, it trusts; GEP-1294, Namespace boundaries",
		Default:  validate.Deny,
		Fault:    validate.ConsumerRefused,
		Describe: describeConsumerRefused,
	}
}

func describeConsumerRefused(policy *validate.Policy, parent *validate.Parent) validate.Finding {
	refusal := parent.Refusal
	owner, admin := parent.Key.String(), "its owner"
	service := mesh.ObjectKey{Kind: parent.Key.Kind, Namespace: parent.Key.Namespace, Name: parent.Key.Name}
	if parent.Key.Kind == mesh.ServiceImportKind {
		service.Group = mesh.MulticlusterGroup
	}
	annotated := service
	if refusal.By == mesh.RefusedByNamespace {
		owner, admin = "namespace "+parent.Key.Namespace, cmp.Or(policy.Grants.Contact, "a mesh admin")
		annotated = mesh.ObjectKey{Kind: mesh.NamespaceKind, Name: parent.Key.Namespace}
	}
	problem, overwrite := owner+" refuses consumer routes", " --overwrite"
	if refusal.By == mesh.RefusedByDefault {
		problem, overwrite = problem+" by default", ""
	}
	f := validate.Finding{
		Field:   parent.Path(""),
		Type:    validate.Forbidden,
		Problem: problem,
		Remedy: fmt.Sprintf("ask the Service's owner to run: kubectl label %s %s=%s%s",
			named(resourceOf(parent.Key), " -n "+printable.Shell(parent.Key.Namespace), parent.Key.Name), mesh.ConsumerRoutesLabel, mesh.ConsumersAllowed, overwrite),
		Labels:    service,
		Reference: validate.Reference{Service: parent.Key, Namespace: parent.Key.Namespace},
	}
	switch {
	case refusal.By == mesh.NotRefused: // unknown
		f.Problem = fmt.Sprintf("whether %s accepts consumer routes", parent.Key)
	case refusal.Invalid:
		f.Problem = fmt.Sprintf("%s accepts no consumer routes: its annotation %s is not valid (%q)", owner, refusal.Setting, brief(refusal.Value))
		f.Remedy, f.Labels = fmt.Sprintf("ask %s to fix it", admin), annotated
	case refusal.Setting == mesh.ConsumerRoutesFromAnnotation:
		f.Problem = fmt.Sprintf("%s accepts only routes of namespaces matching %q", owner, brief(refusal.Value))
		switch refusal.KindBy {
		case mesh.NotRefused:
		case refusal.By:
			f.Problem += ", and no " + string(parent.Route.Kind)
		case mesh.RefusedByNamespace:
			f.Problem += ", and its namespace no " + string(parent.Route.Kind)
		default:
			f.Problem += ", and the Service no " + string(parent.Route.Kind)
		}
		f.Remedy, f.Labels = fmt.Sprintf("ask %s to select namespace %s in %s", admin, parent.Route.Namespace, refusal.Setting), annotated
		if selector := byName(refusal.Value, parent.Route.Namespace); selector != "" {
			f.Remedy = fmt.Sprintf("a word alone is a label; ask %s to set %s to %q", admin, refusal.Setting, brief(selector))
		}
	case refusal.Setting == mesh.ConsumerRouteKindsAnnotation:
		f.Problem = fmt.Sprintf("%s accepts consumer routes only of kind %s", owner, brief(refusal.Value))
		f.Remedy, f.Labels = fmt.Sprintf("ask %s to add %s to %s", admin, parent.Route.Kind, refusal.Setting), annotated
	}
	return f
}

// byName returns the selector that selects namespaces by their names, where one was written that has these, and that of the namespace, as words
// alone: "lab", or "kubernetes.io/metadata.name=lab,faces", which asks for a label faces as well. Otherwise, it is empty.
func byName(selector, namespace string) string {
	const key = "kubernetes.io/metadata.name"
	var names []string
	for part := range strings.SplitSeq(selector, ",") {
		name := strings.TrimLeft(strings.TrimPrefix(strings.TrimSpace(part), key), "=")
		if strings.ContainsAny(name, "=!() ") {
			return ""
		}
		names = append(names, name)
	}
	if !slices.Contains(names, namespace) {
		return ""
	}
	return key + " in (" + strings.Join(names, ", ") + ")"
}

// brief cuts a text that others wrote.
func brief(text string) string {
	const most = 100
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}

// resourceOf returns the resource name that kubectl takes for the kind.
func resourceOf(key mesh.ServiceKey) string {
	if key.Kind == mesh.ServiceImportKind {
		return "serviceimport"
	}
	return "service"
}
