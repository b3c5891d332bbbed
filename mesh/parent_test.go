package mesh_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/mesh"
)

func TestParentClass(t *testing.T) {
	const omitted = "(omitted)"
	type ref struct{ kind, group string }
	want := map[ref]mesh.ParentClass{
		{"", omitted}:                                   mesh.GatewayParent,
		{"Gateway", omitted}:                            mesh.GatewayParent,
		{"Gateway", "gateway.networking.k8s.io"}:        mesh.GatewayParent,
		{"ListenerSet", omitted}:                        mesh.GatewayParent,
		{"ListenerSet", "gateway.networking.k8s.io"}:    mesh.GatewayParent,
		{"Gateway", ""}:                                 mesh.ForeignParent,
		{"Gateway", "networking.istio.io"}:              mesh.ForeignParent,
		{"XListenerSet", "gateway.networking.x-k8s.io"}: mesh.ForeignParent,

		{"Service", ""}:                                mesh.MeshParent,
		{"Service", omitted}:                           mesh.MisgroupedParent,
		{"Service", "core"}:                            mesh.MisgroupedParent,
		{"Service", "core/v1"}:                         mesh.MisgroupedParent,
		{"Service", "v1"}:                              mesh.MisgroupedParent,
		{"Service", "/v1"}:                             mesh.MisgroupedParent,
		{"Service", "gateway.networking.k8s.io"}:       mesh.MisgroupedParent,
		{"Service", "gateway.networking.k8s.io/v1"}:    mesh.MisgroupedParent,
		{"Service", "multicluster.x-k8s.io"}:           mesh.MisgroupedParent,
		{"Service", "multicluster.x-k8s.io/v1alpha1"}:  mesh.MisgroupedParent,
		{"Service", "serving.knative.dev"}:             mesh.ForeignParent,
		{"Service", "serving.knative.dev/v1"}:          mesh.ForeignParent,
		{"service", ""}:                                mesh.ForeignParent,
		{"", ""}:                                       mesh.ForeignParent,
		{"ServiceImport", "multicluster.x-k8s.io"}:     mesh.MeshParent,
		{"ServiceImport", omitted}:                     mesh.MisgroupedParent,
		{"ServiceImport", ""}:                          mesh.MisgroupedParent,
		{"ServiceImport", "core"}:                      mesh.MisgroupedParent,
		{"ServiceImport", "gateway.networking.k8s.io"}: mesh.MisgroupedParent,
		{"ServiceImport", "multicluster.x-k8s.io/v1"}:  mesh.MisgroupedParent,
		{"ServiceImport", "submariner.io"}:             mesh.ForeignParent,
		{"ServiceEntry", "networking.istio.io"}:        mesh.ForeignParent,
		{"MeshService", "kuma.io"}:                     mesh.ForeignParent,
		{"Pod", ""}:                                    mesh.ForeignParent,
	}
	got := map[ref]mesh.ParentClass{}
	for r := range want {
		parent := mesh.ParentRef{Kind: r.kind, Name: "cart"}
		if r.group != omitted {
			parent.Group = &r.group
		}
		got[r] = parent.Class()
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("classes of parents (-want +got):\n%s", diff)
	}
}

func TestParentDefaults(t *testing.T) {
	var parent mesh.ParentRef
	if kind, group := parent.EffectiveKind(), parent.EffectiveGroup(); kind != "Gateway" || group != mesh.GatewayGroup {
		t.Errorf("an empty parentRef is of kind %q in group %q", kind, group)
	}
	parent = mesh.ParentRef{Group: ptr(""), Kind: "Service", Name: "cart"}
	if kind, group := parent.EffectiveKind(), parent.EffectiveGroup(); kind != "Service" || group != "" {
		t.Errorf("a Service parentRef is of kind %q in group %q", kind, group)
	}
	if got, want := parent.Service("shop"), (mesh.ServiceKey{Kind: "Service", Namespace: "shop", Name: "cart"}); got != want {
		t.Errorf("without a namespace: got %v, want %v", got, want)
	}
	parent.Namespace = "faces"
	if got, want := parent.Service("shop").String(), "Service faces/cart"; got != want {
		t.Errorf("with a namespace: got %s, want %s", got, want)
	}
}
