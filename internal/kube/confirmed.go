package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/gammaguard/gammaguard/mesh"
)

// Source reads objects as they are now: a mesh.Reader by live reads. A Reader is one.
type Source interface {
	Do(ctx context.Context, read mesh.Read) mesh.Answer
}

// Confirmed is a mesh.Reader for one decision. What Read has read is answered as it
// is now, all else as the cache has it. It is not safe for concurrent use.
type Confirmed struct {
	ctx      context.Context // a Reader has no contexts: this one lives as long as its decision
	deadline func() time.Time
	now      Source
	cache    mesh.Reader // nil: all is read live
	answers  map[mesh.Read]mesh.Answer
	reads    int // that were made, those that failed included
}

var _ mesh.Confirmer = (*Confirmed)(nil)

// Confirm returns a Reader that answers from the cache until Read is called. Live
// reads end at the deadline, which is asked for when there are any, and with the context:
// nobody waits for them any more. Without a cache, which is nil while it is stale, everything
// is read live, once.
func Confirm(ctx context.Context, deadline func() time.Time, now Source, cache mesh.Reader) *Confirmed {
	return &Confirmed{ctx: ctx, deadline: deadline, now: now, cache: cache}
}

// maxConcurrentReads bounds the live reads that one decision has under way at once, so
// that it leaves some of MaxConcurrentReads to others.
const maxConcurrentReads = 8

// Read makes those of the reads live that were not made before, side by side, and
// returns how many these were. An error is a failure: it says which reads failed,
// and why. With more than mesh.MaxReads in all, none is made.
func (c *Confirmed) Read(reads []mesh.Read) (fresh int, err error) {
	if c.answers == nil {
		c.answers = map[mesh.Read]mesh.Answer{}
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
	made := make([]mesh.Answer, len(due))
	var group errgroup.Group
	group.SetLimit(maxConcurrentReads)
	for i := range due {
		read := func() error {
			made[i] = c.now.Do(ctx, due[i])
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
		if e := made[i].Err; e != nil && !errors.Is(e, mesh.ErrNotFound) && !errors.Is(e, mesh.ErrUnknown) {
			if err != nil { // on one line, as a denial quotes it
				e = fmt.Errorf("%w; %w", err, e)
			}
			err = e
			continue
		}
		c.answers[read] = made[i]
	}
	return len(due), err
}

// Do implements mesh.Reader. Objects are always read live: no cache has them.
func (c *Confirmed) Do(read mesh.Read) mesh.Answer {
	if read.Kind == mesh.ReadObject {
		return c.object(read)
	}
	answer, made := c.answers[read]
	switch {
	case made:
		return answer
	case c.cache != nil:
		return c.cache.Do(read)
	}
	if _, err := c.Read([]mesh.Read{read}); err != nil {
		return mesh.Answer{Err: err}
	}
	return c.answers[read]
}

func (c *Confirmed) object(read mesh.Read) mesh.Answer {
	if c.reads++; c.reads > mesh.MaxReads {
		return mesh.Answer{Err: mesh.ErrUnknown}
	}
	ctx, cancel := context.WithDeadline(c.ctx, c.deadline())
	defer cancel()
	return c.now.Do(ctx, read)
}
