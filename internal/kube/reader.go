package kube

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/gammaguard/gammaguard/mesh"
)

// MaxConcurrentReads bounds the live reads that one Reader has under way at once.
// Further reads wait for their turn, or for the end of their context.
const MaxConcurrentReads = 32

// Observer is called after each live read: the resource's kind, and why it failed; nil
// where the object was found, mesh.ErrNotFound where it is not there.
type Observer func(kind string, err error)

// Reader reads single objects from the API server as they are now. A read that
// fails, or runs out of time, is an error that is never mesh.ErrNotFound. It is
// safe for concurrent use.
type Reader struct {
	// Mesh is the profile that classifies the parentRefs of AttachedRoutes; nil for the
	// specification. It is not to be changed once reads are made.
	Mesh *mesh.Profile

	client    *client
	discovery discovery
	observe   Observer
	slots     chan struct{}

	mu       sync.Mutex
	versions served // of custom resources, as last discovered
}

// NewReader returns a reader; observe may be nil.
func NewReader(config *rest.Config, observe Observer) (*Reader, error) {
	client, err := newClient(config)
	if err != nil {
		return nil, err
	}
	if observe == nil {
		observe = func(string, error) {}
	}
	return &Reader{client: client, discovery: discovery{client: client, turn: make(chan struct{}, 1)}, observe: observe, slots: make(chan struct{}, MaxConcurrentReads), versions: served{}}, nil
}

var _ Source = (*Reader)(nil)

// Do implements Source.
func (r *Reader) Do(ctx context.Context, read mesh.Read) (answer mesh.Answer) {
	switch read.Kind {
	case mesh.ReadNamespace:
		answer.Namespace, answer.Err = r.Namespace(ctx, read.Namespace)
	case mesh.ReadService:
		answer.Service, answer.Err = r.Service(ctx, read.Service)
	case mesh.ReadEndpoints:
		answer.HasEndpoints, answer.Err = r.HasEndpoints(ctx, read.Service)
	case mesh.ReadReferenceGrants:
		answer.ReferenceGrants, answer.Err = r.ReferenceGrants(ctx, read.Namespace)
	case mesh.ReadRoutes:
		answer.AttachedRoutes, answer.Err = r.AttachedRoutes(ctx, read.Service, read.Namespace)
	case mesh.ReadObject:
		answer.Err = r.Object(ctx, read.Object())
	default:
		answer.Err = fmt.Errorf("unknown kind of read: %d", read.Kind)
	}
	return answer
}

// Service reads a Service or ServiceImport.
func (r *Reader) Service(ctx context.Context, key mesh.ServiceKey) (*mesh.Service, error) {
	resource := serviceResource
	if key.Kind == mesh.ServiceImportKind {
		resource = serviceImports
	}
	var object mesh.ServiceObject
	if err := r.get(ctx, resource, key.Namespace, key.Name, &object); err != nil {
		return nil, err
	}
	return object.Reduce(key.Kind), nil
}

// Namespace reads a Namespace.
func (r *Reader) Namespace(ctx context.Context, name string) (*mesh.Namespace, error) {
	var object mesh.NamespaceObject
	if err := r.get(ctx, namespaceResource, "", name, &object); err != nil {
		return nil, err
	}
	return object.Reduce(), nil
}

// HasEndpoints reports whether any EndpointSlice of the Service has an endpoint.
func (r *Reader) HasEndpoints(ctx context.Context, key mesh.ServiceKey) (bool, error) {
	if key.Kind != mesh.ServiceKind {
		return false, mesh.ErrUnknown
	}
	if !nameable(key.Namespace, key.Name) || len(validation.IsValidLabelValue(key.Name)) > 0 {
		return false, nil
	}
	options := &metav1.ListOptions{LabelSelector: serviceNameLabel + "=" + key.Name, Limit: 100}
	for {
		var found bool
		list, err := r.list(ctx, endpointSlices, key.Namespace, options, func(item jsontext.Value) error {
			var slice mesh.EndpointSliceObject
			err := mesh.Decode(item, &slice)
			found = found || len(slice.Endpoints) > 0
			return err
		})
		if err != nil || found {
			return found, err
		}
		if options.Continue = list.Continue; options.Continue == "" {
			return false, nil
		}
	}
}

// ReferenceGrants reads the ReferenceGrants of the namespace.
func (r *Reader) ReferenceGrants(ctx context.Context, namespace string) ([]mesh.ReferenceGrant, error) {
	if !nameable(namespace) {
		return nil, nil
	}
	var grants []mesh.ReferenceGrant
	_, err := r.list(ctx, referenceGrants, namespace, &metav1.ListOptions{}, func(item jsontext.Value) error {
		var grant mesh.ReferenceGrantObject
		err := mesh.Decode(item, &grant)
		grants = append(grants, grant.Reduce())
		return err
	})
	if errors.Is(err, mesh.ErrNotServed) {
		return nil, nil
	}
	return grants, err
}

func (r *Reader) get(ctx context.Context, res resource, namespace, name string, into object) error {
	names := []string{name}
	if namespace != "" {
		names = append(names, namespace)
	}
	if !nameable(names...) || res != namespaceResource && namespace == "" {
		return mesh.ErrNotFound
	}
	err := r.read(ctx, res, func(version string) error {
		return r.client.get(ctx, res, version, namespace, name, into)
	})
	if err != nil && !errors.Is(err, mesh.ErrNotFound) {
		return fmt.Errorf("read %s %s: %w", res.kind, toolscache.ObjectName{Namespace: namespace, Name: name}, err)
	}
	return err
}

func (r *Reader) list(ctx context.Context, res resource, namespace string, options *metav1.ListOptions, each func(jsontext.Value) error) (list metav1.ListMeta, err error) {
	err = r.read(ctx, res, func(version string) (err error) {
		list, err = r.client.list(ctx, res, version, namespace, options, each)
		return err
	})
	if err != nil && !errors.Is(err, mesh.ErrNotFound) {
		where := "all namespaces"
		if namespace != "" {
			where = "namespace " + namespace
		}
		err = fmt.Errorf("list %ss in %s: %w", res.kind, where, err)
	}
	return list, err
}

// read has f read the resource in the version that is served, when it is its turn.
func (r *Reader) read(ctx context.Context, res resource, f func(version string) error) (err error) {
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		r.observe(res.kind, ctx.Err())
		return fmt.Errorf("waiting for %d other reads: %w", MaxConcurrentReads, ctx.Err())
	}
	defer func() { r.observe(res.kind, err) }()
	version, err := r.version(ctx, res)
	if err != nil {
		return err
	}
	err = f(version)
	if Unserved(err) {
		// Another version may be served by now, or the kind not at all.
		r.forget(res)
		if version, err = r.version(ctx, res); err != nil {
			return err
		}
		err = f(version)
	}
	if apierrors.IsNotFound(err) && !Unserved(err) {
		return mesh.ErrNotFound
	}
	return err
}

// version returns the version to read the resource in. Only that a kind is served
// is remembered, never that it is not.
func (r *Reader) version(ctx context.Context, res resource) (string, error) {
	if all := versions(res.group); len(all) == 1 {
		return all[0], nil
	}
	r.mu.Lock()
	version := r.versions[res]
	r.mu.Unlock()
	if version != "" {
		return version, nil
	}
	found := served{}
	if err := r.client.discoverGroup(ctx, res.group, []resource{res}, found); err != nil {
		return "", fmt.Errorf("ask whether %s is served: %w", res, err)
	}
	if found[res] == "" {
		return "", mesh.ErrNotServed
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.versions[res] = found[res]
	return found[res], nil
}

func (r *Reader) forget(res resource) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.versions, res)
}

// Unserved reports whether it is the path that was not found, not an object: the version,
// or the kind, is not served.
func Unserved(err error) bool {
	return apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// nameable reports whether objects can have these names at all. The Gateway API lets
// any text stand for a name, "../x" too, and it must not become part of a path.
func nameable(names ...string) bool {
	for _, name := range names {
		if name == "" || len(content.IsPathSegmentName(name)) > 0 {
			return false
		}
	}
	return true
}
