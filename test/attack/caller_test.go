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
	"time"

	admissionv1 "k8s.io/api/admission/v1"
)

// A caller calls the webhooks as the API server does.
type caller struct {
	url    string
	client *nethttp.Client
}

// newCaller calls webhooks whose certificate the CA verifies.
func newCaller(url string, ca []byte) *caller {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	transport := &nethttp.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, MaxIdleConnsPerHost: 64}
	return &caller{url: url, client: &nethttp.Client{Transport: transport, Timeout: 10 * time.Second}}
}

// call asks about the creation of an HTTPRoute.
func (c *caller) call(ctx context.Context, path, namespace, spec string) (allowed bool, err error) {
	return c.send(ctx, path, review(namespace, spec))
}

// review is what the API server sends when an HTTPRoute is created.
func review(namespace, spec string) string {
	return fmt.Sprintf(`{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "1", "operation": "CREATE", "namespace": %q,
		"kind": {"group": "gateway.networking.k8s.io", "version": "v1", "kind": "HTTPRoute"}, "name": "asked", "userInfo": {"username": %q},
		"object": {"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "metadata": {"name": "asked", "namespace": %q}, "spec": %s}}}`,
		namespace, tenant, namespace, spec)
}

func (c *caller) send(ctx context.Context, path, review string) (allowed bool, err error) {
	request, err := nethttp.NewRequestWithContext(ctx, nethttp.MethodPost, c.url+path, strings.NewReader(review))
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
	var answer admissionv1.AdmissionReview
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return false, err
	}
	return answer.Response.Allowed, nil
}
