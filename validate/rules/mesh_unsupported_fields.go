package rules

import (
	"fmt"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

// checkUnsupportedFields reports what the mesh does not apply of the rules of a route with a mesh
// parent.
func checkUnsupportedFields(p *validate.Pass) {
	profile := p.Policy.Mesh
	if profile == nil || len(p.Parents()) == 0 {
		return
	}
	for use := range p.Route.Uses() {
		does := profile.Does(p.Route.Kind, use.Field)
		f := validate.Finding{
			Field:     use.Path(),
			Remedy:    "remove it",
			Reference: validate.Reference{Detail: string(use.Field)},
		}
		if does.Instead != "" {
			f.Remedy = "use " + does.Instead
		}
		switch does.Value {
		case mesh.RouteDropped:
			f.Problem = dropped(profile, use.Field)
		case mesh.RequestFails:
			f.Problem, f.Default = fmt.Sprintf("%s does not support %s: the requests fail", profile.Title, use.Field.Noun()), validate.Warn
		case mesh.Ignored:
			f.Problem = fmt.Sprintf("%s ignores %s", profile.Title, use.Field.Noun())
			if secures(use.Field) {
				f.Problem += ": the requests are not checked"
			} else {
				f.Default = validate.Warn
			}
		default:
			continue
		}
		reportUnsupported(p, f)
	}
}

// dropped describes a route that the mesh does not apply at all.
func dropped(profile *mesh.Profile, field mesh.Field) string {
	return fmt.Sprintf("%s drops the whole route because of %s, or keeps its former version", profile.Title, field.Noun())
}

// secures reports whether requests pass unchecked where the field is ignored.
func secures(field mesh.Field) bool {
	return field == mesh.RuleFilter(mesh.ExternalAuthFilter) || field == mesh.BackendFilter(mesh.ExternalAuthFilter)
}

// reportUnsupported reports the finding: as a warning where the release of the mesh is newer than
// what is known of it.
func reportUnsupported(p *validate.Pass, f validate.Finding) {
	if p.Policy.Mesh.Newer() {
		f.Default = validate.Warn
		f.Problem += ", as of release " + p.Policy.Mesh.Newest
	}
	p.Report(f)
}
