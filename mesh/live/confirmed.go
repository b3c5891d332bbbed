package live

import (
	"context"
	"errors"
	"sync"

	"github.com/gammaguard/gammaguard/mesh"
)

// Ground is an object that a decision rests on: a Service or a namespace.
type Ground struct {
	Service   mesh.ServiceKey
	Namespace string
}

// Source reads objects as they are now. Errors are those of a mesh.World; all but
// mesh.ErrNotFound, and mesh.ErrUnknown of HasEndpoints, are failures. A Reader is
// one.
type Source interface {
	Service(ctx context.Context, key mesh.ServiceKey) (*mesh.Service, error)
	Namespace(ctx context.Context, name string) (*mesh.Namespace, error)
	HasEndpoints(ctx context.Context, key mesh.ServiceKey) (bool, error)
	ReferenceGrants(ctx context.Context, namespace string) ([]mesh.ReferenceGrant, error)
}

var _ Source = (*Reader)(nil)

// Confirmed is a mesh.World for one decision. What Read has read is answered as it
// is now, with the Service's EndpointSlices and the namespace's ReferenceGrants;
// all else, which routes are attached included, as the cache has it. It is not
// safe for concurrent use.
type Confirmed struct {
	ctx   context.Context // a World has no contexts: this one lives as long as its decision
	now   Source
	cache mesh.World

	services   map[mesh.ServiceKey]answer[*mesh.Service]
	namespaces map[string]answer[*mesh.Namespace]
	endpoints  map[mesh.ServiceKey]answer[bool]
	grants     map[string]answer[[]mesh.ReferenceGrant]
}

// answer is what a live read returned; its error is never a failure.
type answer[T any] struct {
	value T
	err   error
}

var _ mesh.World = (*Confirmed)(nil)

// Confirm returns a World that answers from the cache until Read is called.
func (r *Reader) Confirm(ctx context.Context, cache mesh.World) *Confirmed {
	return Confirm(ctx, r, cache)
}

// Confirm returns a World that answers from the cache until Read is called.
func Confirm(ctx context.Context, now Source, cache mesh.World) *Confirmed {
	return &Confirmed{
		ctx: ctx, now: now, cache: cache,
		services:   map[mesh.ServiceKey]answer[*mesh.Service]{},
		namespaces: map[string]answer[*mesh.Namespace]{},
		endpoints:  map[mesh.ServiceKey]answer[bool]{},
		grants:     map[string]answer[[]mesh.ReferenceGrant]{},
	}
}

// Read reads those of the grounds live that were not read before, side by side,
// and returns how many these were. An error is a failure: it says which reads
// failed, and why.
func (c *Confirmed) Read(grounds []Ground) (fresh int, err error) {
	var reads []func()
	var keep []func() error
	for _, ground := range grounds {
		if key := ground.Service; key != (mesh.ServiceKey{}) && !has(c.services, key) {
			keep = append(keep, later(&reads, c.services, key, func() (*mesh.Service, error) { return c.now.Service(c.ctx, key) }))
		}
		if name := ground.Namespace; name != "" && !has(c.namespaces, name) {
			keep = append(keep, later(&reads, c.namespaces, name, func() (*mesh.Namespace, error) { return c.now.Namespace(c.ctx, name) }))
		}
	}
	// One of them is for this goroutine, which would else only wait.
	var wg sync.WaitGroup
	for i, read := range reads {
		if i == len(reads)-1 {
			read()
		} else {
			wg.Go(read)
		}
	}
	wg.Wait()
	for _, f := range keep {
		if failure := f(); failure != nil {
			err = errors.Join(err, failure)
		}
	}
	return len(keep), err
}

// later adds the read to those to be done. Once it has ended, the returned function
// stores its answer, or returns why it failed.
func later[K comparable, V any](reads *[]func(), answers map[K]answer[V], key K, read func() (V, error)) func() error {
	var a answer[V]
	answers[key] = a // so that it is not started twice
	*reads = append(*reads, func() { a.value, a.err = read() })
	return func() error {
		if a.err != nil && !errors.Is(a.err, mesh.ErrNotFound) {
			delete(answers, key)
			return a.err
		}
		answers[key] = a
		return nil
	}
}

func has[K comparable, V any](m map[K]V, key K) bool {
	_, ok := m[key]
	return ok
}

// Namespace implements mesh.World.
func (c *Confirmed) Namespace(name string) (*mesh.Namespace, error) {
	if a, ok := c.namespaces[name]; ok {
		return a.value, a.err
	}
	return c.cache.Namespace(name)
}

// Service implements mesh.World.
func (c *Confirmed) Service(key mesh.ServiceKey) (*mesh.Service, error) {
	if a, ok := c.services[key]; ok {
		return a.value, a.err
	}
	return c.cache.Service(key)
}

// HasEndpoints implements mesh.World.
func (c *Confirmed) HasEndpoints(key mesh.ServiceKey) (bool, error) {
	if !has(c.services, key) {
		return c.cache.HasEndpoints(key)
	}
	if a, ok := c.endpoints[key]; ok {
		return a.value, a.err
	}
	found, err := c.now.HasEndpoints(c.ctx, key)
	if err == nil || errors.Is(err, mesh.ErrUnknown) {
		c.endpoints[key] = answer[bool]{found, err}
	}
	return found, err
}

// ReferenceGrants implements mesh.World.
func (c *Confirmed) ReferenceGrants(namespace string) ([]mesh.ReferenceGrant, error) {
	if !has(c.namespaces, namespace) {
		return c.cache.ReferenceGrants(namespace)
	}
	if a, ok := c.grants[namespace]; ok {
		return a.value, a.err
	}
	grants, err := c.now.ReferenceGrants(c.ctx, namespace)
	if err == nil {
		c.grants[namespace] = answer[[]mesh.ReferenceGrant]{value: grants}
	}
	return grants, err
}

// AttachedRoutes implements mesh.World.
func (c *Confirmed) AttachedRoutes(key mesh.ServiceKey) ([]*mesh.AttachedRoute, error) {
	return c.cache.AttachedRoutes(key)
}
