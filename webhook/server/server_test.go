package server

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/test/selfsigned"
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
	dir, hooks, probes, metrics := t.TempDir(), freeAddress(t), freeAddress(t), freeAddress(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- Run(ctx, Options{
			Config: &rest.Config{Host: freeAddress(t).String()}, CertDir: dir, WebhookHost: "127.0.0.1", WebhookPort: hooks.Port,
			ProbeAddress: probes.String(), MetricsAddress: metrics.String(), Registerer: prometheus.NewRegistry(), Log: logr.Discard(),
		})
	}()
	base := "http://" + probes.String()
	eventually(t, base+"/healthz", http.StatusOK, "ok")
	eventually(t, base+"/readyz", http.StatusServiceUnavailable, "certificate directory "+dir+" has no tls.crt")
	bundle, err := selfsigned.New("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	if err := bundle.WriteDir(dir); err != nil {
		t.Fatal(err)
	}
	eventually(t, base+"/readyz", http.StatusServiceUnavailable, "caches: ask which kinds are served: ")
	eventually(t, "http://"+metrics.String()+"/metrics", http.StatusOK, "go_goroutines")
	for _, url := range []string{base + "/healthz", "http://" + metrics.String() + "/metrics"} {
		long, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		long.Header.Set("Long", strings.Repeat("x", 2*maxHeader))
		if response, err := http.DefaultClient.Do(long); err != nil || response.StatusCode != http.StatusRequestHeaderFieldsTooLarge || response.Body.Close() != nil {
			t.Errorf("%s with a long header: %v, %v", url, response, err)
		}
	}
	for name, offer := range map[string]struct {
		config   *tls.Config
		accepted bool
	}{
		"TLS 1.1":  {&tls.Config{MaxVersion: tls.VersionTLS11}, false},
		"TLS 1.2":  {&tls.Config{MaxVersion: tls.VersionTLS12}, true},
		"HTTP/1.1": {&tls.Config{NextProtos: []string{"http/1.1"}}, true},
		"HTTP/2":   {&tls.Config{NextProtos: []string{"h2"}}, false},
	} {
		offer.config.InsecureSkipVerify = true //nolint:gosec // the handshake is what is tested
		conn, err := (&tls.Dialer{Config: offer.config}).DialContext(t.Context(), "tcp", hooks.String())
		if (err == nil) != offer.accepted {
			t.Errorf("%s: %v, want accepted: %t", name, err, offer.accepted)
		}
		if err == nil {
			_ = conn.Close()
		}
	}
	cancel()
	if err := <-done; err != nil {
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

// TestStandingAuditDisabled: its metrics are not there, and reports cannot be.
func TestStandingAuditDisabled(t *testing.T) {
	for _, test := range []struct {
		name          string
		disabled      bool
		reports       config.ReportFormat
		audits        bool
		errorContains string
	}{
		{"enabled", false, "", true, ""},
		{"disabled", true, "", false, ""},
		{"disabled with reports", true, config.OpenReports, false, "standing audit: it is disabled, and the configuration has reports: openreports"},
	} {
		t.Run(test.name, func(t *testing.T) {
			guard, registry := config.Default(), prometheus.NewRegistry()
			guard.Reports = test.reports
			_, err := New(Options{
				Config: &rest.Config{Host: "127.0.0.1:1"}, CertDir: t.TempDir(), WebhookHost: "127.0.0.1", WebhookPort: freeAddress(t).Port,
				Guard: guard, DisableStandingAudit: test.disabled, Registerer: registry, Log: logr.Discard(),
			})
			if test.errorContains != "" {
				if err == nil || !strings.Contains(err.Error(), test.errorContains) {
					t.Errorf("got %v, want %s", err, test.errorContains)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			same := prometheus.NewGauge(prometheus.GaugeOpts{Name: "gammaguard_stored_findings_age_seconds"})
			if audits := registry.Register(same) != nil; audits != test.audits {
				t.Errorf("the metric is registered: %t, want %t", audits, test.audits)
			}
		})
	}
}
