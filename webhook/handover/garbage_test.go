package handover

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
)

// garbage returns what is not the socket that is asked for, by name.
func garbage(t *testing.T) map[string][]*os.File {
	t.Helper()
	ctx := t.Context()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	udp, err := new(net.ListenConfig).ListenPacket(ctx, "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	tcp, err := listen(ctx, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	connected, err := new(net.Dialer).DialContext(ctx, "tcp", tcp.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	file := func(conn interface{ File() (*os.File, error) }) *os.File {
		f, err := conn.File()
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	elsewhere := file(tcp)
	return map[string][]*os.File{
		"no file":                   nil,
		"no socket":                 {null},
		"a UDP socket":              {file(udp.(*net.UDPConn))},
		"a connection":              {file(connected.(*net.TCPConn))},
		"a socket of another port":  {elsewhere},
		"two sockets":               {elsewhere, elsewhere},
		"more files than are taken": {null, null, null, null},
	}
}

// write sends the text with the files.
func write(conn *net.UnixConn, text string, files []*os.File) error {
	var fds []int
	for _, file := range files {
		fds = append(fds, int(file.Fd()))
	}
	var rights []byte
	if len(fds) > 0 {
		rights = syscall.UnixRights(fds...)
	}
	_, _, err := conn.WriteMsgUnix([]byte(text), rights, nil)
	return err
}

// wantSocket wants the holder to hand its socket to a server.
func (p pair) wantSocket(t *testing.T) {
	t.Helper()
	conn, socket, err := ask(t.Context(), p.address, p.path)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = conn.Close(), socket.Close()
}

// dial connects to the holder.
func (p pair) dial(t *testing.T) *net.UnixConn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "unix", p.path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(testTimeout)); err != nil {
		t.Fatal(err)
	}
	return conn.(*net.UnixConn)
}

// TestGarbageForHolder: whatever a holder is told, it hands its socket to the next
// server.
func TestGarbageForHolder(t *testing.T) {
	p := newPair(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	held := make(chan struct{})
	log := funcr.New(func(_, args string) {
		if strings.Contains(args, "Holding the port") {
			close(held)
		}
	}, funcr.Options{})
	go func() { ended <- Hold(ctx, p.address, p.path, log) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	<-held
	p.wantSocket(t)
	if info, err := os.Lstat(p.path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("unix socket: %v, %v", info, err)
	}
	for name, files := range garbage(t) {
		for _, text := range []string{"T", "G", "?", "GET / HTTP/1.1\r\n\r\n"} {
			if text == "T" && files == nil {
				continue // this is no garbage
			}
			t.Run(text[:1]+" with "+name, func(t *testing.T) {
				conn := p.dial(t)
				if err := write(conn, text, files); err != nil {
					t.Fatal(err)
				}
				answer, err := io.ReadAll(conn)
				if errors.Is(err, os.ErrDeadlineExceeded) || strings.Trim(string(answer), "N") != "" {
					t.Errorf("answer %q, %v", answer, err)
				}
				p.wantSocket(t)
			})
		}
	}
	t.Run("nothing", func(t *testing.T) {
		silent := p.dial(t)
		p.wantSocket(t)
		_ = silent.Close()
		p.wantSocket(t)
	})
}

// TestGarbageForServer: a server that its holder answers garbage listens by itself,
// and says what is wrong where that cannot be.
func TestGarbageForServer(t *testing.T) {
	for name, files := range garbage(t) {
		for _, text := range []string{"K", "N", "?", ""} {
			t.Run(text+" with "+name, func(t *testing.T) {
				p := newPair(t)
				startFalseHolder(t, p, text, files)
				conn, socket, err := obtain(t.Context(), p.address, p.path, testTimeout, logr.Discard())
				if err != nil || conn != nil || socket.Addr().String() != p.address {
					t.Fatalf("%v, %v, %v", conn, socket, err)
				}
				_, _, err = obtain(t.Context(), p.address, p.path, interval/2, logr.Discard())
				if err == nil || !strings.Contains(err.Error(), "address already in use; the socket's holder: ") || strings.Contains(err.Error(), "\n") {
					t.Errorf("got %q, want one line that says why", err)
				}
				if conn, err := offer(t.Context(), socket, p.path); err == nil {
					_ = conn.Close()
					if text != "K" || files != nil {
						t.Error("the answer was taken for a holder's")
					}
				}
				_ = socket.Close()
			})
		}
	}
}

// startFalseHolder starts a holder that answers each server the same, and takes what
// it is given for good.
func startFalseHolder(t *testing.T, p pair, text string, files []*os.File) {
	t.Helper()
	servers, err := listenUnix(t.Context(), p.path)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { _ = servers.Close(); <-done })
	go func() {
		defer close(done)
		for {
			conn, err := servers.AcceptUnix()
			if err != nil {
				return
			}
			if text != "" {
				_, _ = conn.Read(make([]byte, 1))
				_ = write(conn, text, files)
			}
			_ = conn.Close()
		}
	}()
}

// TestInUse: a holder whose port somebody else has waits for it, and says so.
func TestInUse(t *testing.T) {
	p := newPair(t)
	other, err := listen(t.Context(), p.address)
	if err != nil {
		t.Fatal(err)
	}
	holder := p.start(t, "holder")
	holder.await(t, "Waiting for the server to give its socket")
	if _, _, err := ask(t.Context(), p.address, p.path); err == nil || err.Error() != "the holder has no socket yet" {
		t.Errorf("got %v", err)
	}
	_ = other.Close()
	holder.await(t, "Holding the port")
	p.wantSocket(t)
}

// TestFailures: what cannot be mended by waiting is an error.
func TestFailures(t *testing.T) {
	p := newPair(t)
	if err := os.WriteFile(p.path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string]error{
		"a file at the path":             Hold(t.Context(), p.address, p.path, logr.Discard()),
		"no folder":                      Hold(t.Context(), p.address, p.path+"/none/socket", logr.Discard()),
		"an address that is not here":    Hold(t.Context(), "192.0.2.1:1", p.path+"2", logr.Discard()),
		"nor here, without a holder":     second(Listen(t.Context(), "192.0.2.1:1", "", logr.Discard())),
		"nor here, with a holder's path": second(Listen(t.Context(), "192.0.2.1:1", p.path, logr.Discard())),
	} {
		if got == nil || strings.Contains(got.Error(), "\n") {
			t.Errorf("%s: %v, want one line", name, got)
		}
	}
}

func second(_ net.Listener, err error) error { return err }
