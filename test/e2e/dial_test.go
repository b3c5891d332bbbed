//go:build e2e

package e2e

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"testing"
	"time"
)

const (
	// dialInterval is the time between two connections.
	dialInterval = 20 * time.Millisecond
	// handshakeTimeout is how long a connection may wait for its server, which the
	// kubelet starts again after 10 seconds at most.
	handshakeTimeout = 30 * time.Second
)

// dials connects to one Pod's webhooks again and again, whether the Service sends
// calls there or not.
type dials struct {
	stop func()

	mu               sync.Mutex
	answered, waited int
	slowest          time.Duration
	refused          []error
	lost             []span
}

// startDials connects to the Pod until the dials are ended.
func startDials(t *testing.T, pod string) *dials {
	t.Helper()
	address := mustKubectl(t, "", "get", "pod", "-n", system, pod, "-o", "jsonpath={.status.podIP}") + ":9443"
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	d := &dials{stop: func() { cancel(); wg.Wait() }}
	t.Cleanup(d.stop)
	wg.Go(func() {
		ticker := time.NewTicker(dialInterval)
		defer ticker.Stop()
		for ctx.Err() == nil {
			<-ticker.C
			wg.Go(func() { d.dial(context.WithoutCancel(ctx), address) })
		}
	})
	return d
}

func (d *dials) dial(ctx context.Context, address string) {
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	begin := time.Now()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	var handshake error
	if err == nil {
		defer conn.Close()                                                                        //nolint:errcheck // it was only opened
		handshake = tls.Client(conn, &tls.Config{InsecureSkipVerify: true}).HandshakeContext(ctx) //nolint:gosec // that it answers is what is tested
	}
	at := span{begin, time.Now()}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case err != nil:
		d.refused = append(d.refused, err)
	case handshake != nil:
		d.lost = append(d.lost, at)
	default:
		d.answered++
		d.slowest = max(d.slowest, at.end.Sub(at.begin))
		if at.end.Sub(at.begin) > time.Second/2 {
			d.waited++
		}
	}
}

// end ends the dials, and fails where a connection was refused, or accepted and not
// answered though its server was not killed meanwhile.
func (d *dials) end(t *testing.T, kills []span) {
	t.Helper()
	d.stop()
	t.Logf("%d connections to the Pod answered, %d of them after more than half a second, the last after %s; %d lost, %d refused",
		d.answered, d.waited, d.slowest.Round(time.Millisecond), len(d.lost), len(d.refused))
	if len(d.refused) > 0 {
		t.Errorf("%d connections refused, the first: %v", len(d.refused), d.refused[0])
	}
	for _, lost := range d.lost {
		if !lost.within(kills) {
			t.Errorf("a connection of %s was accepted and lost after %s", lost.begin.Format("15:04:05.000"), lost.end.Sub(lost.begin))
		}
	}
	if d.answered == 0 {
		t.Error("no connection was answered")
	}
}
