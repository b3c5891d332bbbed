package apiserver

import (
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/gammaguard/gammaguard/test/background"
)

// wire is what a server reaches the API server through. It can be cut: bytes are then
// kept from arriving, and no connection ends.
type wire struct {
	config *rest.Config
	target string

	mu    sync.Mutex
	whole *sync.Cond
	// cut is the number of the first connection that is not cut.
	cut, opened int
}

// all is more than there are connections.
const all = 1 << 30

// newWire forwards connections to the API server until the test ends.
func newWire(t *testing.T) *wire {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	host, err := url.Parse(plane.Config.Host)
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{config: rest.CopyConfig(plane.Config), target: host.Host}
	if host.Host == "" {
		w.target = plane.Config.Host
	}
	w.config.Host = "https://" + listener.Addr().String()
	w.whole = sync.NewCond(&w.mu)
	background.Start(t, func(ctx context.Context) error {
		context.AfterFunc(ctx, func() { _ = listener.Close() })
		for {
			conn, err := listener.Accept()
			if errors.Is(err, net.ErrClosed) {
				return nil
			}
			if err != nil {
				return err
			}
			go w.forward(ctx, conn)
		}
	})
	t.Cleanup(func() { w.cutBefore(0) })
	return w
}

// cutOpen cuts all connections that are open; new ones are whole.
func (w *wire) cutOpen() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = w.opened
}

// cutBefore cuts the connections with smaller numbers, and restores all others.
func (w *wire) cutBefore(number int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = number
	w.whole.Broadcast()
}

func (w *wire) forward(ctx context.Context, near net.Conn) {
	defer near.Close() //nolint:errcheck // it is over
	w.mu.Lock()
	number := w.opened
	w.opened++
	w.mu.Unlock()
	far, err := new(net.Dialer).DialContext(ctx, "tcp", w.target)
	if err != nil {
		return
	}
	defer far.Close() //nolint:errcheck // it is over
	stop := context.AfterFunc(ctx, func() { _, _ = near.Close(), far.Close() })
	defer stop()
	back := make(chan struct{})
	go func() {
		defer close(back)
		w.copy(near, far, number)
		_ = near.Close()
	}()
	w.copy(far, near, number)
	_ = far.Close()
	<-back
}

// copy copies while the connection is whole.
func (w *wire) copy(to io.Writer, from io.Reader, number int) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		w.mu.Lock()
		for number < w.cut {
			w.whole.Wait()
		}
		w.mu.Unlock()
		if err != nil {
			return
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}
