package mutate_test

import (
	"testing"

	"github.com/gammaguard/gammaguard/mutate"
)

func TestBackendGroup(t *testing.T) {
	change := func(path string) mutate.Change {
		return mutate.Change{ID: "backend-group", Path: path + ".group", Op: mutate.Replace, After: "", Why: `the core group is ""`}
	}
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
				change("spec.rules[0].filters[1].requestMirror.backendRef"),
				change("spec.rules[0].backendRefs[1]"),
				change("spec.rules[0].backendRefs[1].filters[0].requestMirror.backendRef"),
				change("spec.rules[1].backendRefs[0]"),
			},
		},
		{
			name: "other groups",
			spec: `
  parentRefs: [{group: "", kind: Service, name: one}]
  rules: [{backendRefs: [{group: v1, name: one, port: 80}, {group: example.com, name: one}, {group: core/v1, name: one}]}]`,
		},
	})
}
