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
	"golang.org/x/net/netutil"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// What callers may take of the webhook port. Bodies are bounded by webhook.Intake.
const (
	// maxConnections is how many connections are served at once; further ones wait. An
	// API server opens one for each request that it has under way.
	maxConnections = 256
	// handshakeTimeout is how long a TLS handshake may take, and then the header of a
	// request.
	handshakeTimeout = 5 * time.Second
	// requestTimeout bounds a request as a whole. No webhook is waited for longer than
	// 30 seconds.
	requestTimeout = 40 * time.Second
	idleTimeout    = 90 * time.Second
	maxHeader      = 16 << 10
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
	return &manager.Server{
		Name: "webhooks",
		Server: &http.Server{
			Handler:           s.closing(handlers),
			TLSConfig:         config,
			ReadHeaderTimeout: handshakeTimeout,
			WriteTimeout:      requestTimeout,
			IdleTimeout:       idleTimeout,
			MaxHeaderBytes:    maxHeader,
			// A line for each handshake that fails, which any caller can cause.
			ErrorLog: slog.NewLogLogger(logr.ToSlogHandler(s.options.Log.V(1)), slog.LevelInfo),
			BaseContext: func(net.Listener) context.Context {
				s.serving.Store(true)
				return context.Background() // what is under way when the server shuts down is still answered
			},
		},
		Listener: tls.NewListener(netutil.LimitListener(listener, maxConnections), config),
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
