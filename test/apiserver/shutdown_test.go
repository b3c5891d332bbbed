package apiserver

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gammaguard/gammaguard/test/background"
	"github.com/gammaguard/gammaguard/webhook"
	"github.com/gammaguard/gammaguard/webhook/server"
)

// TestShutdownLosesNoRequest sends requests all the time while the server stops:
// each that is sent before clients can know is answered.
func TestShutdownLosesNoRequest(t *testing.T) {
	c := admin(t)
	g := startGuard(t, c, func(o *server.Options) { o.ShutdownDelay = 300 * time.Millisecond })
	httpClient := g.client(t)
	var answered, closing atomic.Int64
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				closes, err := admitGateway(t.Context(), httpClient, g.url)
				if err != nil {
					t.Error(err)
					return
				}
				answered.Add(1)
				if closes {
					closing.Add(1)
				}
			}
		})
	}
	background.Eventually(t, func() string { return atLeast(&answered, 100, "requests answered") })
	g.cancel()
	background.Eventually(t, func() string {
		if err := g.server.Ready(); err == nil || err.Error() != "shutting down" {
			return fmt.Sprintf("not ready because it is shutting down, but: %v", err)
		}
		return ""
	})
	background.Eventually(t, func() string { return atLeast(&closing, 8, "connections closed with their answers") })
	close(stop)
	wg.Wait()
	if err := g.stop(); err != nil {
		t.Error(err)
	}
	if _, err := admitGateway(t.Context(), httpClient, g.url); err == nil {
		t.Error("still serves")
	}
}

func atLeast(counter *atomic.Int64, want int64, what string) string {
	if got := counter.Load(); got < want {
		return fmt.Sprintf("%d %s, want %d", got, what, want)
	}
	return ""
}

// admitGateway asks about a route on a Gateway, which is admitted, and reports whether
// the connection is closed after the answer.
func admitGateway(ctx context.Context, c *http.Client, url string) (closes bool, err error) {
	answer, closes, err := validate(ctx, c, url, "shop", `{"name":"gateway"}`)
	if err == nil && !strings.Contains(answer, `"allowed":true`) {
		err = errors.New(answer)
	}
	return closes, err
}

// validate asks about a route with this parentRef, and returns the answer.
func validate(ctx context.Context, c *http.Client, url, namespace, parent string) (answer string, closes bool, err error) {
	review := fmt.Sprintf(`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u","operation":"CREATE","name":"web","namespace":%q,
"object":{"kind":"HTTPRoute","metadata":{"name":"web","namespace":%[1]q},"spec":{"parentRefs":[%s]}}}}`, namespace, parent)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+webhook.ValidatePath+"?timeout=5s", strings.NewReader(review))
	if err != nil {
		return "", false, err
	}
	req.Header.Set("Content-Type", "application/json")
	response, err := c.Do(req)
	if err != nil {
		return "", false, err
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("HTTP %s", response.Status)
	}
	return string(body), response.Close, err
}

// client returns a client that trusts the guard's certificate.
func (g *guard) client(t *testing.T) *http.Client {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(g.ca)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}
