package rules

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

func backendNotPermitted() *validate.Rule {
	return &validate.Rule{
		ID:    validate.RuleBackendNotPermitted,
		Title: "A backendRef refers to another namespace without a ReferenceGrant",
		Rationale: "Most meshes require no ReferenceGrant for mesh routes, because a mesh route exposes only what its clients can reach anyway. A " +
			"mesh that exposes more must require one; enable this rule for such a mesh.",
		Remedy: "Create a ReferenceGrant in the backend's namespace that permits this kind of route from the route's namespace.",
		Citation: "GEP-1294, Namespace boundaries: if an implementation exposes a broader scope than would otherwise be reachable, ReferenceGrant " +
			"must be used for cross-namespace references",
		Default: validate.Off,
		Backend: checkBackendNotPermitted,
	}
}

func checkBackendNotPermitted(p *validate.Pass, backend *validate.BackendService) {
	from := p.Route.Metadata.Namespace
	if backend.Key.Namespace == from {
		return
	}
	grants, known := p.ReferenceGrants(backend.Key.Namespace)
	if slices.ContainsFunc(grants, func(g mesh.ReferenceGrant) bool { return g.Permits(p.Route.Kind, from, backend.Key) }) {
		return
	}
	f := validate.Finding{
		Field:     backend.Path() + ".namespace",
		Value:     backend.Ref.Namespace,
		Type:      validate.Forbidden,
		Problem:   fmt.Sprintf("no ReferenceGrant permits %ss of %s to use %s", p.Route.Kind, from, backend.Key),
		Remedy:    permit(p, grants, backend.Key),
		Reference: validate.Reference{Service: backend.Key},
	}
	if known {
		p.Report(f)
	} else {
		p.Unknown(f)
	}
}

// permit says how to permit it, and which ReferenceGrant would but for one field.
func permit(p *validate.Pass, grants []mesh.ReferenceGrant, to mesh.ServiceKey) string {
	nearly, remedy := "", "create a ReferenceGrant in namespace "+to.Namespace
	for i := range grants {
		misfit := grants[i].Misfit(p.Route.Kind, p.Route.Metadata.Namespace, to)
		if misfit != nil && (nearly == "" || grants[i].Name < nearly) {
			nearly = grants[i].Name
			remedy = fmt.Sprintf("create one there; in ReferenceGrant %s, %s is not %s", nearly, misfit.Field, cmp.Or(misfit.Want, `""`))
		}
	}
	return remedy
}
