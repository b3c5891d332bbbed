package kube

import (
	"testing"

	"k8s.io/client-go/kubernetes/scheme"

	"github.com/gammaguard/gammaguard/mesh"
)

// TestKubernetesGroups: no group of Kubernetes is taken for that of a mesh's implementation.
func TestKubernetesGroups(t *testing.T) {
	for _, version := range scheme.Scheme.PrioritizedVersionsAllGroups() {
		if ref := (mesh.BackendRef{Group: version.Group, Kind: "Pod"}); !ref.WrongKind(nil) {
			t.Errorf("a backend of group %q may be one", version.Group)
		}
	}
}
