package selfmanaged

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
)

func TestConfine(t *testing.T) {
	asked := make(chan url.URL, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked <- *r.URL }))
	defer server.Close()
	open := &rest.Config{Host: server.URL}
	client, err := rest.HTTPClientFor(confine(open, map[string]string{"secrets": "certificate"}))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ method, path, want string }{
		{"GET", "/api/v1/namespaces/a/secrets?limit=500", "/api/v1/namespaces/a/secrets?fieldSelector=metadata.name%3Dcertificate&limit=500"},
		{"GET", "/api/v1/namespaces/a/secrets?watch=true", "/api/v1/namespaces/a/secrets?fieldSelector=metadata.name%3Dcertificate&watch=true"},
		{"GET", "/api/v1/namespaces/a/secrets/other", "/api/v1/namespaces/a/secrets/other"},
		{"GET", "/api/v1/namespaces/a/configmaps", "/api/v1/namespaces/a/configmaps"},
		{"POST", "/api/v1/namespaces/a/secrets", "/api/v1/namespaces/a/secrets"},
	} {
		t.Run(test.method+" "+test.path, func(t *testing.T) {
			request, err := http.NewRequestWithContext(t.Context(), test.method, server.URL+test.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			response, err := client.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			if err := response.Body.Close(); err != nil {
				t.Fatal(err)
			}
			got := <-asked
			if diff := cmp.Diff(test.want, got.String()); diff != "" {
				t.Errorf("asked for (-want +got):\n%s", diff)
			}
		})
	}
	if open.WrapTransport != nil {
		t.Error("the configuration that was given has changed")
	}
}
