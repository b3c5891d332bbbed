package handover

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/go-logr/logr"
)

// holder has the socket and never accepts on it.
type holder struct {
	address string
	log     logr.Logger

	mu      sync.Mutex
	socket  *net.TCPListener // nil while it has none
	reasons reporter         // why servers were not understood
}

// Hold has the port at the address ("host:port") stay open until the context ends,
// and hands its socket to servers that ask for it at the path, a unix socket that
// Hold makes. A file that another holder has left there makes way.
//
// Where the port is in use, a server is taken to have the socket, and to give it.
// When the context ends, Hold closes its duplicate at once: how long the port stays
// open is then the server's affair.
func Hold(ctx context.Context, address, path string, log logr.Logger) error {
	servers, err := listenUnix(ctx, path)
	if err != nil {
		return err
	}
	h := &holder{address: address, log: log}
	ctx, stop := context.WithCancel(ctx)
	var meetings sync.WaitGroup
	defer func() {
		stop()
		h.let()
		_ = servers.Close() // it takes the file away
		meetings.Wait()
	}()
	meetings.Go(func() { h.meet(ctx, servers, &meetings) })
	return h.hold(ctx)
}

// listenUnix makes the unix socket, for this user alone.
func listenUnix(ctx context.Context, path string) (*net.UnixListener, error) {
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() == fs.ModeSocket {
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	unix, ok := listener.(*net.UnixListener)
	if !ok {
		return nil, errors.Join(fmt.Errorf("%s is no unix socket", path), listener.Close())
	}
	return unix, nil
}

// hold comes by the socket, in one way or the other, and keeps it until the context
// ends.
func (h *holder) hold(ctx context.Context) error {
	var reasons reporter
	for {
		err := h.open(ctx)
		if err == nil {
			<-ctx.Done()
			return nil
		}
		if !errors.Is(err, syscall.EADDRINUSE) {
			return err
		}
		if reasons.news(err) {
			h.log.Info("Waiting for the server to give its socket", "reason", err.Error())
		}
		if !pause(ctx) {
			return nil
		}
	}
}

// open opens the socket, unless it was given meanwhile.
func (h *holder) open(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.socket != nil {
		return nil
	}
	socket, err := listen(ctx, h.address)
	if err != nil {
		return err
	}
	h.socket = socket
	h.log.Info("Holding the port", "address", socket.Addr().String())
	return nil
}

// let lets go of the socket.
func (h *holder) let() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.socket != nil {
		_ = h.socket.Close() // the server has its own duplicate
	}
}

// meet talks to each server that comes.
func (h *holder) meet(ctx context.Context, servers *net.UnixListener, meetings *sync.WaitGroup) {
	for {
		conn, err := servers.AcceptUnix()
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return
			}
			h.log.Error(err, "Cannot talk to a server")
			if !pause(ctx) {
				return
			}
			continue
		}
		meetings.Go(func() {
			defer conn.Close() //nolint:errcheck // nothing is left to say
			defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
			if err := h.talk(conn); err != nil && ctx.Err() == nil && h.news(err) {
				h.log.Error(err, "A server was not understood")
			}
		})
	}
}

// talk answers a server, and returns when it is gone.
func (h *holder) talk(conn *net.UnixConn) error {
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	message, socket, err := receive(conn, h.address)
	if errors.Is(err, io.EOF) {
		return nil // it had nothing to say
	}
	switch {
	case err != nil:
	case message == take && socket == nil:
		err = h.give(conn)
	case message == give && socket != nil:
		h.keep(socket)
		err = send(conn, kept, nil)
	default:
		err = fmt.Errorf("message %q", message)
		if socket != nil {
			_ = socket.Close() // it is not wanted
		}
	}
	if err != nil {
		_ = send(conn, none, nil)
		return err
	}
	if err := conn.SetDeadline(time.Time{}); err != nil {
		return err
	}
	if n, err := conn.Read(make([]byte, 1)); n > 0 || !errors.Is(err, io.EOF) {
		return fmt.Errorf("want no more messages: %w", err)
	}
	h.log.Info("The server is gone: what connects waits for the next one")
	return nil
}

// news says whether the error is another one than the last.
func (h *holder) news(err error) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.reasons.news(err)
}

// give hands the socket to a server, if there is one to hand.
func (h *holder) give(conn *net.UnixConn) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.socket == nil {
		return send(conn, none, nil)
	}
	h.log.Info("Handing the socket to the server")
	return send(conn, kept, h.socket)
}

// keep keeps a server's socket, unless it has one: the port's, so the same.
func (h *holder) keep(socket *net.TCPListener) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.socket != nil {
		_ = socket.Close() // a duplicate of the one that is held
		return
	}
	h.socket = socket
	h.log.Info("Holding the port that the server has", "address", socket.Addr().String())
}
