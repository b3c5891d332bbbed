package attack

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	nethttp "net/http"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/gammaguard/gammaguard/test/bed/guard"
)

// A caller calls the webhooks as the API server does.
type caller struct {
	url    string
	client *nethttp.Client
}

func newCaller(t testing.TB, g *guard.Guard) *caller {
	t.Helper()
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(g.CA) {
		t.Fatal("the guard has no CA")
	}
	transport := &nethttp.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, MaxIdleConnsPerHost: 64}
	t.Cleanup(transport.CloseIdleConnections)
	return &caller{url: g.URL, client: &nethttp.Client{Transport: transport, Timeout: 10 * time.Second}}
}

// call asks about the creation of an HTTPRoute.
func (c *caller) call(ctx context.Context, path, namespace, spec string) (allowed bool, err error) {
	body := fmt.Sprintf(`{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "1", "operation": "CREATE", "namespace": %q,
		"kind": {"group": "gateway.networking.k8s.io", "version": "v1", "kind": "HTTPRoute"}, "name": "asked", "userInfo": {"username": %q},
		"object": {"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "metadata": {"name": "asked", "namespace": %q}, "spec": %s}}}`,
		namespace, tenant, namespace, spec)
	request, err := nethttp.NewRequestWithContext(ctx, nethttp.MethodPost, c.url+path, strings.NewReader(body))
	if err != nil {
		return false, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := c.client.Do(request)
	if err != nil {
		return false, err
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	if response.StatusCode != nethttp.StatusOK {
		return false, errors.New(response.Status)
	}
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(response.Body).Decode(&review); err != nil {
		return false, err
	}
	return review.Response.Allowed, nil
}
