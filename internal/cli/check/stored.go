package check

import (
	"errors"
	"fmt"

	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/mesh"
)

// Stored is a cluster as a mesh.Reader, with the routes that were read from it.
type Stored struct {
	Cluster
	routes *manifest.Set
}

var _ mesh.Reader = (*Stored)(nil)

// NewStored returns the cluster with these routes, whose parentRefs the profile of the
// mesh classifies.
func NewStored(cluster Cluster, routes []*manifest.Object, profile *mesh.Profile) (*Stored, error) {
	s := &Stored{cluster, manifest.NewSet(manifest.Options{Mesh: profile, Complete: true})}
	for _, route := range routes {
		if err := s.routes.Put(route); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Do implements mesh.Reader.
func (s *Stored) Do(read mesh.Read) mesh.Answer {
	if read.Kind == mesh.ReadRoutes {
		return s.routes.Do(read)
	}
	return s.Cluster.Do(read)
}

// NamespaceExists returns an error if the namespace is known not to exist; none for the empty name, which is all.
func NamespaceExists(reader mesh.Reader, name string) error {
	if name == "" {
		return nil
	}
	if _, err := mesh.FindNamespace(reader, name); errors.Is(err, mesh.ErrNotFound) {
		return fmt.Errorf("namespace %s does not exist", name)
	}
	return nil
}
