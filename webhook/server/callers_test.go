package server

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"

	"github.com/gammaguard/gammaguard/certs"
	"github.com/gammaguard/gammaguard/test/background"
	"github.com/gammaguard/gammaguard/test/selfsigned"
)

// serve runs a server without an API server, and returns the address of its webhooks
// and what verifies it.
func serve(t *testing.T, configure func(*Options)) (address string, roots *x509.CertPool) {
	t.Helper()
	bundle := newBundle(t, "127.0.0.1")
	dir, hooks := t.TempDir(), freeAddress(t)
	if err := bundle.WriteDir(dir); err != nil {
		t.Fatal(err)
	}
	options := Options{
		Config: &rest.Config{Host: freeAddress(t).String()}, CertDir: dir, WebhookHost: "127.0.0.1", WebhookPort: hooks.Port,
		Registerer: prometheus.NewRegistry(), Log: logr.Discard(),
	}
	configure(&options)
	background.Start(t, func(ctx context.Context) error { return Run(ctx, options) })
	roots = x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle.CA)
	return hooks.String(), roots
}

func newBundle(t *testing.T, hosts ...string) *certs.Bundle {
	t.Helper()
	bundle, err := selfsigned.New(hosts...)
	if err != nil {
		t.Fatal(err)
	}
	return bundle
}

// call asks for what is not served, with a client certificate if there is one. An error
// says that there was no answer.
func call(ctx context.Context, address string, roots *x509.CertPool, client *certs.Bundle) error {
	config := &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	if client != nil {
		pair, err := tls.X509KeyPair(client.Cert, client.Key)
		if err != nil {
			return err
		}
		// Sent whatever CAs the server names.
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
	}
	transport := &http.Transport{TLSClientConfig: config}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+"/validate", nil)
	if err != nil {
		return err
	}
	response, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // nothing is read
	if response.StatusCode != http.StatusMethodNotAllowed {
		return fmt.Errorf("HTTP %s", response.Status)
	}
	return nil
}

// TestClientCA: only those with a certificate of the CA, for an allowed name, are
// served, by the CA as the file has it.
func TestClientCA(t *testing.T) {
	apiserver, other, stranger := newBundle(t, "apiserver.example"), newBundle(t, "other.example"), newBundle(t, "apiserver.example")
	file := filepath.Join(t.TempDir(), "ca.crt")
	write := func(text []byte, modified time.Time) {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, modified, modified); err != nil {
			t.Fatal(err)
		}
	}
	start := time.Now()
	write(append(append([]byte{}, apiserver.CA...), other.CA...), start)
	var logged atomic.Int32
	address, roots := serve(t, func(o *Options) {
		o.ClientCAFile, o.ClientAllowedNames = file, []string{"apiserver.example"}
		o.Log = funcr.New(func(_, line string) {
			if strings.Contains(line, "Failed to read the client CA again") && strings.Contains(line, "has no certificate") {
				logged.Add(1)
			}
		}, funcr.Options{})
	})
	background.Eventually(t, func() string { return missing(call(t.Context(), address, roots, apiserver)) })
	refuses := func(when string, client *certs.Bundle) {
		t.Helper()
		if err := call(t.Context(), address, roots, client); err == nil {
			t.Errorf("%s: served", when)
		}
	}
	refuses("no certificate", nil)
	refuses("another name", other)
	refuses("the name, by another CA", stranger)
	write([]byte("nonsense"), start.Add(time.Second))
	for range 2 {
		if err := call(t.Context(), address, roots, apiserver); err != nil {
			t.Errorf("while the file cannot be read: %v", err)
		}
	}
	if n := logged.Load(); n != 1 {
		t.Errorf("%d lines say that the file cannot be read, want one for two connections", n)
	}
	write(stranger.CA, start.Add(2*time.Second))
	if err := call(t.Context(), address, roots, stranger); err != nil {
		t.Errorf("by the new CA: %v", err)
	}
	refuses("by the CA of before", apiserver)
}

func missing(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestNoClientCA: a server whose client CA cannot be read does not start.
func TestNoClientCA(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for file, says := range map[string]string{empty: "has no certificate", empty + "x": "no such file"} {
		_, err := New(Options{
			Config: &rest.Config{Host: "127.0.0.1:1"}, CertDir: t.TempDir(), ClientCAFile: file, WebhookPort: freeAddress(t).Port,
			Registerer: prometheus.NewRegistry(), Log: logr.Discard(),
		})
		if err == nil || !strings.Contains(err.Error(), "client CA: ") || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
}

// TestSlowCallers: those who send nothing, or not all, are hung up on, and do not keep
// others from being served. TestIdleCallers is about many of them.
func TestSlowCallers(t *testing.T) {
	address, roots := serve(t, func(*Options) {})
	background.Eventually(t, func() string { return missing(call(t.Context(), address, roots, nil)) })
	dial := func() net.Conn {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	dialTLS := func(sends string) net.Conn {
		conn := tls.Client(dial(), &tls.Config{RootCAs: roots, ServerName: "127.0.0.1", MinVersion: tls.VersionTLS12})
		if _, err := conn.Write([]byte(sends)); err != nil {
			t.Fatal(err)
		}
		return conn
	}
	const post = "POST /validate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 3000000\r\n"
	conns := map[string]net.Conn{
		"no handshake": dial(), "half a header": dialTLS(post),
		"no body, which nobody reads": dialTLS("GET /nothing HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n"),
	}
	for i := range 5 { // more than there is room for
		conns[fmt.Sprint("half a body ", i)] = dialTLS(post + "\r\n{")
	}
	var wg sync.WaitGroup
	start := time.Now()
	for name, conn := range conns {
		wg.Go(func() {
			_ = conn.SetReadDeadline(start.Add(time.Minute))
			all, err := io.ReadAll(bufio.NewReader(conn))
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("%s: %q, %v after %s", name, all, err, took)
			}
		})
	}
	if err := call(t.Context(), address, roots, nil); err != nil {
		t.Errorf("meanwhile: %v", err)
	}
	wg.Wait()
}

// TestIdleCallers: newcomers are served at once, again and again, whatever others hold:
// as many connections as there may be that have each had an answer and send nothing more,
// or ever new ones that send nothing at all. By HTTP/2 too.
func TestIdleCallers(t *testing.T) {
	for name, http2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			address, roots := serve(t, func(o *Options) { o.EnableHTTP2 = http2 })
			background.Eventually(t, func() string { return missing(call(t.Context(), address, roots, nil)) })
			for range maxConnections {
				keepAlive(t, address, roots, http2)
			}
			newcomers(t, address, roots, "idle connections", time.Second)
			ctx, stop := context.WithCancel(t.Context())
			flood := make(chan int)
			go func() { flood <- connectSilently(ctx, address) }()
			newcomers(t, address, roots, "silent connections", 2*handshakeTimeout)
			stop()
			if silent := <-flood; silent < maxConnections {
				t.Errorf("%d silent connections, want more than %d", silent, maxConnections)
			}
		})
	}
}

// keepAlive has a request answered, and keeps the connection open.
func keepAlive(t *testing.T, address string, roots *x509.CertPool, http2 bool) {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: http2}
	t.Cleanup(transport.CloseIdleConnections)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address+"/validate", nil)
	if err != nil {
		t.Fatal(err)
	}
	// By HTTP/2 a client's frames go on after an answer, so that its connection is spared for a
	// while, and very many of one address in that time are a flood.
	var response *http.Response
	background.Eventually(t, func() string {
		response, err = (&http.Client{Transport: transport}).Do(req) //nolint:bodyclose // it is below
		return missing(err)
	})
	defer response.Body.Close() //nolint:errcheck // it is read
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		t.Error(err)
	}
	if got := response.ProtoMajor == 2; got != http2 {
		t.Fatalf("served by %s", response.Proto)
	}
}

// newcomers calls by ten new connections a second for a time. Each has to be answered
// within two seconds.
func newcomers(t *testing.T, address string, roots *x509.CertPool, during string, duration time.Duration) {
	t.Helper()
	ticks := time.NewTicker(time.Second / 10)
	defer ticks.Stop()
	var calls sync.WaitGroup
	for end := time.Now().Add(duration); time.Now().Before(end); <-ticks.C {
		calls.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			if err := call(ctx, address, roots, nil); err != nil {
				t.Errorf("%s: %v", during, err)
			}
		})
	}
	calls.Wait()
}

// connectSilently opens 100 connections a second, sends nothing, and returns how many
// there were.
func connectSilently(ctx context.Context, address string) (opened int) {
	ticks := time.NewTicker(time.Second / 100)
	defer ticks.Stop()
	for ; ctx.Err() == nil; <-ticks.C {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err != nil {
			continue
		}
		defer conn.Close() //nolint:errcheck,gocritic // all stay open for as long as the server lets them
		opened++
	}
	return opened
}
