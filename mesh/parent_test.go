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
				if got := parent.Class(nil); got != class {
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

// TestParentClassOfMesh: a profile makes mesh parents of the look-alikes that the mesh takes
// for Services, and of no others.
func TestParentClassOfMesh(t *testing.T) {
	linkerd := mesh.FindProfile(mesh.Linkerd)
	coreOnly := &mesh.Profile{CoreGroup: mesh.Fact[bool]{Value: true}}
	anyCase := &mesh.Profile{AnyCase: mesh.Fact[bool]{Value: true}}
	imports := &mesh.Profile{AnyCase: mesh.Fact[bool]{Value: true}, ServiceImports: mesh.Fact[bool]{Value: true}}
	const omitted = "(omitted)"
	for _, test := range []struct {
		profile     *mesh.Profile
		kind, group string
		want        mesh.ParentClass
	}{
		{linkerd, "Service", "", mesh.MeshParent},
		{linkerd, "Service", "core", mesh.MeshParent},
		{linkerd, "service", "", mesh.MeshParent},
		{linkerd, "SERVICE", "core", mesh.MeshParent},
		{linkerd, "Service", omitted, mesh.LookAlikeParent},
		{linkerd, "Service", "v1", mesh.LookAlikeParent},
		{linkerd, "Service", "core/v1", mesh.LookAlikeParent},
		{linkerd, "ServiceImport", "core", mesh.LookAlikeParent},
		{linkerd, "serviceimport", mesh.MulticlusterGroup, mesh.LookAlikeParent},
		{linkerd, "ServiceImport", mesh.MulticlusterGroup, mesh.MeshParent},
		{linkerd, "Gateway", omitted, mesh.GatewayParent},
		{linkerd, "EgressNetwork", "policy.linkerd.io", mesh.ImplementationSpecificParent},
		{coreOnly, "Service", "core", mesh.MeshParent},
		{coreOnly, "service", "core", mesh.LookAlikeParent},
		{anyCase, "service", "", mesh.MeshParent},
		{anyCase, "Service", "core", mesh.LookAlikeParent},
		{imports, "serviceImport", mesh.MulticlusterGroup, mesh.MeshParent},
		{mesh.FindProfile(mesh.Istio), "Service", "core", mesh.LookAlikeParent},
		{nil, "Service", "core", mesh.LookAlikeParent},
	} {
		gateway := mesh.ParentRef{Name: "edge"}
		ref := mesh.ParentRef{Kind: test.kind, Name: "cart"}
		if test.group != omitted {
			ref.Group = &test.group
		}
		if got := ref.Class(test.profile); got != test.want {
			t.Errorf("kind %s in group %q: got class %v, want %v", test.kind, test.group, got, test.want)
		}
		route := &mesh.Route{Kind: mesh.HTTPRoute, Spec: mesh.RouteSpec{ParentRefs: []mesh.ParentRef{gateway, ref}}}
		attached := route.Attached(test.profile)
		if got := attached.IsMeshParent(1); got != (test.want == mesh.MeshParent) || attached.IsMeshParent(0) {
			t.Errorf("kind %s in group %q: IsMeshParent is %v for others than for Class", test.kind, test.group, got)
		}
		if got := route.HasMeshParent(test.profile); got != (test.want == mesh.MeshParent) {
			t.Errorf("kind %s in group %q: HasMeshParent is %v", test.kind, test.group, got)
		}
	}
}
