package handover

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"

	"github.com/go-logr/logr"
)

// Listen returns the socket that listens at the address ("host:port"): the
// holder's, if one holds it at the path, or else a new one. Until the context ends
// or the listener is closed, holders that come are given it. An empty path is no
// holder, and stands for net.Listen.
//
// The error says why there is no socket after ten seconds: the port is in use, and
// not by a holder that can be asked.
func Listen(ctx context.Context, address, path string, log logr.Logger) (net.Listener, error) {
	if path == "" {
		return listen(ctx, address)
	}
	conn, socket, err := obtain(ctx, address, path, patience, log)
	if err != nil {
		return nil, err
	}
	go attend(ctx, conn, socket, path, log)
	return socket, nil
}

// obtain comes by the socket, in one way or the other. The connection is the one to
// the holder that had it, nil if none had.
func obtain(ctx context.Context, address, path string, limit time.Duration, log logr.Logger) (*net.UnixConn, *net.TCPListener, error) {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		conn, socket, asked := ask(limited, address, path)
		if asked == nil {
			log.Info("Listening on the holder's socket", "address", socket.Addr().String())
			return conn, socket, nil
		}
		socket, err := listen(ctx, address)
		if err == nil {
			log.Info("Listening without a holder until there is one", "address", socket.Addr().String(), "reason", asked.Error())
			return nil, socket, nil
		}
		if !errors.Is(err, syscall.EADDRINUSE) {
			return nil, nil, err
		}
		if !pause(limited) {
			return nil, nil, fmt.Errorf("%w; the socket's holder: %w", err, asked)
		}
	}
}

// ask asks the holder for the socket.
func ask(ctx context.Context, address, path string) (*net.UnixConn, *net.TCPListener, error) {
	return exchange(ctx, address, path, take, nil)
}

// offer gives the socket to the holder.
func offer(ctx context.Context, socket *net.TCPListener, path string) (*net.UnixConn, error) {
	conn, _, err := exchange(ctx, socket.Addr().String(), path, give, socket)
	return conn, err
}

// exchange sends a message to the holder and returns the connection, and the socket
// that came with the answer.
func exchange(ctx context.Context, address, path string, message byte, socket *net.TCPListener) (*net.UnixConn, *net.TCPListener, error) {
	dialed, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if err != nil {
		return nil, nil, err
	}
	conn, ok := dialed.(*net.UnixConn)
	if !ok {
		return nil, nil, errors.Join(fmt.Errorf("%s is no unix socket", path), dialed.Close())
	}
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	answered, err := func() (*net.TCPListener, error) {
		if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
			return nil, err
		}
		if err := send(conn, message, socket); err != nil {
			return nil, err
		}
		answer, answered, err := receive(conn, address)
		switch {
		case err != nil:
		case answer == none && message == take:
			err = errors.New("the holder has no socket yet")
		case answer == none:
			err = errors.New("the holder did not take the socket; its log says why")
		case answer != kept || (answered == nil) != (message == give):
			err = fmt.Errorf("the holder was not understood: it answered %q", answer)
		}
		return answered, err
	}()
	if err != nil {
		if answered != nil {
			_ = answered.Close() // it is not wanted
		}
		return nil, nil, errors.Join(err, conn.Close())
	}
	return conn, answered, nil
}

// attend waits until the holder is gone, and gives the socket to the next one, again
// and again. Without a connection there is no holder yet.
func attend(ctx context.Context, conn *net.UnixConn, socket *net.TCPListener, path string, log logr.Logger) {
	var reasons reporter
	for {
		if conn != nil {
			stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
			_ = conn.SetDeadline(time.Time{})
			_, _ = io.Copy(io.Discard, conn) // until it ends, in whatever way
			stop()
			_ = conn.Close()
			reasons = reporter{}
		}
		if !pause(ctx) {
			return
		}
		var err error
		switch conn, err = offer(ctx, socket, path); {
		case err == nil:
			log.Info("Gave the socket to its holder")
		case ctx.Err() != nil, errors.Is(err, net.ErrClosed):
			return // the server ends
		case reasons.news(err):
			log.Info("Waiting for a holder of the socket", "reason", err.Error())
		}
	}
}
