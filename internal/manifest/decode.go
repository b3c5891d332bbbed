package manifest

import (
	"fmt"

	"github.com/gammaguard/gammaguard/mesh"
)

// decode reads an object that is no route. Its metadata get the object's key, which
// has the default namespace.
func (o *Object) decode(into any, meta *mesh.ObjectMeta) error {
	if err := mesh.Decode(o.JSON, into); err != nil {
		return fmt.Errorf("not a %s: %w", o.Key.Kind, err)
	}
	meta.Namespace, meta.Name = o.Key.Namespace, o.Key.Name
	return nil
}

func (s *Set) putService(o *Object) error {
	var from mesh.ServiceObject
	if err := o.decode(&from, &from.Metadata.ObjectMeta); err != nil {
		return err
	}
	service := from.Reduce(o.Key.Kind)
	s.services[service.Key] = service
	return nil
}

func (s *Set) putNamespace(o *Object) error {
	var from mesh.NamespaceObject
	if err := o.decode(&from, &from.Metadata.ObjectMeta); err != nil {
		return err
	}
	namespace := from.Reduce()
	s.namespaces[namespace.Name] = namespace
	return nil
}

func (s *Set) putEndpointSlice(o *Object) error {
	var from mesh.EndpointSliceObject
	if err := o.decode(&from, &from.Metadata.ObjectMeta); err != nil {
		return err
	}
	s.putSlice(o.Key, from.Reduce())
	return nil
}

func (s *Set) putReferenceGrant(o *Object) error {
	var from mesh.ReferenceGrantObject
	if err := o.decode(&from, &from.Metadata.ObjectMeta); err != nil {
		return err
	}
	s.grants[o.Key] = from.Reduce()
	return nil
}
