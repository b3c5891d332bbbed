package mutate_test

import (
	"testing"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/mutate"
)

func TestBackendGroup(t *testing.T) {
	because := func(path, why string) mutate.Change {
		return mutate.Change{ID: "backend-group", Path: path + ".group", Op: mutate.Replace, After: "", Why: why}
	}
	const service, core = "Service is in the core group", `the core group is ""`
	run(t, []example{
		{
			name: "backends and mirrors of any kind",
			spec: `
  parentRefs: [{group: "", kind: Service, name: one}]
  rules:
  - filters:
    - {type: RequestHeaderModifier, requestHeaderModifier: {remove: [a]}}
    - {type: RequestMirror, requestMirror: {backendRef: {group: core, kind: Service, name: one, port: 80}}}
    backendRefs:
    - {group: "", kind: Service, name: one, port: 80}
    - {group: core, name: one, port: 80, weight: 0, filters: [{type: RequestMirror, requestMirror: {backendRef: {group: core, name: one, port: 80}}}]}
  - backendRefs: [{group: core, kind: Other, name: one}]`,
			want: []mutate.Change{
				because("spec.rules[0].filters[1].requestMirror.backendRef", core),
				because("spec.rules[0].backendRefs[1]", core),
				because("spec.rules[0].backendRefs[1].filters[0].requestMirror.backendRef", core),
				because("spec.rules[1].backendRefs[0]", core),
			},
		},
		{
			name: "other groups",
			spec: `
  parentRefs: [{group: "", kind: Service, name: one}]
  rules: [{backendRefs: [{group: v1, name: one, port: 80}, {group: example.com, name: one}, {group: core/v1, name: one, port: 80}, {group: example.com/v2, kind: Bucket, name: one}]}]`,
			want: []mutate.Change{
				because("spec.rules[0].backendRefs[0]", service), because("spec.rules[0].backendRefs[2]", service),
				{ID: "backend-group", Path: "spec.rules[0].backendRefs[3].group", Op: mutate.Replace, After: "example.com", Why: "a group has no version"},
			},
		},
		{
			name: "ServiceImports",
			spec: `
  parentRefs: [{group: "", kind: Service, name: one}]
  rules: [{backendRefs: [{kind: ServiceImport, name: a}, {group: gateway.networking.k8s.io, kind: ServiceImport, name: a}, {group: core, kind: ServiceImport, name: a}, {group: multicluster.x-k8s.io, kind: ServiceImport, name: a}]}]`,
			want: []mutate.Change{
				{ID: "backend-group", Path: "spec.rules[0].backendRefs[0].group", Op: mutate.Add, After: mesh.MulticlusterGroup, Why: "ServiceImport is in group multicluster.x-k8s.io"},
				{ID: "backend-group", Path: "spec.rules[0].backendRefs[1].group", Op: mutate.Replace, After: mesh.MulticlusterGroup, Why: "ServiceImport is in group multicluster.x-k8s.io"},
			},
		},
	})
}
