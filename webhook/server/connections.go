package server

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// blockedFor is how long nobody can have been accepted while a replica is ready.
	blockedFor = time.Second
	// failedFor is for how long a failure to accept counts. net/http tries again within a
	// second.
	failedFor = 5 * time.Second
	// spared is how long a connection has to make use of itself, and how long it is spared
	// once a request begins to arrive: many that come at once do not close those that others
	// use. It is longer than a handshake takes, and the way of a request.
	spared = 250 * time.Millisecond
)

// connections is a listener that bounds the connections of a server. One has a request
// under way from the time when the request has arrived as a whole until its answer is
// written. All others wait: in their handshake, for a request, in the middle of one, or for
// a client that does not read. A newcomer takes the place of the one that has waited
// longest, of the address of which most wait. It waits itself only where none has waited for
// as long as each is spared, and is closed if too many of its own address wait.
type connections struct {
	net.Listener
	// most is how many there are at most, and mostWaiting how many of one address wait.
	most, mostWaiting int

	mu sync.Mutex
	// freed is signaled when a connection begins to wait, or is closed.
	freed   *sync.Cond
	open    map[*connection]struct{}
	closed  bool
	blocked time.Time // since when a newcomer waits for requests under way; zero: none does
	failure error     // of the last call of Accept
	failed  time.Time
}

// connection is one of connections.
type connection struct {
	net.Conn
	all     *connections
	address string
	// The others are guarded by all.mu. known: a request came by it from a client with a
	// certificate.
	known   bool
	working int       // requests under way
	since   time.Time // when it began to wait
	// arriving: it was read from since its last answer, or since it was accepted.
	arriving atomic.Bool
}

func newConnections(listener net.Listener, most, mostWaiting int) *connections {
	c := &connections{Listener: listener, most: most, mostWaiting: mostWaiting, open: map[*connection]struct{}{}}
	c.freed = sync.NewCond(&c.mu)
	return c
}

// Accept implements net.Listener. It closes newcomers of an address that floods.
func (c *connections) Accept() (net.Conn, error) {
	for {
		accepted, err := c.Listener.Accept()
		if newcomer, err := c.admit(accepted, err); newcomer != nil || err != nil {
			return newcomer, err
		}
	}
}

// admit waits until there is a place for what was accepted. It returns neither a connection
// nor an error if it has closed it.
func (c *connections) admit(accepted net.Conn, err error) (net.Conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failure = err; err != nil {
		c.failed = time.Now()
		return nil, err
	}
	newcomer := &connection{Conn: accepted, all: c}
	newcomer.address, _, _ = net.SplitHostPort(accepted.RemoteAddr().String())
	for !c.closed {
		now := time.Now()
		place, floods := c.evict(newcomer.address, now)
		if place || floods {
			c.blocked = time.Time{}
		}
		if floods {
			_ = accepted.Close()
			return nil, nil //nolint:nilnil // the next one is accepted
		}
		if place {
			newcomer.since = now
			newcomer.arriving.Store(true)
			c.open[newcomer] = struct{}{}
			return newcomer, nil
		}
		if c.blocked.IsZero() {
			c.blocked = now
		}
		soon := time.AfterFunc(spared/10, c.freed.Signal)
		c.freed.Wait()
		soon.Stop()
	}
	_ = accepted.Close()
	return nil, net.ErrClosed
}

// evict closes a connection that waits, if a newcomer from the address needs its place, and
// reports whether there is a place; floods: there is none, and nobody shall wait for it,
// because too many of the address wait, or half as many and more than of others. It looks at
// all connections: they are few.
func (c *connections) evict(address string, now time.Time) (place, floods bool) {
	waiting := map[string]int{}
	for conn := range c.open {
		if conn.working == 0 {
			waiting[conn.address]++
		}
	}
	full, own := len(c.open) >= c.most, waiting[address]
	if !full && own < c.mostWaiting {
		return true, false
	}
	most := 0
	for _, others := range waiting {
		most = max(most, others)
	}
	floods = own >= c.mostWaiting || own == most && 2*own >= c.mostWaiting
	var first *connection
	for conn := range c.open {
		if conn.working > 0 || first != nil && !conn.goesBefore(first, waiting) {
			continue
		}
		unused := now.Sub(conn.since) >= spared
		if conn.address == address { // what has had its answer goes at once rather than the newcomer
			unused = unused || floods && !conn.arriving.Load()
		} else if own >= c.mostWaiting || own > waiting[conn.address] {
			continue // others do not make room for a flood
		}
		if unused {
			first = conn
		}
	}
	if first == nil {
		return false, floods
	}
	delete(c.open, first)
	_ = first.Conn.Close()
	return true, false
}

// goesBefore reports whether the connection is closed rather than the other one: strangers
// go first, then those of the address of which most wait, then those that have waited longest.
func (c *connection) goesBefore(other *connection, waiting map[string]int) bool {
	switch {
	case c.known != other.known:
		return !c.known
	case waiting[c.address] != waiting[other.address]:
		return waiting[c.address] > waiting[other.address]
	}
	return c.since.Before(other.since)
}

// Close implements net.Listener.
func (c *connections) Close() error {
	c.mu.Lock()
	c.closed = true
	c.freed.Broadcast()
	c.mu.Unlock()
	return c.Listener.Close()
}

// Read implements net.Conn. With the first bytes of a request the time of waiting begins
// anew, once.
func (c *connection) Read(into []byte) (int, error) {
	n, err := c.Conn.Read(into)
	if n > 0 && !c.arriving.Swap(true) {
		c.all.mu.Lock()
		c.since = time.Now()
		c.all.mu.Unlock()
	}
	return n, err
}

// Close implements net.Conn.
func (c *connection) Close() error {
	c.all.mu.Lock()
	delete(c.all.open, c)
	c.all.freed.Signal()
	c.all.mu.Unlock()
	return c.Conn.Close()
}

// check returns nil, or why no connection can be accepted.
func (c *connections) check() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.failure != nil && time.Since(c.failed) < failedFor:
		return fmt.Errorf("the webhooks cannot accept connections: %w", c.failure)
	case !c.blocked.IsZero() && time.Since(c.blocked) > blockedFor:
		return fmt.Errorf("the webhooks cannot accept connections: all %d have a request under way", c.most)
	}
	return nil
}

// connectionKey is the key of a request's connection in its context.
type connectionKey struct{}

// context is a ConnContext of http.Server.
func (c *connections) context(ctx context.Context, conn net.Conn) context.Context {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	return context.WithValue(ctx, connectionKey{}, conn)
}
