package apiserver

import (
	"context"
	"errors"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/internal/kube"
	"github.com/gammaguard/gammaguard/mesh"
)

// TestCacheWithoutServiceImports: the kind is not installed, which is told from an
// object that is not there.
func TestCacheWithoutServiceImports(t *testing.T) {
	cache := startCache(t, kube.Options{})
	reader, err := kube.NewReader(plane.Config, nil)
	if err != nil {
		t.Fatal(err)
	}
	key := mesh.ServiceKey{Kind: mesh.ServiceImportKind, Namespace: "default", Name: "cart"}
	_, cached := mesh.FindService(cache, key)
	_, now := reader.Service(t.Context(), key)
	for name, err := range map[string]error{"cache": cached, "reader": now} {
		if !errors.Is(err, mesh.ErrNotServed) {
			t.Errorf("%s: got %v, want %v", name, err, mesh.ErrNotServed)
		}
	}
}

// TestReader reads objects the moment they are made, and names that no object can
// have.
func TestReader(t *testing.T) {
	c := admin(t)
	ns := newNamespace(t, c, map[string]string{"team": "shop"})
	create(t, c, service(ns, "cart"))
	reader, err := kube.NewReader(plane.Config, nil)
	if err != nil {
		t.Fatal(err)
	}
	key := mesh.ServiceKey{Kind: mesh.ServiceKind, Namespace: ns, Name: "cart"}
	want := &mesh.Service{Key: key, Type: mesh.ClusterIP, Ports: []mesh.Port{{Name: "http", Number: 80, Protocol: mesh.TCP}}}
	got, err := reader.Service(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("Service (-want +got):\n%s", diff)
	}
	namespace, err := reader.Namespace(t.Context(), ns)
	if err != nil || namespace.Labels["team"] != "shop" {
		t.Errorf("Namespace: got %+v, %v", namespace, err)
	}
	for _, name := range []string{"missing", "../cart", "..", "a/b", "Cart%2f", ""} {
		_, err := reader.Service(t.Context(), mesh.ServiceKey{Kind: mesh.ServiceKind, Namespace: ns, Name: name})
		if !errors.Is(err, mesh.ErrNotFound) {
			t.Errorf("Service %q: got %v, want %v", name, err, mesh.ErrNotFound)
		}
		if has, err := reader.HasEndpoints(t.Context(), mesh.ServiceKey{Kind: mesh.ServiceKind, Namespace: ns, Name: name}); has || err != nil {
			t.Errorf("endpoints of %q: got %v, %v", name, has, err)
		}
	}
	if grants, err := reader.ReferenceGrants(t.Context(), ns); err != nil || len(grants) != 0 {
		t.Errorf("ReferenceGrants: got %v, %v", grants, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := reader.Service(ended, key); err == nil || errors.Is(err, mesh.ErrNotFound) {
		t.Errorf("a read that was cut off: got %v, want a failure", err)
	}
}
