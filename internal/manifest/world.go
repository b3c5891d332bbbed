package manifest

import (
	"iter"
	"maps"
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

// Do implements mesh.Reader. Where the set has some ReferenceGrants of a namespace, they
// count as all. Unless it is complete, it cannot know that a Service has no endpoints.
func (s *Set) Do(read mesh.Read) mesh.Answer {
	key := read.Service
	switch read.Kind {
	case mesh.ReadNamespace:
		if namespace := s.namespaces[read.Namespace]; namespace != nil {
			return mesh.Answer{Namespace: namespace}
		}
	case mesh.ReadService:
		switch service := s.services[key]; {
		case service != nil:
			return mesh.Answer{Service: service}
		case key.Kind == mesh.ServiceImportKind && s.options.NoServiceImports:
			return mesh.Answer{Err: mesh.ErrNotServed}
		}
	case mesh.ReadEndpoints:
		return s.endpoints(key)
	case mesh.ReadReferenceGrants:
		return s.referenceGrants(read.Namespace)
	case mesh.ReadRoutes:
		return mesh.Answer{AttachedRoutes: mesh.InNamespace(s.attached[key], read.Namespace)}
	case mesh.ReadObject:
		return mesh.Answer{Err: s.object(read.Object())}
	}
	return mesh.Answer{Err: s.absent()}
}

// Has yields the reads of namespaces, Services, and ReferenceGrants that objects of the set answer.
func (s *Set) Has() iter.Seq[mesh.Read] {
	return func(yield func(mesh.Read) bool) {
		for name := range s.namespaces {
			if !yield(mesh.Read{Kind: mesh.ReadNamespace, Namespace: name}) {
				return
			}
		}
		for key := range s.services {
			if !yield(mesh.Read{Kind: mesh.ReadService, Service: key}) {
				return
			}
		}
		for key := range s.grants {
			if !yield(mesh.Read{Kind: mesh.ReadReferenceGrants, Namespace: key.Namespace}) {
				return
			}
		}
	}
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

// NearestService returns the Service, or ServiceImport, of the set that is probably meant by a key that it lacks: that with a similar
// name in the namespace, or in any if it is empty, or with the same name in a namespace of a similar name.
func (s *Set) NearestService(key mesh.ServiceKey) (near mesh.ServiceKey, ok bool) {
	names, namespaces := map[string]mesh.ServiceKey{}, map[string]mesh.ServiceKey{}
	for k := range s.services {
		switch {
		case k.Kind != key.Kind:
		case key.Namespace == "" || k.Namespace == key.Namespace:
			names[k.Name] = k
		case k.Name == key.Name:
			namespaces[k.Namespace] = k
		}
	}
	if near, ok = names[mesh.Nearest(key.Name, slices.Sorted(maps.Keys(names)))]; !ok {
		near, ok = namespaces[mesh.Nearest(key.Namespace, slices.Sorted(maps.Keys(namespaces)))]
	}
	return near, ok
}

// endpoints answers whether the Service has any. Of a ServiceImport that is unknown:
// implementations need not keep EndpointSlices for it (GEP-1748).
func (s *Set) endpoints(key mesh.ServiceKey) mesh.Answer {
	if has := s.filled[key] > 0; has || s.options.Complete && key.Kind == mesh.ServiceKind {
		return mesh.Answer{HasEndpoints: has}
	}
	return mesh.Answer{Err: mesh.ErrUnknown}
}

func (s *Set) referenceGrants(namespace string) (answer mesh.Answer) {
	for key, grant := range s.grants {
		if key.Namespace == namespace {
			answer.ReferenceGrants = append(answer.ReferenceGrants, grant)
		}
	}
	if len(answer.ReferenceGrants) == 0 && !s.options.Complete {
		answer.Err = mesh.ErrUnknown
	}
	return answer
}

// object reports whether an object of another implementation is in the set.
func (s *Set) object(key mesh.ObjectKey) error {
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
