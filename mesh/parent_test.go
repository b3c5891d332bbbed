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
		{"Gateway", ""}:                                 mesh.ImplementationSpecificParent,
		{"Gateway", "networking.istio.io"}:              mesh.ImplementationSpecificParent,
		{"XListenerSet", "gateway.networking.x-k8s.io"}: mesh.ImplementationSpecificParent,

		{"Service", ""}:                                mesh.MeshParent,
		{"Service", omitted}:                           mesh.WrongGroupParent,
		{"Service", "core"}:                            mesh.WrongGroupParent,
		{"Service", "core/v1"}:                         mesh.WrongGroupParent,
		{"Service", "v1"}:                              mesh.WrongGroupParent,
		{"Service", "/v1"}:                             mesh.WrongGroupParent,
		{"Service", "gateway.networking.k8s.io"}:       mesh.WrongGroupParent,
		{"Service", "gateway.networking.k8s.io/v1"}:    mesh.WrongGroupParent,
		{"Service", "multicluster.x-k8s.io"}:           mesh.WrongGroupParent,
		{"Service", "multicluster.x-k8s.io/v1alpha1"}:  mesh.WrongGroupParent,
		{"Service", "serving.knative.dev"}:             mesh.ImplementationSpecificParent,
		{"Service", "serving.knative.dev/v1"}:          mesh.ImplementationSpecificParent,
		{"service", ""}:                                mesh.ImplementationSpecificParent,
		{"", ""}:                                       mesh.ImplementationSpecificParent,
		{"ServiceImport", "multicluster.x-k8s.io"}:     mesh.MeshParent,
		{"ServiceImport", omitted}:                     mesh.WrongGroupParent,
		{"ServiceImport", ""}:                          mesh.WrongGroupParent,
		{"ServiceImport", "core"}:                      mesh.WrongGroupParent,
		{"ServiceImport", "gateway.networking.k8s.io"}: mesh.WrongGroupParent,
		{"ServiceImport", "multicluster.x-k8s.io/v1"}:  mesh.WrongGroupParent,
		{"ServiceImport", "submariner.io"}:             mesh.ImplementationSpecificParent,
		{"ServiceEntry", "networking.istio.io"}:        mesh.ImplementationSpecificParent,
		{"MeshService", "kuma.io"}:                     mesh.ImplementationSpecificParent,
		{"Pod", ""}:                                    mesh.ImplementationSpecificParent,
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
