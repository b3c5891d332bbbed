package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/gammaguard/gammaguard/mesh"
)

// Source reads objects as they are now: a mesh.Reader by live reads. Errors are those
// of a mesh.Reader. A Reader is one.
type Source interface {
	Service(ctx context.Context, key mesh.ServiceKey) (*mesh.Service, error)
	Namespace(ctx context.Context, name string) (*mesh.Namespace, error)
	HasEndpoints(ctx context.Context, key mesh.ServiceKey) (bool, error)
	ReferenceGrants(ctx context.Context, namespace string) ([]mesh.ReferenceGrant, error)
	AttachedRoutes(ctx context.Context, key mesh.ServiceKey, namespace string) ([]*mesh.AttachedRoute, error)
	Object(ctx context.Context, key mesh.ObjectKey) error
}

var _ Source = (*Reader)(nil)

// Confirmed is a mesh.Reader for one decision. What Read has read is answered as it
// is now, all else as the cache has it. It is not safe for concurrent use.
type Confirmed struct {
	ctx      context.Context // a Reader has no contexts: this one lives as long as its decision
	deadline func() time.Time
	now      Source
	cache    mesh.Reader // nil: all is read live
	answers  map[mesh.Read]answer
	reads    int // that were made, those that failed included
}

// answer is what a live read returned; its error is never a failure.
type answer struct {
	value any
	err   error
}

var (
	_ mesh.Reader       = (*Confirmed)(nil)
	_ mesh.ObjectReader = (*Confirmed)(nil)
)

// Confirm returns a Reader that answers from the cache until Read is called. Live
// reads end at the deadline, which is asked for when there are any, and with the context:
// nobody waits for them any more.
func Confirm(ctx context.Context, deadline func() time.Time, now Source, cache mesh.Reader) *Confirmed {
	return &Confirmed{ctx: ctx, deadline: deadline, now: now, cache: cache}
}

// Only returns a Reader that reads everything live, once: for a decision while the
// cache is stale.
func Only(ctx context.Context, deadline func() time.Time, now Source) *Confirmed {
	return Confirm(ctx, deadline, now, nil)
}

// maxConcurrentReads bounds the live reads that one decision has under way at once, so
// that it leaves some of MaxConcurrentReads to others.
const maxConcurrentReads = 8

// Read makes those of the reads live that were not made before, side by side, and
// returns how many these were. An error is a failure: it says which reads failed,
// and why. With more than mesh.MaxReads in all, none is made.
func (c *Confirmed) Read(reads []mesh.Read) (fresh int, err error) {
	if c.answers == nil {
		c.answers = map[mesh.Read]answer{}
	}
	ctx, cancel := context.WithDeadline(c.ctx, c.deadline())
	defer cancel()
	var due []mesh.Read
	for _, read := range reads {
		if _, made := c.answers[read]; !made && !slices.Contains(due, read) {
			due = append(due, read)
		}
	}
	if c.reads+len(due) > mesh.MaxReads {
		return 0, fmt.Errorf("more than %d live reads for one request", mesh.MaxReads)
	}
	c.reads += len(due)
	made := make([]answer, len(due))
	var group errgroup.Group
	group.SetLimit(maxConcurrentReads)
	for i := range due {
		read := func() error {
			made[i].value, made[i].err = c.read(ctx, due[i])
			return nil
		}
		if i < len(due)-1 {
			group.Go(read)
		} else { // one is for this goroutine, which would else only wait
			_ = read()
		}
	}
	_ = group.Wait()
	for i, read := range due {
		if e := made[i].err; e != nil && !errors.Is(e, mesh.ErrNotFound) && !errors.Is(e, mesh.ErrUnknown) {
			err = errors.Join(err, e)
			continue
		}
		c.answers[read] = made[i]
	}
	return len(due), err
}

// read makes one live read.
func (c *Confirmed) read(ctx context.Context, read mesh.Read) (any, error) {
	switch read.Kind {
	case mesh.ReadNamespace:
		return c.now.Namespace(ctx, read.Namespace)
	case mesh.ReadService:
		return c.now.Service(ctx, read.Service)
	case mesh.ReadEndpoints:
		return c.now.HasEndpoints(ctx, read.Service)
	case mesh.ReadReferenceGrants:
		return c.now.ReferenceGrants(ctx, read.Namespace)
	case mesh.ReadRoutes:
		return c.now.AttachedRoutes(ctx, read.Service, read.Namespace)
	}
	return nil, fmt.Errorf("unknown kind of read: %d", read.Kind)
}

// answered returns the answer of the live read, or else that of the cache.
func answered[T any](c *Confirmed, read mesh.Read, cached func() (T, error)) (T, error) {
	made, ok := c.answers[read]
	switch {
	case !ok && c.cache != nil:
		return cached()
	case !ok:
		if _, err := c.Read([]mesh.Read{read}); err != nil {
			var none T
			return none, err
		}
		made = c.answers[read]
	}
	value, _ := made.value.(T)
	return value, made.err
}

// Object implements mesh.ObjectReader, always by a live read: no cache has such objects.
func (c *Confirmed) Object(key mesh.ObjectKey) error {
	if c.reads++; c.reads > mesh.MaxReads {
		return mesh.ErrUnknown
	}
	ctx, cancel := context.WithDeadline(c.ctx, c.deadline())
	defer cancel()
	return c.now.Object(ctx, key)
}

// Namespace implements mesh.Reader.
func (c *Confirmed) Namespace(name string) (*mesh.Namespace, error) {
	return answered(c, mesh.Read{Kind: mesh.ReadNamespace, Namespace: name},
		func() (*mesh.Namespace, error) { return c.cache.Namespace(name) })
}

// Service implements mesh.Reader.
func (c *Confirmed) Service(key mesh.ServiceKey) (*mesh.Service, error) {
	return answered(c, mesh.Read{Kind: mesh.ReadService, Service: key},
		func() (*mesh.Service, error) { return c.cache.Service(key) })
}

// HasEndpoints implements mesh.Reader.
func (c *Confirmed) HasEndpoints(key mesh.ServiceKey) (bool, error) {
	return answered(c, mesh.Read{Kind: mesh.ReadEndpoints, Service: key},
		func() (bool, error) { return c.cache.HasEndpoints(key) })
}

// ReferenceGrants implements mesh.Reader.
func (c *Confirmed) ReferenceGrants(namespace string) ([]mesh.ReferenceGrant, error) {
	return answered(c, mesh.Read{Kind: mesh.ReadReferenceGrants, Namespace: namespace},
		func() ([]mesh.ReferenceGrant, error) { return c.cache.ReferenceGrants(namespace) })
}

// AttachedRoutes implements mesh.Reader.
func (c *Confirmed) AttachedRoutes(key mesh.ServiceKey, namespace string) ([]*mesh.AttachedRoute, error) {
	return answered(c, mesh.Read{Kind: mesh.ReadRoutes, Service: key, Namespace: namespace},
		func() ([]*mesh.AttachedRoute, error) { return c.cache.AttachedRoutes(key, namespace) })
}
