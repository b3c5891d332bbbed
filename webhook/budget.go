package webhook

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/gammaguard/gammaguard/internal/kube"
	"github.com/gammaguard/gammaguard/mesh"
)

// What callers may cause in a second, and how much at once: twice as much in all as those
// of one address, so that one that calls without end leaves others half of it.
const (
	readRate, readBurst = 250, 1000
	// routesPerRead is how many routes of a list count as one read more.
	routesPerRead = 20
	// maxAddresses is of how many addresses it is known what they have caused.
	maxAddresses = 1024
)

// budget bounds what callers cause: by address, and twice as much in all.
type budget struct {
	rate  rate.Limit
	burst int
	all   *rate.Limiter

	mu     sync.Mutex
	shares map[string]*rate.Limiter
}

func newBudget(perSecond rate.Limit, burst int) *budget {
	return &budget{rate: perSecond, burst: burst, all: rate.NewLimiter(2*perSecond, 2*burst), shares: map[string]*rate.Limiter{}}
}

// share returns what is left to callers of the address.
func (b *budget) share(address string) *rate.Limiter {
	b.mu.Lock()
	defer b.mu.Unlock()
	share := b.shares[address]
	if share == nil {
		if len(b.shares) == maxAddresses {
			clear(b.shares) // the bound on all of them remains
		}
		share = rate.NewLimiter(b.rate, b.burst)
		b.shares[address] = share
	}
	return share
}

// allow reports whether callers of the address may cause one more now.
func (b *budget) allow(address string) bool { return b.share(address).Allow() && b.all.Allow() }

// errBudget: callers have caused too many live reads.
var errBudget = errors.New("too many live reads at once")

// wait waits until callers of the address may cause n more. It fails at once where that
// takes longer than maxWait, or than the context lasts.
func (b *budget) wait(ctx context.Context, address string, n int) error {
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	for _, limit := range []*rate.Limiter{b.share(address), b.all} {
		if err := limit.WaitN(ctx, n); err != nil {
			return fmt.Errorf("%w: %w", errBudget, err)
		}
	}
	return nil
}

// charge counts n more, which were caused already: others wait for longer.
func (b *budget) charge(address string, n int) {
	for _, limit := range []*rate.Limiter{b.share(address), b.all} {
		limit.ReserveN(time.Now(), n)
	}
}

// shared is what the webhooks of a process have in common.
type shared struct {
	trail *trail
	reads *budget
}

// share makes what the webhook shares, if no other has.
func (o *Options) share() {
	if o.shared == nil {
		o.shared = &shared{newTrail(o.Log), newBudget(readRate, readBurst)}
	}
}

// spend waits until the caller may cause so many live reads of the kind.
func (o *Options) spend(ctx context.Context, r *review, kind string, n int) error {
	err := o.reads.wait(ctx, r.address, n)
	if err != nil {
		o.Metrics.limited(kind)
	}
	return err
}

// rationed is a kube.Source for one request, within the budget of all.
type rationed struct {
	*Options
	request *review
}

var _ kube.Source = rationed{}

// Do implements kube.Source.
func (s rationed) Do(ctx context.Context, read mesh.Read) mesh.Answer {
	kind, n := "parent", 1
	switch read.Kind {
	case mesh.ReadNamespace:
		kind = "Namespace"
	case mesh.ReadService:
		kind = read.Service.Kind
	case mesh.ReadEndpoints:
		kind = "EndpointSlice"
	case mesh.ReadReferenceGrants:
		kind = "ReferenceGrant"
	case mesh.ReadRoutes:
		kind, n = "Route", len(mesh.RouteKinds())
	}
	err := s.spend(ctx, s.request, kind, n)
	switch {
	case err == nil:
		return s.Live.Do(ctx, read)
	case read.Kind == mesh.ReadObject:
		err = mesh.ErrUnknown // as where it cannot be read
	}
	return mesh.Answer{Err: err}
}
