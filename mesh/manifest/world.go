package manifest

import (
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/mesh"
)

// absent is the answer for what is not in the set.
func (s *Set) absent() error {
	if s.options.Complete {
		return mesh.ErrNotFound
	}
	return mesh.ErrUnknown
}

// Namespace returns a namespace of the set.
func (s *Set) Namespace(name string) (*mesh.Namespace, error) {
	if namespace := s.namespaces[name]; namespace != nil {
		return namespace, nil
	}
	return nil, s.absent()
}

// Service returns a Service or ServiceImport of the set.
func (s *Set) Service(key mesh.ServiceKey) (*mesh.Service, error) {
	if service := s.services[key]; service != nil {
		return service, nil
	}
	if key.Kind == mesh.ServiceImportKind && s.options.NoServiceImports {
		return nil, mesh.ErrNotServed
	}
	return nil, s.absent()
}

// ServicesNamed returns the Services, or ServiceImports, of the set with that name,
// by namespace.
func (s *Set) ServicesNamed(kind, name string) []mesh.ServiceKey {
	var keys []mesh.ServiceKey
	for key := range s.services {
		if key.Kind == kind && key.Name == name {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b mesh.ServiceKey) int { return strings.Compare(a.Namespace, b.Namespace) })
	return keys
}

// HasEndpoints reports whether an EndpointSlice of the set is of the Service and has
// an endpoint. Unless the set is complete, it cannot know of others. Whether a
// ServiceImport has endpoints is unknown: implementations need not keep
// EndpointSlices for it (GEP-1748).
func (s *Set) HasEndpoints(key mesh.ServiceKey) (bool, error) {
	switch {
	case s.filled[key] > 0:
		return true, nil
	case s.options.Complete && key.Kind == mesh.ServiceKind:
		return false, nil
	}
	return false, mesh.ErrUnknown
}

// ReferenceGrants returns the set's ReferenceGrants in a namespace. Where there
// are some, they count as all.
func (s *Set) ReferenceGrants(namespace string) ([]mesh.ReferenceGrant, error) {
	var grants []mesh.ReferenceGrant
	for key, grant := range s.grants {
		if key.Namespace == namespace {
			grants = append(grants, grant)
		}
	}
	if len(grants) == 0 && !s.options.Complete {
		return nil, mesh.ErrUnknown
	}
	return grants, nil
}

// AttachedRoutes returns the set's routes in the namespace, or in all if it is
// empty, with a parentRef to the Service.
func (s *Set) AttachedRoutes(key mesh.ServiceKey, namespace string) ([]*mesh.AttachedRoute, error) {
	return mesh.InNamespace(s.attached[key], namespace), nil
}

// Object reports whether an object of another implementation is in the set.
func (s *Set) Object(key mesh.ObjectKey) error {
	switch {
	case s.others[Key(key)]:
		return nil
	case s.options.Serves != nil && !s.options.Serves(key.Group, key.Kind):
		return mesh.ErrNotServed
	case key.Name == "" && s.options.Serves != nil:
		return nil
	case key.Name == "":
		return mesh.ErrUnknown
	}
	return s.absent()
}
