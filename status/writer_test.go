package status

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"

	"github.com/gammaguard/gammaguard/internal/kube"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/status/desired"
)

// TestWriteNotFound: nothing is to be done for a route that is gone; but one whose version
// is no longer served must be tried again, in the version that the cache will read it in.
func TestWriteNotFound(t *testing.T) {
	for _, test := range []struct {
		name, contentType, body string
		tryAgain                bool
	}{
		{"no route", "application/json", `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}`, false},
		{"no such version", "text/plain; charset=utf-8", "404 page not found\n", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", test.contentType)
				w.WriteHeader(http.StatusNotFound)
				_, _ = w.Write([]byte(test.body))
			}))
			defer server.Close()
			d := newDamper()
			m, err := newMetrics(prometheus.NewRegistry(), d.contested)
			if err != nil {
				t.Fatal(err)
			}
			w, err := newWriter(&rest.Config{Host: server.URL}, desired.Settings{}, -1, 0, m, d)
			if err != nil {
				t.Fatal(err)
			}
			done, err := w.write(t.Context(), kube.RouteKey{Kind: mesh.HTTPRoute, Namespace: "shop", Name: "web"}, "v1", ourPart{}, nil)
			if err != nil || (done.pause > 0) != test.tryAgain {
				t.Errorf("got pause %s and error %v, want a pause: %v", done.pause, err, test.tryAgain)
			}
		})
	}
}
