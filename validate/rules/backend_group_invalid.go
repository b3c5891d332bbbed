package rules

import (
	"fmt"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

func backendGroupInvalid() *validate.Rule {
	return &validate.Rule{
		ID:    "backend-group-invalid",
		Title: "A backendRef has the wrong group, or a kind in the core group other than Service",
		Rationale: "The API accepts any group. No API group is named core, so a mesh does not find such a backend, and answers its requests with a " +
			"server error. The mesh in the configuration can take core for the empty group, as Linkerd does. " +
			"A backendRef without a group is in the core group, where Service is the only kind that meshes support. A Deployment, a Pod, or a " +
			"misspelled kind fails in the same way. This finding is a warning. Kinds in other groups are those of other implementations.",
		Remedy: `For a Service, omit group or set group: "", and omit kind or set kind: Service. For a ServiceImport, set ` +
			`group: multicluster.x-k8s.io. For a kind of an implementation, set its group.`,
		Citation:    `Gateway API, BackendObjectReference: when group is unspecified or the empty string, the core API group is inferred`,
		Default:     validate.Deny,
		HasWarnings: true,
		Route:       checkBackendGroupInvalid,
	}
}

func checkBackendGroupInvalid(p *validate.Pass) {
	if len(p.Parents()) == 0 {
		return
	}
	for backend := range p.Route.Backends() {
		key := backend.Ref.Service(p.Route.Metadata.Namespace)
		if backend.Ref.WrongKind() {
			remedy := "use a Service, or set the group if your mesh has the kind"
			if mesh.Nearest(key.Kind, []string{mesh.ServiceKind}) != "" {
				remedy = "did you mean Service? If not, set its group"
			}
			p.Report(validate.Finding{
				Field: backend.Path() + ".kind", Value: key.Kind, Default: validate.Warn, Reference: validate.Reference{Service: key},
				Problem: fmt.Sprintf("kind %s in the core group cannot be a backend", key.Kind), Remedy: remedy,
			})
		}
		if !backend.Ref.WrongGroup(p.Policy.Mesh) {
			continue
		}
		where, right := "the core group", `leave group out or set it to ""`
		if key.Kind == mesh.ServiceImportKind {
			where, right = mesh.MulticlusterGroup, "set group: "+mesh.MulticlusterGroup
		}
		p.Report(validate.Finding{
			Field:     backend.Path() + ".group",
			Value:     backend.Ref.Group,
			Problem:   fmt.Sprintf("kind %s is in %s", key.Kind, where),
			Remedy:    right + p.Route.InController(),
			Reference: validate.Reference{Service: key, Detail: backend.Ref.Group},
		})
	}
}
