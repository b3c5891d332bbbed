package server

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/manager"
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
	return nil
}

// probes serves health and readiness at the address. controller-runtime's own
// handlers withhold the reason.
func (s *Server) probes(address string) (*manager.Server, error) {
	listener, err := net.Listen("tcp", address) //nolint:noctx // it lasts as long as the process
	if err != nil {
		return nil, fmt.Errorf("health and readiness: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("/readyz", s.readyz)
	grace := time.Second
	return &manager.Server{
		Name: "probes",
		Server: &http.Server{
			Handler: mux, ReadHeaderTimeout: handshakeTimeout, IdleTimeout: time.Minute,
			MaxHeaderBytes: maxHeader, // each connection may hold as much
		},
		Listener:        listener,
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
	fmt.Fprintln(w, "ok")
}
