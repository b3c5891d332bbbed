package rules

import (
	"cmp"
	"fmt"
	"path"
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
		Remedy: "Where the label refuses, ask the owner of the Service to label it gammaguard.dev/consumer-routes=allow. Where an annotation refuses, ask " +
			"to accept the namespace of the route in gammaguard.dev/consumer-routes-from, and its kind in gammaguard.dev/consumer-route-kinds. Under the " +
			"label deny, the annotations accept nothing; with allow, they narrow which routes are accepted. " +
			"Alternatively, use a producer route in the namespace of the Service.",
		Citation: "GEP-724: the parent's side says which namespaces, and which kinds of routes, it trusts; GEP-1294, Namespace boundaries",
		Default:  validate.Deny,
		Fault:    validate.ConsumerRefused,
		Describe: describeConsumerRefused,
	}
}

func describeConsumerRefused(policy *validate.Policy, parent *validate.Parent) validate.Finding {
	refusal, owner := &parent.Refusal, parent.Key.String()
	service := mesh.ObjectKey{Kind: parent.Key.Kind, Namespace: parent.Key.Namespace, Name: parent.Key.Name}
	if parent.Key.Kind == mesh.ServiceImportKind {
		service.Group = mesh.MulticlusterGroup
	}
	f := validate.Finding{
		Field:     parent.Path(""),
		Type:      validate.Forbidden,
		Remedy:    settle(policy, parent),
		Labels:    service,
		Reference: validate.Reference{Service: parent.Key, Namespace: parent.Key.Namespace},
	}
	if refusal.By == mesh.RefusedByNamespace {
		owner = "namespace " + parent.Key.Namespace
		if refusal.Setting != mesh.ConsumerRoutesLabel {
			f.Labels = mesh.ObjectKey{Kind: mesh.NamespaceKind, Name: parent.Key.Namespace}
		}
	}
	switch {
	case refusal.By == mesh.NotRefused: // unknown
		f.Problem = fmt.Sprintf("whether %s accepts consumer routes", parent.Key)
	case refusal.Invalid:
		f.Problem = fmt.Sprintf("%s accepts no consumer routes: its annotation %s is not valid (%q)", owner, refusal.Setting, brief(refusal.Value))
	case refusal.Setting == mesh.ConsumerRoutesFromAnnotation:
		f.Problem = fmt.Sprintf("%s accepts only namespaces matching %q", owner, brief(refusal.Value))
	case refusal.Setting == mesh.ConsumerRouteKindsAnnotation:
		f.Problem = fmt.Sprintf("%s accepts consumer routes only of kind %s", owner, brief(refusal.Value))
	case refusal.By == mesh.RefusedByDefault:
		f.Problem = owner + " refuses consumer routes by default"
	default:
		f.Problem = owner + " refuses consumer routes"
	}
	return f
}

// settle says whom to ask for what, so that all settings that refuse the route accept it. The owner of a Service overrides what its namespace has.
func settle(policy *validate.Policy, parent *validate.Parent) string {
	first := parent.Refusal
	labeled := first.Setting == mesh.ConsumerRoutesLabel || first.By == mesh.NotRefused
	text, asked := "ask ", ""
	for i, refusal := range append([]mesh.Refusal{first}, first.Also...) {
		who := "its owner"
		switch {
		case labeled || refusal.By != first.By && refusal.By == mesh.RefusedByService:
			who = "the Service's owner"
		case refusal.By == mesh.RefusedByNamespace:
			who = cmp.Or(policy.Grants.Contact, "a mesh admin")
		}
		switch {
		case i == 0:
		case i == len(first.Also):
			text += ", and "
		default:
			text += ", "
		}
		if who != asked {
			text, asked = text+who+" ", who
		}
		text += "to " + accept(parent, &refusal, len(first.Also) == 0)
	}
	if byName(&first, parent.Route.Namespace) != "" {
		return "a word alone is a label; " + text
	}
	return text
}

// accept says what has a setting accept the route. Where others refuse it too, it is short: kubectl cuts long warnings.
func accept(parent *validate.Parent, refusal *mesh.Refusal, alone bool) string {
	setting := refusal.Setting
	if !alone {
		setting = path.Base(setting)
	}
	switch selector := byName(refusal, parent.Route.Namespace); {
	case refusal.Invalid && alone:
		return "fix it"
	case refusal.Invalid:
		return "fix " + setting
	case refusal.Setting == mesh.ConsumerRouteKindsAnnotation:
		return fmt.Sprintf("add %s to %s", parent.Route.Kind, setting)
	case selector != "":
		return fmt.Sprintf("set %s to %q", setting, brief(selector))
	case refusal.Setting == mesh.ConsumerRoutesFromAnnotation:
		return fmt.Sprintf("select namespace %s in %s", parent.Route.Namespace, setting)
	case !alone:
		return fmt.Sprintf("set %s=%s", setting, mesh.ConsumersAllowed)
	case refusal.By == mesh.RefusedByDefault:
		return allow(parent, "")
	}
	return allow(parent, " --overwrite")
}

// allow returns the command by which the owner of the Service has it accept consumer routes.
func allow(parent *validate.Parent, overwrite string) string {
	return fmt.Sprintf("run: kubectl label %s %s=%s%s", named(resourceOf(parent.Key), " -n "+printable.Shell(parent.Key.Namespace), parent.Key.Name),
		mesh.ConsumerRoutesLabel, mesh.ConsumersAllowed, overwrite)
}

// byName returns the selector that selects namespaces by their names, where one was written that has these, and that of the namespace, as words
// alone: "lab", or "kubernetes.io/metadata.name=lab,faces", which asks for a label faces as well. Otherwise, it is empty.
func byName(refusal *mesh.Refusal, namespace string) string {
	const key = "kubernetes.io/metadata.name"
	if !refusal.Selects() {
		return ""
	}
	var names []string
	for part := range strings.SplitSeq(refusal.Value, ",") {
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
