package rules

import (
	"fmt"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

func backendGroupInvalid() *validate.Rule {
	return &validate.Rule{
		ID:    "backend-group-invalid",
		Title: "A backendRef has the wrong group, or a kind of Kubernetes other than Service",
		Rationale: "The API accepts any group. No API group is named core, so a mesh does not find such a backend, and answers its requests with a " +
			"server error. The mesh in the configuration can take core for the empty group, as Linkerd does. " +
			"A backendRef without a group is in the core group. Of the kinds in that and in other groups of Kubernetes, such as apps, meshes " +
			"support Service alone. A Deployment, a Pod, or a misspelled kind fails in the same way. This finding is a warning. Kinds in other " +
			"groups are those of other implementations.",
		Remedy: `For a Service, omit group or set group: "", and omit kind or set kind: Service. For a ServiceImport, set ` +
			`group: multicluster.x-k8s.io. For a workload, such as a Deployment, name the Service in front of it. For a kind of an implementation, set its group.`,
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
		if backend.Ref.WrongKind(p.Policy.Mesh) {
			where, remedy, service := "the core group", "use the Service in front of it, or set the group if your mesh has the kind", "If not, set its group"
			if group := backend.Ref.Group; group != "" {
				where, remedy, service = "group "+group, "use the Service in front of it", "If so, leave group out"
			}
			if mesh.Nearest(key.Kind, []string{mesh.ServiceKind}) != "" {
				remedy = "did you mean Service? " + service
			}
			p.Report(validate.Finding{
				Field: backend.Path() + ".kind", Value: key.Kind, Default: validate.Warn, Reference: validate.Reference{Service: key, Detail: backend.Ref.Group},
				Problem: fmt.Sprintf("kind %s in %s cannot be a backend", key.Kind, where), Remedy: remedy,
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
