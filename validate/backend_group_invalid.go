package validate

import (
	"fmt"

	"github.com/gammaguard/gammaguard/mesh"
)

func backendGroupInvalid() *Rule {
	return &Rule{
		ID:    "backend-group-invalid",
		Title: "A backendRef is of kind Service or ServiceImport, in a group that has none",
		Rationale: "The API takes any word for a group. A mesh finds no Service in a group that is written core, and answers requests to such a " +
			"backend with a server error.",
		Remedy:   `Leave the group out, or write group: "", for a Service; write group: multicluster.x-k8s.io for a ServiceImport.`,
		Citation: `Gateway API, BackendObjectReference: when group is unspecified or the empty string, the core API group is inferred`,
		Default:  Deny,
		Route:    checkBackendGroupInvalid,
	}
}

func checkBackendGroupInvalid(p *Pass) {
	if len(p.Parents()) == 0 {
		return
	}
	for backend := range p.Route.Backends() {
		if !backend.Ref.WrongGroup() {
			continue
		}
		key := backend.Ref.Service(p.Route.Metadata.Namespace)
		where, right := "the core group", `leave group out or set it to ""`
		if key.Kind == mesh.ServiceImportKind {
			where, right = mesh.MulticlusterGroup, "set group: "+mesh.MulticlusterGroup
		}
		p.Report(Finding{
			Field:     backend.Path() + ".group",
			Value:     backend.Ref.Group,
			Problem:   fmt.Sprintf("kind %s is in %s", key.Kind, where),
			Remedy:    right,
			Reference: Reference{Service: key, Detail: backend.Ref.Group},
		})
	}
}
