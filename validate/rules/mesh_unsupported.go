package rules

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

func meshUnsupported() *validate.Rule {
	return &validate.Rule{
		ID:    validate.RuleMeshUnsupported,
		Title: "The mesh ignores the route, or a part of it",
		Rationale: "No mesh applies all that the specification allows. It ignores the rest, usually without an entry in the status of the route. With " +
			"mesh in the configuration, gammaguard knows what that mesh ignores: route kinds, consumer routes, kinds of parents, sectionName, timeouts, " +
			"retries, session persistence, and filters. Without it, the rule reports only route kinds that routeKinds does not list. The rule denies if " +
			"the mesh ignores the whole parentRef, or drops the whole route because of a filter. It also denies if the mesh ignores an ExternalAuth " +
			"filter, so that requests pass unchecked. Otherwise it warns: if the mesh ignores a field, or answers requests with an error because of a " +
			"filter. It warns also if only routeKinds excludes the kind, or if the release of the mesh is newer than what gammaguard knows of it.",
		Remedy: "Use what the mesh supports: docs/meshes.md lists it for each mesh, with the releases that it is known for. Set the release that " +
			"runs: mesh: kuma@2.13. If a newer release of the mesh supports the route kind, add the kind to routeKinds.",
		Citation:    "Gateway API, Conformance: support for route kinds and for extended features varies by implementation",
		Default:     validate.Deny,
		HasWarnings: true,
		Route:       checkMeshUnsupported,
		Describe: func(policy *validate.Policy, parent *validate.Parent) validate.Finding {
			if f := ignoredParent(policy, parent.Route, parent.Index); f != nil {
				return *f
			}
			ports, _ := parent.Unselected()
			if f := unselectedPorts(policy.Mesh, parent, ports); f != nil {
				return *f
			}
			return validate.Finding{
				Field: mesh.ParentPath(parent.Index, ""), Value: parent.Ref.Name, Reference: validate.Reference{Service: parent.Key},
				Problem: dropped(policy.Mesh, parent.Route.Dropped), Remedy: "remove it",
			}
		},
	}
}

func checkMeshUnsupported(p *validate.Pass) {
	for i := range p.Route.Spec.ParentRefs {
		ref := &p.Route.Spec.ParentRefs[i]
		switch ref.Class(p.Policy.Mesh) {
		case mesh.MeshParent:
			route := p.Attached()
			if f := cmp.Or(ignoredParent(p.Policy, route, i), ignoredName(p.Policy.Mesh, route, i)); f != nil {
				reportUnsupported(p, *f)
			}
		case mesh.ImplementationSpecificParent:
			if other := p.Policy.Mesh.OfAnotherMesh(ref); other != "" {
				reportUnsupported(p, validate.Finding{
					Field: mesh.ParentPath(i, "kind"), Value: ref.EffectiveKind(),
					Problem:   fmt.Sprintf("%s is a parent for %s, and %s ignores it", ref.EffectiveKind(), other, p.Policy.Mesh.Title),
					Remedy:    "use a Service",
					Reference: validate.Reference{Detail: ref.EffectiveKind() + " " + ref.Service(p.Route.Metadata.Namespace).String()},
				})
			}
		}
	}
	checkUnsupportedFields(p)
}

// ignoredParent says why the mesh ignores the mesh parent; nil if it does not.
func ignoredParent(policy *validate.Policy, route *mesh.AttachedRoute, i int) *validate.Finding {
	ref, profile := &route.Parents[i], policy.Mesh
	key := ref.Service(route.Namespace)
	switch {
	case !policy.Implements(route.Kind):
		return unsupportedKind(policy, route.Kind, mesh.ParentPath(i, ""), key)
	case profile == nil:
		return nil
	case key.Kind == mesh.ServiceImportKind && !profile.ServiceImports.Value:
		return &validate.Finding{
			Field: mesh.ParentPath(i, "kind"), Value: ref.Kind, Reference: validate.Reference{Service: key},
			Problem: profile.Title + " ignores a ServiceImport as a parent", Remedy: "use a Service",
		}
	case key.Namespace != route.Namespace && !profile.ConsumerRoutes.Value:
		return &validate.Finding{
			Field: mesh.ParentPath(i, "namespace"), Value: ref.Namespace, Reference: validate.Reference{Service: key},
			Problem: profile.Title + " ignores consumer routes: the Service is in another namespace",
			Remedy:  "create the route in namespace " + key.Namespace,
		}
	}
	return nil
}

// ignoredName says that the mesh ignores the sectionName of the mesh parent; nil if it does not.
func ignoredName(profile *mesh.Profile, route *mesh.AttachedRoute, i int) *validate.Finding {
	ref := &route.Parents[i]
	if !profile.IgnoresSectionName() || ref.SectionName == "" || ref.Port != 0 {
		return nil
	}
	f := &validate.Finding{
		Field: mesh.ParentPath(i, "sectionName"), Value: ref.SectionName, Default: validate.Warn,
		Reference: validate.Reference{Service: ref.Service(route.Namespace), Detail: ref.SectionName},
		Problem:   profile.Title + " ignores sectionName: the route applies to every port",
		Remedy:    "set port too",
	}
	if wanted := profile.Portless.Value[route.Kind]; wanted != "" {
		f.Problem += " with appProtocol " + wanted
	}
	return f
}

// unsupportedKind reports a route kind that the mesh does not implement. Where the
// configuration alone says so, it only warns.
func unsupportedKind(policy *validate.Policy, kind mesh.RouteKind, path string, key mesh.ServiceKey) *validate.Finding {
	kinds := make([]string, len(policy.RouteKinds))
	for i, k := range policy.RouteKinds {
		kinds[i] = string(k)
	}
	f := &validate.Finding{
		Field: path, Value: key.Name, Default: validate.Warn, Reference: validate.Reference{Service: key, Detail: string(kind)},
		Problem: fmt.Sprintf("the mesh does not implement %s, according to routeKinds in the configuration", kind),
		Remedy:  "use " + strings.Join(kinds, ", "),
	}
	if !policy.Mesh.Takes(kind) {
		f.Default, f.Problem = "", fmt.Sprintf("%s ignores a %s on a Service", policy.Mesh.Title, kind)
	}
	return f
}
