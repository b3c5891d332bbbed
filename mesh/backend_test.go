package mesh_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/mesh"
)

func TestBackends(t *testing.T) {
	route, err := mesh.DecodeRoute([]byte(`{"kind": "HTTPRoute", "spec": {"rules": [
		{"filters": [{"type": "CORS"}, {"requestMirror": {"backendRef": {"name": "rule-mirror", "port": 80}}}],
		 "backendRefs": [
			{"name": "first", "port": 80, "weight": 0},
			{"name": "second", "filters": [{"requestMirror": {"backendRef": {"name": "own-mirror"}}}]}]},
		{},
		{"backendRefs": [{"group": "storage.example", "kind": "Bucket", "name": "third"}]}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	type place struct {
		Path, Name string
		Rule       int
	}
	var got []place
	for backend := range route.Backends() {
		got = append(got, place{backend.Path(), backend.Ref.Name, backend.Rule})
	}
	want := []place{
		{"spec.rules[0].filters[1].requestMirror.backendRef", "rule-mirror", 0},
		{"spec.rules[0].backendRefs[0]", "first", 0},
		{"spec.rules[0].backendRefs[1]", "second", 0},
		{"spec.rules[0].backendRefs[1].filters[0].requestMirror.backendRef", "own-mirror", 0},
		{"spec.rules[2].backendRefs[0]", "third", 2},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("backends (-want +got):\n%s", diff)
	}
	for stop := range want {
		seen := 0
		for range route.Backends() {
			if seen++; seen > stop {
				break
			}
		}
		if seen != stop+1 {
			t.Errorf("a loop that ends after %d backends saw %d", stop+1, seen)
		}
	}
}

func TestBackendRefIsService(t *testing.T) {
	type class struct{ service, misgrouped bool }
	for want, refs := range map[class][]mesh.BackendRef{
		{service: true}: {{}, {Kind: "Service"}, {Group: "multicluster.x-k8s.io", Kind: "ServiceImport"}},
		{misgrouped: true}: {
			{Group: "core", Kind: "Service"},
			{Group: "core"},
			{Group: "v1", Kind: "Service"},
			{Group: "gateway.networking.k8s.io", Kind: "Service"},
			{Group: "multicluster.x-k8s.io"},
			{Kind: "ServiceImport"},
			{Group: "core", Kind: "ServiceImport"},
		},
		{}: {{Group: "serving.knative.dev", Kind: "Service"}, {Group: "storage.example", Kind: "Bucket"}},
	} {
		for _, ref := range refs {
			if got := (class{ref.IsService(nil), ref.WrongGroup(nil)}); got != want {
				t.Errorf("backendRef of kind %q in group %q: got %+v, want %+v", ref.Kind, ref.Group, got, want)
			}
			// Linkerd takes the group core, and is otherwise as strict.
			core := ref.Group == "core" && ref.Kind != "ServiceImport"
			linkerd := mesh.FindProfile(mesh.Linkerd)
			if got := (class{ref.IsService(linkerd), ref.WrongGroup(linkerd)}); got != (class{want.service || core, want.misgrouped && !core}) {
				t.Errorf("Linkerd, backendRef of kind %q in group %q: got %+v", ref.Kind, ref.Group, got)
			}
		}
	}
}

func TestBackendRefService(t *testing.T) {
	for want, ref := range map[string]mesh.BackendRef{
		"Service shop/cart":        {Name: "cart"},
		"Service faces/smiley":     {Kind: "Service", Namespace: "faces", Name: "smiley"},
		"ServiceImport shop/cards": {Group: "multicluster.x-k8s.io", Kind: "ServiceImport", Name: "cards"},
	} {
		if got := ref.Service("shop").String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
