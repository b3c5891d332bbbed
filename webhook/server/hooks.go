package server

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// What callers may take of the webhook port. Bodies are bounded by the intake of package webhook.
const (
	// maxConnections is how many connections are served at once. An API server opens one
	// for each request that it has under way.
	maxConnections = 256
	// maxWaiting is how many connections of one address may wait without a request under
	// way. Several API servers can share an address, that of a node or of a Konnectivity
	// agent, and each keeps up to 25 idle connections for each webhook: there is room for
	// what is of use to five of them, and for as many connections of others.
	maxWaiting = maxConnections / 2
	// handshakeTimeout is how long a TLS handshake may take, and then the header of a
	// request.
	handshakeTimeout = 5 * time.Second
	// readTimeout is how long a request may take to arrive, where a handler does not read it
	// sooner.
	readTimeout = 10 * time.Second
	// requestTimeout bounds a request as a whole. No webhook is waited for longer than
	// 30 seconds.
	requestTimeout = 40 * time.Second
	idleTimeout    = 10 * time.Second
	maxHeader      = 16 << 10
	// maxStreams and maxStreamBuffer bound what one connection takes by HTTP/2.
	maxStreams      = 8
	maxStreamBuffer = 64 << 10
)

// newHooks returns the server of the webhooks. It reserves the port. controller-runtime's
// own sets neither these bounds nor a listener.
func (s *Server) newHooks(handlers http.Handler) (*manager.Server, error) {
	config := &tls.Config{} //nolint:gosec // see tls
	s.tls(config)
	if err := s.authenticate(config); err != nil {
		return nil, err
	}
	address := net.JoinHostPort(s.options.WebhookHost, strconv.Itoa(s.options.WebhookPort))
	listener, err := net.Listen("tcp", address) //nolint:noctx // it lasts as long as the process
	if err != nil {
		return nil, fmt.Errorf("webhooks: %w", err)
	}
	s.connections = newConnections(listener, maxConnections, maxWaiting)
	return &manager.Server{
		Name: "webhooks",
		Server: &http.Server{
			Handler:           s.connections.track(s.closing(handlers)),
			ConnContext:       s.connections.context,
			TLSConfig:         config,
			ReadHeaderTimeout: handshakeTimeout,
			ReadTimeout:       readTimeout,
			WriteTimeout:      requestTimeout,
			IdleTimeout:       idleTimeout,
			MaxHeaderBytes:    maxHeader,
			HTTP2: &http.HTTP2Config{
				MaxConcurrentStreams: maxStreams, MaxReceiveBufferPerConnection: maxStreamBuffer, MaxReceiveBufferPerStream: maxStreamBuffer,
			},
			// A line for each handshake that fails, which any caller can cause.
			ErrorLog: slog.NewLogLogger(logr.ToSlogHandler(s.options.Log.V(1)), slog.LevelInfo),
			BaseContext: func(net.Listener) context.Context {
				s.serving.Store(true)
				return context.Background() // what is under way when the server shuts down is still answered
			},
		},
		Listener: tls.NewListener(s.connections, config),
	}, nil
}

// closing makes clients close their connections while the server shuts down, so that
// no connection is in use when the server stops.
func (s *Server) closing(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if s.draining.Load() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, req)
	})
}

// tls serves the certificate, by TLS 1.2 at least.
func (s *Server) tls(c *tls.Config) {
	c.MinVersion = tls.VersionTLS12
	c.GetCertificate = s.certificate.get
	c.NextProtos = []string{"http/1.1"}
	if s.options.EnableHTTP2 {
		c.NextProtos = []string{"h2", "http/1.1"}
	}
}

// authenticate has only those call the webhooks whose certificate is signed by the
// client CA, if there is one.
func (s *Server) authenticate(c *tls.Config) error {
	if s.options.ClientCAFile == "" {
		return nil
	}
	clients := &clients{file: s.options.ClientCAFile, names: s.options.ClientAllowedNames, log: s.options.Log}
	if err := clients.load(); err != nil {
		return err
	}
	clients.configure(c)
	return nil
}
