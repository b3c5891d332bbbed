package server

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// Ready returns nil when the server can judge routes, and the reason in one line
// otherwise.
func (s *Server) Ready() error {
	if s.draining.Load() {
		return errors.New("shutting down")
	}
	if err := s.certificate.check(); err != nil {
		return err
	}
	if err := s.cache.NotSynced(); err != nil {
		return fmt.Errorf("caches: %w", err)
	}
	if err := s.cache.Stale(); err != nil {
		return fmt.Errorf("caches: %w", err)
	}
	if !s.serving.Load() {
		return errors.New("the webhooks are not served yet")
	}
	return s.connections.check()
}

// probes answers health and readiness. controller-runtime's own handlers withhold the
// reason.
func (s *Server) probes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	mux.HandleFunc("/readyz", s.readyz)
	return mux
}

// maxPlain is how many connections a port without TLS serves at once, and maxPlainWaiting
// how many of one address wait there. The kubelet opens one for each probe.
const maxPlain, maxPlainWaiting = 64, 32

// maxScrapes is how many requests for metrics are answered at once. Others get status 503.
const maxScrapes = 4

func scrapes() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(metrics.Registry, promhttp.HandlerOpts{MaxRequestsInFlight: maxScrapes}))
	return mux
}

// newPlain returns a server without TLS. It reserves the port. controller-runtime's own
// servers take headers of 1 MiB on each connection.
func newPlain(name, address string, handler http.Handler) (*manager.Server, error) {
	listener, err := net.Listen("tcp", address) //nolint:noctx // it lasts as long as the process
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	grace := time.Second
	all := newConnections(listener, maxPlain, maxPlainWaiting)
	return &manager.Server{
		Name: name,
		Server: &http.Server{
			Handler: all.track(handler), ConnContext: all.context,
			ReadHeaderTimeout: handshakeTimeout, ReadTimeout: readTimeout, WriteTimeout: requestTimeout, IdleTimeout: time.Minute, MaxHeaderBytes: maxHeader,
		},
		Listener:        all,
		ShutdownTimeout: &grace,
	}, nil
}

func (s *Server) readyz(w http.ResponseWriter, _ *http.Request) {
	reason := ""
	if err := s.Ready(); err != nil {
		reason = err.Error()
	}
	if before, _ := s.unready.Swap(reason).(string); before != reason {
		if reason == "" {
			s.options.Log.Info("Ready")
		} else {
			s.options.Log.Info("Not ready", "reason", reason)
		}
	}
	if reason != "" {
		http.Error(w, reason, http.StatusServiceUnavailable)
		return
	}
	_, _ = io.WriteString(w, "ok\n")
}
