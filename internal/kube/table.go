package kube

import (
	"reflect"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/gammaguard/gammaguard/mesh"
)

// table holds what is kept of a resource's objects, by namespace and name. Only its
// feed writes it.
type table struct {
	toolscache.ThreadSafeStore
	// comparing, if set, is called before a value is compared with the one before, which is nil
	// where there is none.
	comparing func(old, value any)
	// coming, if set, is called before a value is kept.
	coming func(value any)
	// changed is called after a value came (old is nil), changed, or went (now is
	// nil).
	changed func(old, now any, first bool)
}

// byNamespace is the index of tables.
const byNamespace = "namespace"

// newTables returns an empty table for each resource that may be served.
func (c *Cache) newTables() map[resource]*table {
	newTable := func(changed func(old, now any, first bool), indexers toolscache.Indexers) *table {
		return &table{ThreadSafeStore: toolscache.NewThreadSafeStore(indexers, toolscache.Indices{}), changed: changed}
	}
	tables := map[resource]*table{
		serviceResource:   newTable(c.serviceChanged, nil),
		serviceImports:    newTable(c.serviceChanged, nil),
		namespaceResource: newTable(c.namespaceChanged, nil),
		endpointSlices:    newTable(c.endpointsChanged, nil),
		referenceGrants: newTable(c.referenceGrantChanged, toolscache.Indexers{
			byNamespace: func(o any) ([]string, error) { return []string{o.(*referenceGrant).namespace}, nil },
		}),
	}
	for _, kind := range mesh.RouteKinds() {
		routes := newTable(c.routeChanged, toolscache.Indexers{
			byNamespace: func(o any) ([]string, error) { return []string{o.(*Route).Namespace}, nil },
		})
		routes.comparing = func(old, value any) {
			before, _ := old.(*Route)
			value.(*Route).carry(before, time.Now())
		}
		routes.coming = func(value any) { c.attachments.share(value.(*Route)) }
		tables[routeResource(kind)] = routes
	}
	return tables
}

// by returns the values with the index value, in no order.
func (t *table) by(index, value string) []any {
	values, _ := t.ByIndex(index, value) // it fails for unknown indices only
	return values
}

// put stores a value, or removes it where it is nil, and reports what changed.
func (t *table) put(key string, value any, first bool) {
	old, _ := t.Get(key)
	if t.comparing != nil && value != nil {
		t.comparing(old, value)
	}
	switch {
	case reflect.DeepEqual(old, value):
		return
	case value == nil:
		t.Delete(key)
	default:
		if t.coming != nil {
			t.coming(value)
		}
		t.Update(key, value)
	}
	t.changed(old, value, first)
}

// empty removes all objects.
func (t *table) empty() {
	for _, key := range t.ListKeys() {
		t.put(key, nil, false)
	}
}

func (c *Cache) serviceChanged(old, now any, first bool) {
	service, ok := now.(*mesh.Service)
	if !ok {
		service = old.(*mesh.Service)
	}
	change := Change{Services: []mesh.ServiceKey{service.Key}, First: first}
	if isExternalName(old) != isExternalName(now) {
		change.Renamed = service.Key
	}
	c.report(change)
}

func isExternalName(value any) bool {
	service, ok := value.(*mesh.Service)
	return ok && service.Type == mesh.ExternalName
}

func (c *Cache) namespaceChanged(old, now any, first bool) {
	namespace, ok := now.(*mesh.Namespace)
	if !ok {
		namespace = old.(*mesh.Namespace)
	}
	c.report(Change{Namespace: namespace.Name, First: first})
}

func (c *Cache) endpointsChanged(old, now any, first bool) {
	if service, ok := now.(mesh.ServiceKey); ok && c.endpoints.add(service, 1) == 1 {
		c.report(Change{Endpoints: service, First: first})
	}
	if service, ok := old.(mesh.ServiceKey); ok && c.endpoints.add(service, -1) == 0 {
		c.report(Change{Endpoints: service, First: first})
	}
}

func (c *Cache) referenceGrantChanged(old, now any, first bool) {
	grant, ok := now.(*referenceGrant)
	if !ok {
		grant = old.(*referenceGrant)
	}
	c.report(Change{Grants: grant.namespace, First: first})
}

func (c *Cache) routeChanged(old, now any, first bool) {
	before, _ := old.(*Route)
	route, _ := now.(*Route)
	c.attachments.replace(before, route)
	c.backends.replace(before, route)
	change := Change{Services: appendServices(before.Services(), route), First: first}
	switch {
	case route == nil:
		route = before
	case before != nil:
		change.StatusOnly = before.UID == route.UID && before.Generation == route.Generation && before.Ignores == route.Ignores
	}
	change.Route = route.Key()
	c.report(change)
}

// item is what is kept of an object, as the lister hands it to the reflector.
type item struct {
	mesh.ObjectMeta
	value any // nil where nothing is worth keeping
}

func (i *item) key() string { return tableKey(i.Namespace, i.Name) }

// tableKey returns the key of an object in its table.
func tableKey(namespace, name string) string {
	return toolscache.ObjectName{Namespace: namespace, Name: name}.String()
}

// GetObjectKind implements runtime.Object.
func (i *item) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject implements runtime.Object. What is kept is never changed.
func (i *item) DeepCopyObject() runtime.Object { return i }

// GetObjectMeta implements metav1.ObjectMetaAccessor: reflectors ask for the version.
func (i *item) GetObjectMeta() metav1.Object {
	return &metav1.ObjectMeta{Namespace: i.Namespace, Name: i.Name, ResourceVersion: i.ResourceVersion}
}

// referenceGrant is a ReferenceGrant and its namespace.
type referenceGrant struct {
	namespace string
	mesh.ReferenceGrant
}

// decode returns what is kept of an object of the resource. No stored object keeps
// a list or a watch from being read: one that cannot be read counts as absent.
func (c *Cache) decode(r resource, text jsontext.Value) (*item, error) {
	i, err := c.reduce(r, text)
	if err == nil {
		return i, nil
	}
	i, metaErr := unreduced(text)
	if metaErr == nil {
		c.unreadable(r.kind, i.ObjectMeta, err)
	}
	return i, metaErr
}

// unreduced returns an object without a value.
func unreduced(text jsontext.Value) (*item, error) {
	var o struct {
		Metadata mesh.ObjectMeta `json:"metadata"`
	}
	err := mesh.Decode(text, &o)
	return &item{ObjectMeta: o.Metadata}, err
}

func (c *Cache) unreadable(kind string, meta mesh.ObjectMeta, err error) {
	if c.options.Unreadable != nil {
		c.options.Unreadable(kind, meta.Namespace, meta.Name, err)
	}
}

func (c *Cache) reduce(r resource, text jsontext.Value) (*item, error) {
	switch r {
	case serviceResource, serviceImports:
		var o mesh.ServiceObject
		err := mesh.Decode(text, &o)
		return &item{o.Metadata.ObjectMeta, o.Reduce(r.kind)}, err
	case namespaceResource:
		var o mesh.NamespaceObject
		err := mesh.Decode(text, &o)
		return &item{o.Metadata.ObjectMeta, o.Reduce()}, err
	case endpointSlices:
		var o mesh.EndpointSliceObject
		err := mesh.Decode(text, &o)
		if service := o.Reduce(); service != (mesh.ServiceKey{}) {
			return &item{o.Metadata.ObjectMeta, service}, err
		}
		return &item{ObjectMeta: o.Metadata.ObjectMeta}, err
	case referenceGrants:
		var o mesh.ReferenceGrantObject
		err := mesh.Decode(text, &o)
		return &item{o.Metadata.ObjectMeta, &referenceGrant{o.Metadata.Namespace, o.Reduce()}}, err
	}
	return c.reduceRoute(mesh.RouteKind(r.kind), text)
}
