package webhook

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestSlowLargeBodies: those who announce large bodies and send a byte, again and again, do
// not keep a large one of another address from its answer.
func TestSlowLargeBodies(t *testing.T) {
	intake := newIntake()
	arriving := make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if address := req.Header.Get("From"); address != "" {
			req.RemoteAddr = address + ":1"
		} else {
			req.Body = &noted{req.Body, arriving}
		}
		var body bytes.Buffer
		done, fault := intake.receive(w, req, &body)
		if fault != nil {
			http.Error(w, fault.text, fault.code)
			return
		}
		done()
	}))
	defer server.Close()
	ctx, stop := context.WithCancel(t.Context())
	var callers sync.WaitGroup
	for range 3 {
		callers.Go(func() {
			for ctx.Err() == nil {
				announce(ctx, server.Listener.Addr().String())
			}
		})
	}
	for i := range 4 {
		<-arriving
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, bytes.NewReader(make([]byte, usualBody+1)))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("From", "192.0.2.7")
		response, err := server.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusOK {
			t.Errorf("call %d: HTTP %s", i, response.Status)
		}
	}
	stop()
	callers.Wait()
}

// noted is a body that notes that somebody reads it.
type noted struct {
	io.ReadCloser
	arriving chan<- struct{}
}

func (n *noted) Read(into []byte) (int, error) {
	select {
	case n.arriving <- struct{}{}:
	default:
	}
	return n.ReadCloser.Read(into)
}

// announce announces a large body, sends a byte, and waits until the server hangs up.
func announce(ctx context.Context, address string) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return
	}
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	defer conn.Close() //nolint:errcheck // the other side may close first
	if _, err := fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n{", maxBody); err == nil {
		_, _ = io.Copy(io.Discard, conn)
	}
}

// TestArrivals: an address has one place, there are few in all, and who waits gets the one
// of the slowest, once that is not prompt.
func TestArrivals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &arrivals{places: map[string]*arrival{}}
		begun := time.Now()
		begin := func(address string, least time.Duration) (body *arrival, dropped chan struct{}) {
			t.Helper()
			dropped = make(chan struct{}, 1)
			body, fault := a.begin(t.Context(), address, func() {
				dropped <- struct{}{}
				go a.end(a.places[address]) // the reader leaves
			})
			took := time.Since(begun)
			if fault != nil || took < least || took > least+prompt/5 {
				t.Fatalf("%s began after %s, want %s: %v", address, took, least, fault)
			}
			return body, dropped
		}
		first, firstDropped := begin("a", 0)
		second, secondDropped := begin("b", 0)
		third, thirdDropped := begin("b", prompt) // takes the place of its own address
		if len(firstDropped) != 0 || len(secondDropped) != 1 || a.arrived(second) || !a.arrived(third) {
			t.Error("it did not take the place of its own address")
		}
		fourth, _ := begin("c", prompt) // a has been there for longest, and is not prompt
		if len(firstDropped) != 1 || len(thirdDropped) != 0 || a.arrived(first) {
			t.Error("it did not take the place of the slowest")
		}
		a.end(third)
		a.end(fourth)
		if len(a.places)+len(a.queue) != 0 {
			t.Errorf("%d hold places, %d wait", len(a.places), len(a.queue))
		}
	})
	synctest.Test(t, func(t *testing.T) {
		a := &arrivals{places: map[string]*arrival{}}
		body, _ := a.begin(t.Context(), "a", func() { t.Error("a body that has arrived is dropped") })
		a.arrived(body)
		if _, fault := a.begin(t.Context(), "a", nil); fault != tooMany {
			t.Errorf("beside one that is not answered: %v", fault)
		}
		a.end(body)
		if len(a.places)+len(a.queue) != 0 {
			t.Errorf("%d hold places, %d wait", len(a.places), len(a.queue))
		}
	})
}
