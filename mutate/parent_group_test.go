package mutate_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/mutate"
)

func TestParentGroup(t *testing.T) {
	const (
		gateway = mesh.GatewayGroup
		multi   = mesh.MulticlusterGroup
		core    = "Service is in the core group"
		mcs     = "ServiceImport is in group multicluster.x-k8s.io"
		version = "a group has no version"
		absent  = "absent"
	)
	for _, test := range []struct{ kind, group, want, why string }{
		{"Service", absent, "", core},
		{"Service", gateway, "", core},
		{"Service", gateway + "/v1", "", core},
		{"Service", "core", "", core},
		{"Service", "core/v1", "", core},
		{"Service", "v1", "", core},
		{"Service", "/v1", "", core},
		{"Service", "serving.knative.dev/v1", "serving.knative.dev", version},
		{"ServiceImport", absent, multi, mcs},
		{"ServiceImport", gateway, multi, mcs},
		{"ServiceImport", gateway + "/v1", multi, mcs},
		{"ServiceImport", multi + "/v1alpha1", multi, mcs},
		{"ServiceImport", "core/v1", "core", version},
		{"ServiceEntry", "networking.istio.io/v1beta1", "networking.istio.io", version},
		{"Gateway", gateway + "/v1", gateway, version},
	} {
		change := mutate.Change{ID: "parent-group", Path: "spec.parentRefs[0].group", Op: mutate.Replace, After: test.want, Why: test.why}
		group := fmt.Sprintf("group: %q, ", test.group)
		if test.group == absent {
			group, change.Op = "", mutate.Add
		}
		run(t, []example{{
			name: test.kind + " in " + test.group,
			spec: fmt.Sprintf("  parentRefs: [{%skind: %s, name: one}]", group, test.kind),
			want: []mutate.Change{change},
		}})
	}
}

func TestParentGroupLeftAlone(t *testing.T) {
	for _, ref := range []string{
		`group: "", kind: Service`,
		`group: multicluster.x-k8s.io, kind: Service`,
		`group: serving.knative.dev, kind: Service`,
		`group: a/b/c, kind: Service`,
		`group: core/, kind: Service`,
		`group: multicluster.x-k8s.io, kind: ServiceImport`,
		`group: "", kind: ServiceImport`,
		`group: core, kind: ServiceImport`,
		`group: v1, kind: ServiceImport`,
		`kind: Gateway`,
		`kind: ListenerSet`,
		`group: core`,
		`kind: ServiceEntry`,
		`group: networking.istio.io, kind: ServiceEntry`,
	} {
		run(t, []example{{name: ref, spec: "  parentRefs: [{" + ref + ", name: one}]"}})
	}
}

// Every Service or ServiceImport that the mesh package finds in the wrong group is corrected,
// but for the groups that leave open what is meant.
func TestParentGroupMendsMisgrouped(t *testing.T) {
	open := map[string]bool{
		"Service multicluster.x-k8s.io":          true, // the kind may be the mistake
		"ServiceImport ":                         true,
		"ServiceImport core":                     true,
		"ServiceImport v1":                       true,
		"ServiceImport core/v1":                  true, // but for its version
		"ServiceImport v1/v1":                    true,
		"ServiceImport /v1":                      true,
		"Service multicluster.x-k8s.io/v1alpha1": true, // likewise
	}
	groups := []string{
		"", "core", "v1", "core/v1", "v1/v1", "/v1", mesh.GatewayGroup, mesh.GatewayGroup + "/v1beta1",
		mesh.MulticlusterGroup, mesh.MulticlusterGroup + "/v1alpha1",
	}
	got := map[string]bool{}
	for _, kind := range []string{mesh.ServiceKind, mesh.ServiceImportKind} {
		for _, group := range groups {
			route := &mesh.Route{Kind: mesh.HTTPRoute, Spec: mesh.RouteSpec{ParentRefs: []mesh.ParentRef{{Group: &group, Kind: kind, Name: "one"}}}}
			corrected := mutate.Mutated(route, mutate.Changes(route, &world{}, mutate.Options{}))
			if !corrected.HasMeshParent(nil) {
				got[kind+" "+group] = true
			}
		}
	}
	if diff := cmp.Diff(open, got); diff != "" {
		t.Errorf("misgrouped after the change (-want +got):\n%s", diff)
	}
}
