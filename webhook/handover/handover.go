// Package handover keeps a listening TCP socket open while the process that
// accepts on it is killed and started again.
//
// A second process, the holder, has a duplicate of the socket and never accepts on
// it. While the server is away, the kernel goes on completing connections, which
// wait in the socket's queue until the next server asks the holder for the socket.
// When the holder is killed, the server gives the socket to the next holder. Either
// may start first, and a server without a holder listens by itself.
//
// The two talk over a unix socket, one byte a message; a socket travels beside its
// message, as SCM_RIGHTS. The server speaks first, the holder answers, and the
// connection stays open, so that each sees when the other is gone.
package handover

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"
)

// The messages. A server sends take or give, a holder answers kept or none.
const (
	take = 'T' // has no socket and asks for it
	give = 'G' // has a socket, which comes with the message
	kept = 'K' // the holder has the socket; to take, it comes with the message
	none = 'N' // the holder does not have it
)

const (
	// interval is the time between two tries.
	interval = 100 * time.Millisecond
	// patience bounds the exchange of messages, and how long a server tries to come
	// by a socket.
	patience = 10 * time.Second
)

// listen opens the socket.
func listen(ctx context.Context, address string) (*net.TCPListener, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	tcp, ok := listener.(*net.TCPListener)
	if !ok {
		return nil, errors.Join(fmt.Errorf("%s is no TCP address", address), listener.Close())
	}
	return tcp, nil
}

// send sends a message, and the socket unless it is nil. An error that is
// net.ErrClosed may be either's, the connection's or the socket's.
func send(conn *net.UnixConn, message byte, socket *net.TCPListener) error {
	if socket == nil {
		_, err := conn.Write([]byte{message})
		return err
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return err
	}
	var sent error
	if err := raw.Control(func(fd uintptr) {
		_, _, sent = conn.WriteMsgUnix([]byte{message}, syscall.UnixRights(int(fd)), nil)
	}); err != nil {
		return err
	}
	return sent
}

// receive returns a message and the socket that came with it, nil without one. A
// socket that is not the address's is an error, like anything else that is no
// listening socket.
func receive(conn *net.UnixConn, address string) (byte, *net.TCPListener, error) {
	message, rights := make([]byte, 1), make([]byte, syscall.CmsgSpace(4))
	_, n, _, _, err := conn.ReadMsgUnix(message, rights)
	if err != nil || n == 0 {
		return message[0], nil, err
	}
	socket, err := unpack(rights[:n])
	if err != nil {
		return message[0], nil, fmt.Errorf("what came with the message is no listening socket: %w", err)
	}
	if err := check(socket, address); err != nil {
		return message[0], nil, errors.Join(err, socket.Close())
	}
	return message[0], socket, nil
}

// unpack takes the one file descriptor out of what came beside a message.
func unpack(rights []byte) (*net.TCPListener, error) {
	messages, err := syscall.ParseSocketControlMessage(rights)
	if err != nil {
		return nil, err
	}
	var files []*os.File
	defer func() {
		for _, file := range files {
			_ = file.Close() // the listener has its own duplicate
		}
	}()
	for i := range messages {
		fds, err := syscall.ParseUnixRights(&messages[i])
		if err != nil {
			return nil, err
		}
		for _, fd := range fds {
			files = append(files, os.NewFile(uintptr(fd), "socket"))
		}
	}
	if len(files) != 1 {
		return nil, fmt.Errorf("%d file descriptors, want one", len(files))
	}
	listener, err := net.FileListener(files[0])
	if err != nil {
		return nil, err
	}
	socket, ok := listener.(*net.TCPListener)
	if !ok {
		return nil, errors.Join(fmt.Errorf("it listens at %s", listener.Addr()), listener.Close())
	}
	return socket, nil
}

// check says why the socket does not listen at the address.
func check(socket *net.TCPListener, address string) error {
	raw, err := socket.SyscallConn()
	if err != nil {
		return err
	}
	listens, asked := 0, error(nil)
	if err := raw.Control(func(fd uintptr) {
		listens, asked = syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_ACCEPTCONN)
	}); err != nil {
		return err
	}
	if asked != nil {
		return asked
	}
	if listens == 0 {
		return errors.New("the socket does not listen")
	}
	want, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return err
	}
	got, ok := socket.Addr().(*net.TCPAddr)
	if !ok || got.Port != want.Port || !sameIP(got.IP, want.IP) {
		return fmt.Errorf("the socket listens at %s, not at %s", socket.Addr(), address)
	}
	return nil
}

// sameIP takes an absent address and the unspecified ones for the same: all.
func sameIP(a, b net.IP) bool {
	all := func(ip net.IP) bool { return len(ip) == 0 || ip.IsUnspecified() }
	return all(a) && all(b) || a.Equal(b)
}

// pause waits for the interval, and says whether to go on.
func pause(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(interval):
		return true
	}
}

// reporter keeps a reason that lasts from being told more than once.
type reporter struct{ told string }

// news says whether the reason is another one than before.
func (r *reporter) news(err error) bool {
	before := r.told
	r.told = err.Error()
	return before != r.told
}
