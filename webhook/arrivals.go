package webhook

import (
	"context"
	"slices"
	"sync"
	"time"
)

// arrivals bounds the large bodies that are being read. Each address has one place at most.
// Those who find none wait in order; meanwhile the body that arrives for longest is dropped
// if it is not prompt.
type arrivals struct {
	mu     sync.Mutex
	places map[string]*arrival // by address
	queue  []*arrival
}

// arrival is a body of arrivals.
type arrival struct {
	address string
	drop    func()        // makes reading end
	ready   chan struct{} // closed when it has a place
	// The others are guarded by arrivals.mu.
	begun         time.Time
	read, dropped bool
}

// begin waits for a place. The caller ends the arrival unless there is a fault.
func (a *arrivals) begin(ctx context.Context, address string, drop func()) (*arrival, *httpError) {
	body := &arrival{address: address, drop: drop, ready: make(chan struct{})}
	a.mu.Lock()
	a.queue = append(a.queue, body)
	a.grant()
	a.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	ticks := time.NewTicker(prompt / 10)
	defer ticks.Stop()
	for {
		select {
		case <-body.ready:
			return body, nil
		default:
		}
		select {
		case <-body.ready:
		case <-ticks.C:
			a.hurry(address)
		case <-ctx.Done():
			a.end(body)
			return nil, tooMany
		}
	}
}

// grant gives the places that are free to those who wait. The caller holds mu.
func (a *arrivals) grant() {
	a.queue = slices.DeleteFunc(a.queue, func(body *arrival) bool {
		if a.places[body.address] != nil || len(a.places) >= maxArriving {
			return false
		}
		a.places[body.address] = body
		body.begun = time.Now()
		close(body.ready)
		return true
	})
}

// hurry drops the body for which one from the address waits, if it is not prompt. Its place
// is free when it has left.
func (a *arrivals) hurry(address string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	slowest := a.places[address]
	if slowest == nil && len(a.places) >= maxArriving {
		for _, body := range a.places {
			if !body.read && (slowest == nil || body.begun.Before(slowest.begun)) {
				slowest = body
			}
		}
	}
	if slowest == nil || slowest.read || time.Since(slowest.begun) < prompt {
		return
	}
	slowest.dropped = true
	slowest.drop() // each time: its reader may only have begun after the last one
}

// arrived notes that the body has been read, and reports whether it was not dropped before.
func (a *arrivals) arrived(body *arrival) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	body.read = true
	return !body.dropped
}

// end frees the place of the body, or its place in the queue.
func (a *arrivals) end(body *arrival) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.places[body.address] == body {
		delete(a.places, body.address)
	}
	a.queue = slices.DeleteFunc(a.queue, func(other *arrival) bool { return other == body })
	a.grant()
}
