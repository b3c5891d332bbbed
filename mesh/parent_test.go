package mesh_test

import (
	"reflect"
	"testing"

	"github.com/gammaguard/gammaguard/mesh"
)

func TestParentClass(t *testing.T) {
	const omitted = "(omitted)"
	want := map[mesh.ParentClass]map[string][]string{ // groups by kind
		mesh.GatewayParent: {
			"":            {omitted},
			"Gateway":     {omitted, "gateway.networking.k8s.io"},
			"ListenerSet": {omitted, "gateway.networking.k8s.io"},
		},
		mesh.ImplementationSpecificParent: {
			"Gateway":       {"", "networking.istio.io"},
			"XListenerSet":  {"gateway.networking.x-k8s.io"},
			"Service":       {"serving.knative.dev", "serving.knative.dev/v1", "CORE"},
			"service":       {"serving.knative.dev"},
			"":              {""},
			"ServiceImport": {"submariner.io"},
			"ServiceEntry":  {"networking.istio.io"},
			"MeshService":   {"kuma.io"},
			"Pod":           {""},
		},
		mesh.MeshParent: {
			"Service":       {""},
			"ServiceImport": {"multicluster.x-k8s.io"},
		},
		mesh.LookAlikeParent: {
			"service":       {"", "multicluster.x-k8s.io"},
			"SERVICE":       {"core"},
			"ServiceIMPORT": {omitted, "multicluster.x-k8s.io"},
			"Service":       {omitted, "core", "core/v1", "v1", "/v1", "gateway.networking.k8s.io", "gateway.networking.k8s.io/v1", "multicluster.x-k8s.io", "multicluster.x-k8s.io/v1alpha1"},
			"ServiceImport": {omitted, "", "core", "gateway.networking.k8s.io", "multicluster.x-k8s.io/v1"},
		},
	}
	for class, kinds := range want {
		for kind, groups := range kinds {
			for _, group := range groups {
				parent := mesh.ParentRef{Kind: kind, Name: "cart"}
				if group != omitted {
					parent.Group = &group
				}
				if got := parent.Class(); got != class {
					t.Errorf("parentRef of kind %q in group %q: got class %v, want %v", kind, group, got, class)
				}
			}
		}
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

// TestParentRefSame: parentRefs that differ in any field are not the same.
func TestParentRefSame(t *testing.T) {
	core, gateway := "", mesh.GatewayGroup
	other := mesh.ParentRef{Group: &core, Kind: "K", Namespace: "ns", Name: "n", SectionName: "s", Port: 1}
	fields := reflect.TypeFor[mesh.ParentRef]()
	for i := range fields.NumField() {
		x := mesh.ParentRef{}
		reflect.ValueOf(&x).Elem().Field(i).Set(reflect.ValueOf(other).Field(i))
		if x.Same(&mesh.ParentRef{}) || !x.Same(&x) {
			t.Errorf("%s does not count", fields.Field(i).Name)
		}
	}
	if written := (&mesh.ParentRef{Group: &gateway}); written.Same(&mesh.ParentRef{}) {
		t.Error("a group that is written is taken for one that is left out")
	}
	if copied := gateway; !(&mesh.ParentRef{Group: &gateway}).Same(&mesh.ParentRef{Group: &copied}) {
		t.Error("equal groups are not the same")
	}
}
