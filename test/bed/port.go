package bed

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"strconv"
	"sync"
)

// firstPort and ports bound FreePort's answers. They end below the ports that Linux and others
// give to connections: one of those may be another process's connection before the caller
// listens on it.
const firstPort, ports = 12000, 20000

// FreePort returns a TCP port of loopback on which nobody listened a moment ago, for a process
// that is yet to start. Until this one ends, FreePort gives the port to no other, in whatever
// process: it holds the UDP port of the same number.
func FreePort(ctx context.Context) (port int, err error) {
	const attempts = 100
	for range attempts {
		port = firstPort + rand.IntN(ports) //nolint:gosec // not a secret
		// Wildcard addresses: the process may listen on more than loopback.
		address := ":" + strconv.Itoa(port)
		var held net.PacketConn
		if held, err = new(net.ListenConfig).ListenPacket(ctx, "udp", address); err != nil {
			continue
		}
		var listener net.Listener
		if listener, err = new(net.ListenConfig).Listen(ctx, "tcp", address); err == nil {
			holds.Lock()
			holds.all = append(holds.all, held)
			holds.Unlock()
			return port, listener.Close()
		}
		_ = held.Close()
	}
	return 0, fmt.Errorf("no port is free after %d attempts: %w", attempts, err)
}

// holds are what keeps the ports that FreePort gave: without a reference, they would be closed.
var holds struct {
	sync.Mutex
	all []net.PacketConn
}

// choosePorts gives the servers ports of FreePort: envtest would take ones that a connection may
// have, above all while the API server is restarted.
func (cp *ControlPlane) choosePorts(ctx context.Context) error {
	plane := &cp.env.ControlPlane
	server, err := FreePort(ctx)
	if err != nil {
		return err
	}
	etcd, err := FreePort(ctx)
	if err != nil {
		return err
	}
	plane.APIServer.Address, plane.APIServer.Port = "127.0.0.1", strconv.Itoa(server)
	plane.Etcd.URL = &url.URL{Scheme: "http", Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(etcd))}
	plane.Etcd.Configure().Set("listen-peer-urls", "http://127.0.0.1:0") // it has no peer
	return nil
}
