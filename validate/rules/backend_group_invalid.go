package rules

import (
	"fmt"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

func backendGroupInvalid() *validate.Rule {
	return &validate.Rule{
		ID:    "backend-group-invalid",
		Title: "A backendRef to a Service or ServiceImport has the wrong group",
		Rationale: "The API accepts any group. No API group is named core, so a mesh does not find such a backend, and answers its requests with a " +
			"server error. The mesh in the configuration can take core for the empty group, as Linkerd does.",
		Remedy:   `For a Service, omit group or set group: "". For a ServiceImport, set group: multicluster.x-k8s.io.`,
		Citation: `Gateway API, BackendObjectReference: when group is unspecified or the empty string, the core API group is inferred`,
		Default:  validate.Deny,
		Route:    checkBackendGroupInvalid,
	}
}

func checkBackendGroupInvalid(p *validate.Pass) {
	if len(p.Parents()) == 0 {
		return
	}
	for backend := range p.Route.Backends() {
		if !backend.Ref.WrongGroup(p.Policy.Mesh) {
			continue
		}
		key := backend.Ref.Service(p.Route.Metadata.Namespace)
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
