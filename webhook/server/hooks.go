package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlwebhook "sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/gammaguard/gammaguard/webhook/handover"
)

// hooks is a webhook server for controller-runtime's manager, whose own takes no
// listener: this one may be a holder's. The manager starts webhook servers before
// its caches, so what comes early waits for an answer.
type hooks struct {
	of      *Server
	mux     *http.ServeMux
	listens atomic.Bool
}

var _ ctrlwebhook.Server = (*hooks)(nil)

func newHooks(of *Server) *hooks { return &hooks{of: of, mux: http.NewServeMux()} }

// NeedLeaderElection implements ctrlwebhook.Server: every replica answers.
func (h *hooks) NeedLeaderElection() bool { return false }

// WebhookMux implements ctrlwebhook.Server.
func (h *hooks) WebhookMux() *http.ServeMux { return h.mux }

// Register implements ctrlwebhook.Server. The handlers count and time their requests
// themselves.
func (h *hooks) Register(path string, hook http.Handler) { h.mux.Handle(path, hook) }

func (h *hooks) address() string {
	return net.JoinHostPort(h.of.options.WebhookHost, strconv.Itoa(h.of.options.WebhookPort))
}

// Start implements ctrlwebhook.Server. Requests that are under way when the context
// ends are answered.
func (h *hooks) Start(ctx context.Context) error {
	// Connections may be waiting: they are to find the certificate, if there is one.
	// Where not, readiness says why.
	_ = h.of.certificate.load()
	listener, err := handover.Listen(ctx, h.address(), h.of.options.ListenerSocket, h.of.options.Log)
	if err != nil {
		return fmt.Errorf("webhooks: %w", err)
	}
	config := new(tls.Config)
	h.of.tls(config)
	h.listens.Store(true)
	grace := time.Minute // more than the manager waits
	serving := &manager.Server{
		Name: "webhooks",
		Server: &http.Server{ // the limits are controller-runtime's
			Handler: h, MaxHeaderBytes: 1 << 20, ReadHeaderTimeout: 32 * time.Second, IdleTimeout: 90 * time.Second,
		},
		Listener:        tls.NewListener(listener, config),
		ShutdownTimeout: &grace,
	}
	return serving.Start(ctx)
}

// ServeHTTP has clients close their connections while the server drains, so that
// none is idle, or about to be used, when the server stops.
func (h *hooks) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if h.of.draining.Load() {
		w.Header().Set("Connection", "close")
	}
	h.mux.ServeHTTP(w, req)
}

// StartedChecker implements ctrlwebhook.Server: it connects to the webhooks' port.
func (h *hooks) StartedChecker() healthz.Checker {
	return func(*http.Request) error {
		if !h.listens.Load() {
			return errors.New("webhooks: not listening yet")
		}
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		//nolint:gosec // that it answers is what is asked
		conn, err := (&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}).DialContext(ctx, "tcp", h.address())
		if err != nil {
			return fmt.Errorf("webhooks: %w", err)
		}
		return conn.Close()
	}
}
