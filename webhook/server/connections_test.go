package server

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// dialed is a listener of connections that a test makes.
type dialed struct {
	net.Listener
	conns chan net.Conn
	fails error
}

func (d *dialed) Accept() (net.Conn, error) {
	if conn, ok := <-d.conns; ok {
		return conn, d.fails
	}
	return nil, net.ErrClosed
}

func (*dialed) Close() error { return nil }

// from is a connection from an address, and notes that it was closed.
type from struct {
	net.Conn
	address string
	closed  bool
}

func (f *from) Read(into []byte) (int, error) { return len(into), nil }

func (f *from) RemoteAddr() net.Addr { return named(f.address) }

func (f *from) Close() error {
	f.closed = true
	return nil
}

// named is an address.
type named string

func (named) Network() string  { return "tcp" }
func (n named) String() string { return string(n) }

// pool is a listener of most connections, mostWaiting of one address waiting.
type pool struct {
	*connections
	source *dialed
}

func newPool(most, mostWaiting int) *pool {
	source := &dialed{conns: make(chan net.Conn, 100)}
	return &pool{newConnections(source, most, mostWaiting), source}
}

// accept accepts a connection from the address, a second later.
func (p *pool) accept(t *testing.T, address string) (*connection, *from) {
	t.Helper()
	time.Sleep(time.Second) // of the bubble's clock
	conn := &from{address: address + ":1234"}
	p.source.conns <- conn
	accepted, err := p.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return accepted.(*connection), conn
}

// request begins a request with this body on the connection. It is under way until
// done is called.
func (p *pool) request(conn *connection, body io.Reader, verified bool) (done func()) {
	answer, ended := make(chan struct{}), make(chan struct{})
	handler := p.track(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		_, _ = io.Copy(io.Discard, req.Body)
		<-answer
		_, _ = w.Write([]byte("ok"))
	}))
	scheme := "http"
	if verified {
		scheme = "https"
	}
	req := httptest.NewRequestWithContext(p.context(context.Background(), conn), http.MethodPost, scheme+"://x/", body)
	if verified {
		req.TLS.VerifiedChains = append(req.TLS.VerifiedChains, nil)
	}
	go func() {
		defer close(ended)
		handler.ServeHTTP(httptest.NewRecorder(), req)
	}()
	synctest.Wait()
	return func() {
		close(answer)
		<-ended
	}
}

// wantClosed fails unless just these of the connections are closed.
func wantClosed(t *testing.T, what string, closed *from, open ...*from) {
	t.Helper()
	if !closed.closed {
		t.Errorf("%s: the connection from %s is open", what, closed.address)
	}
	for _, conn := range open {
		if conn.closed {
			t.Errorf("%s: the connection from %s was closed", what, conn.address)
		}
	}
}

// TestNewcomerTakesPlace: who is closed for a newcomer.
func TestNewcomerTakesPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(3, 3)
		_, first := p.accept(t, "a")
		second, b := p.accept(t, "a")
		_, c := p.accept(t, "a")
		done := p.request(second, strings.NewReader("{}"), false)
		_, d := p.accept(t, "b")
		wantClosed(t, "the oldest", first, b, c, d)
		done() // now it waits since later than the others
		_, e := p.accept(t, "b")
		wantClosed(t, "the one that waits longest of the address of which most wait", c, b, d, e)
		_, f := p.accept(t, "c")
		wantClosed(t, "of b, of which most wait by now", d, b, e, f)
	})
	synctest.Test(t, func(t *testing.T) {
		p := newPool(10, 2)
		_, other := p.accept(t, "b")
		_, first := p.accept(t, "a")
		second, b := p.accept(t, "a")
		_, c := p.accept(t, "a")
		wantClosed(t, "the oldest of an address that waits too often", first, other, b, c)
		defer p.request(second, http.NoBody, false)()
		_, d := p.accept(t, "a")
		if b.closed || c.closed || d.closed {
			t.Error("a request under way counts as waiting")
		}
	})
	synctest.Test(t, func(t *testing.T) {
		p := newPool(2, 2)
		known, a := p.accept(t, "a")
		p.request(known, http.NoBody, true)()
		_, b := p.accept(t, "b")
		_, c := p.accept(t, "a")
		wantClosed(t, "who has shown no certificate", b, a, c)
	})
}

// TestHalfARequestWaits: who has not sent a request as a whole is closed for a newcomer,
// and so is who does not read its answer.
func TestHalfARequestWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(1, 1)
		slow, a := p.accept(t, "a")
		body, more := io.Pipe()
		done := p.request(slow, body, false)
		_, b := p.accept(t, "b")
		wantClosed(t, "half a request", a, b)
		_ = more.Close()
		done()
	})
	synctest.Test(t, func(t *testing.T) {
		p := newPool(1, 1)
		conn, a := p.accept(t, "a")
		left := make(chan struct{})
		handler := p.track(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(nil) }))
		req := httptest.NewRequestWithContext(p.context(context.Background(), conn), http.MethodGet, "/", http.NoBody)
		go handler.ServeHTTP(unread{left}, req)
		synctest.Wait()
		_, b := p.accept(t, "b")
		wantClosed(t, "an answer that is not read", a, b)
		close(left)
	})
}

// unread is an answer that nobody reads.
type unread struct{ left chan struct{} }

func (unread) Header() http.Header { return http.Header{} }
func (unread) WriteHeader(int)     {}
func (u unread) Write(text []byte) (int, error) {
	<-u.left
	return len(text), nil
}

// TestBurst: many that come at once do not close what others use: who has just been
// accepted, or has just begun to send a request.
func TestBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(3, 2)
		used, a := p.accept(t, "a")
		p.request(used, http.NoBody, false)()
		time.Sleep(time.Minute) // of the bubble's clock
		if n, err := used.Read(make([]byte, 1)); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		time.Sleep(time.Millisecond) // of the bubble's clock
		var burst []*from
		begun := time.Now()
		for _, address := range []string{"b:1", "c:1", "d:1"} {
			conn := &from{address: address}
			burst = append(burst, conn)
			p.source.conns <- conn
			if _, err := p.Accept(); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(begun); took < spared || took > 2*spared {
			t.Errorf("the last one of a burst was accepted after %s", took)
		}
		wantClosed(t, "who has begun to send first", a, burst...)
		if n, err := used.Read(make([]byte, 1)); n != 1 || err != nil || time.Since(used.since) < spared {
			t.Error("more of a request counts anew")
		}
	})
}

// TestAllUnderWay: a newcomer waits for requests under way, and meanwhile the server says
// why it accepts nobody.
func TestAllUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(1, 1)
		busy, a := p.accept(t, "a")
		done := p.request(busy, http.NoBody, false)
		p.source.conns <- &from{address: "b:1"}
		accepted := make(chan error, 1)
		go func() {
			_, err := p.Accept()
			accepted <- err
		}()
		if err := p.check(); err != nil {
			t.Errorf("at first: %v", err)
		}
		time.Sleep(blockedFor + time.Second) // of the bubble's clock
		if err := p.check(); err == nil || !strings.Contains(err.Error(), "all 1 have a request under way") {
			t.Errorf("later: %v", err)
		}
		if a.closed {
			t.Error("a request under way was closed")
		}
		done()
		if err := errors.Join(<-accepted, p.check()); err != nil || !a.closed {
			t.Errorf("after its answer: %v; closed: %t", err, a.closed)
		}
	})
}

// TestCannotAccept: a server that fails to accept says so, for as long as it is so.
func TestCannotAccept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(1, 1)
		p.source.fails = errors.New("too many open files")
		p.source.conns <- &from{}
		if _, err := p.Accept(); !errors.Is(err, p.source.fails) {
			t.Error(err)
		}
		if err := p.check(); err == nil || !strings.Contains(err.Error(), "cannot accept connections: too many open files") {
			t.Error(err)
		}
		time.Sleep(failedFor) // of the bubble's clock
		if err := p.check(); err != nil {
			t.Errorf("while nobody comes: %v", err)
		}
	})
}

// TestAcceptEnds: a listener that is closed leaves nobody waiting.
func TestAcceptEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(1, 1)
		busy, _ := p.accept(t, "a")
		done := p.request(busy, http.NoBody, false)
		late := &from{address: "b:1"}
		p.source.conns <- late
		accepted := make(chan error, 1)
		go func() {
			_, err := p.Accept()
			accepted <- err
		}()
		synctest.Wait()
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if err := <-accepted; !errors.Is(err, net.ErrClosed) || !late.closed {
			t.Errorf("%v; closed: %t", err, late.closed)
		}
		done()
	})
}
