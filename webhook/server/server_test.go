package server

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"

	"github.com/gammaguard/gammaguard/certs"
	"github.com/gammaguard/gammaguard/webhook/handover"
)

func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return listener
}

func freeAddress(t *testing.T) *net.TCPAddr {
	t.Helper()
	listener := listen(t)
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	return listener.Addr().(*net.TCPAddr)
}

// get returns the status and the body of the answer, or why there is none.
func get(t *testing.T, url string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// eventually waits until the URL answers with the code and a body that says so.
func eventually(t *testing.T, url string, code int, says string) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		got, body := get(t, url)
		if got == code && strings.Contains(body, says) {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("%s: %d %q, want %d %q", url, got, body, code, says)
		case <-tick.C:
		}
	}
}

// TestNotReady runs a server without a certificate and without an API server: it
// is healthy, says what it waits for, and stops when asked to.
func TestNotReady(t *testing.T) {
	dir, hooks, probes := t.TempDir(), freeAddress(t), freeAddress(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- Run(ctx, Options{
			Config: &rest.Config{Host: freeAddress(t).String()}, CertDir: dir, WebhookHost: "127.0.0.1", WebhookPort: hooks.Port,
			ProbeAddress: probes.String(), Registerer: prometheus.NewRegistry(), Log: logr.Discard(),
		})
	}()
	base := "http://" + probes.String()
	eventually(t, base+"/healthz", http.StatusOK, "ok")
	eventually(t, base+"/readyz", http.StatusServiceUnavailable, "certificate folder "+dir+" has no tls.crt")
	bundle, err := certs.NewSelfSigned("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	if err := bundle.WriteDir(dir); err != nil {
		t.Fatal(err)
	}
	eventually(t, base+"/readyz", http.StatusServiceUnavailable, "caches: ask which kinds are served: ")
	for name, config := range map[string]*tls.Config{
		"TLS 1.1": {MaxVersion: tls.VersionTLS11},
		"HTTP/2":  {NextProtos: []string{"h2"}},
	} {
		config.InsecureSkipVerify = true //nolint:gosec // the handshake is what is tested
		if conn, err := (&tls.Dialer{Config: config}).DialContext(t.Context(), "tcp", hooks.String()); err == nil {
			t.Errorf("%s was accepted", name)
			_ = conn.Close()
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestHolder: the server serves on a holder's socket, from the first connection on
// that was waiting for it, and leaves it open.
func TestHolder(t *testing.T) {
	dir, hooks, path := t.TempDir(), freeAddress(t), filepath.Join(t.TempDir(), "socket")
	bundle, err := certs.NewSelfSigned("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	if err := bundle.WriteDir(dir); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	held := make(chan struct{})
	go func() {
		ended <- handover.Hold(ctx, hooks.String(), path, funcr.New(func(_, args string) {
			if strings.Contains(args, "Holding the port") {
				close(held)
			}
		}, funcr.Options{}))
	}()
	<-held
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", hooks.String())
	if err != nil {
		t.Fatal(err)
	}
	serving, stop := context.WithCancel(t.Context())
	go func() {
		ended <- Run(serving, Options{
			Config: &rest.Config{Host: freeAddress(t).String()}, CertDir: dir, WebhookHost: "127.0.0.1", WebhookPort: hooks.Port,
			ListenerSocket: path, Registerer: prometheus.NewRegistry(), Log: logr.Discard(),
		})
	}()
	waited := tls.Client(conn, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // the handshake is what is tested
	if err := waited.HandshakeContext(t.Context()); err != nil {
		t.Error(err)
	}
	_ = waited.Close()
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", hooks.String()); err != nil {
		t.Error(err)
	} else {
		_ = conn.Close()
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestPortTaken: the error says what could not be served, and where.
func TestPortTaken(t *testing.T) {
	listener := listen(t)
	defer listener.Close() //nolint:errcheck // the test is over
	_, err := New(Options{
		Config: &rest.Config{Host: "127.0.0.1:1"}, CertDir: t.TempDir(), ProbeAddress: listener.Addr().String(),
		Registerer: prometheus.NewRegistry(), Log: logr.Discard(),
	})
	if err == nil || !strings.Contains(err.Error(), "health and readiness: ") || !strings.Contains(err.Error(), listener.Addr().String()) {
		t.Errorf("got %v", err)
	}
}
