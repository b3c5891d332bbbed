package status

import (
	"context"
	"sync"

	"github.com/gammaguard/gammaguard/mesh"
)

// pending counts what was asked for and is not yet done, so that whoever waits
// knows when there is nothing more to come.
type pending struct {
	mu sync.Mutex
	// asked has the number of the latest request for each Service.
	asked  map[mesh.ServiceKey]uint64
	number uint64
	// idle is closed while nothing is asked for; nil if nobody waits.
	idle chan struct{}
}

// ask notes that the Services are to be looked at.
func (p *pending) ask(keys []mesh.ServiceKey) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asked == nil {
		p.asked = map[mesh.ServiceKey]uint64{}
	}
	p.number++
	for _, key := range keys {
		p.asked[key] = p.number
	}
}

// begin returns the ticket of the latest request that a look which starts now
// answers.
func (p *pending) begin(key mesh.ServiceKey) uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked[key]
}

// done notes that the request was answered. A later one stays.
func (p *pending) done(key mesh.ServiceKey, ticket uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asked[key] == ticket {
		delete(p.asked, key)
	}
	if len(p.asked) > 0 {
		return
	}
	p.asked = nil // it never shrinks, and a start asks for every Service
	if p.idle != nil {
		close(p.idle)
		p.idle = nil
	}
}

// count returns for how many Services a look is due.
func (p *pending) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.asked)
}

// wait waits until no look is due.
func (p *pending) wait(ctx context.Context) error {
	p.mu.Lock()
	if len(p.asked) == 0 {
		p.mu.Unlock()
		return nil
	}
	if p.idle == nil {
		p.idle = make(chan struct{})
	}
	idle := p.idle
	p.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
