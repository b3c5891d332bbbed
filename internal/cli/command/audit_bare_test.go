package command

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestAuditWithoutGatewayAPI: where there can be no routes, audit says so.
func TestAuditWithoutGatewayAPI(t *testing.T) {
	groups := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		var answer string
		switch r.URL.Path {
		case "/api":
			answer = `{"kind": "APIVersions", "versions": ["v1"]}`
		case "/apis":
			answer = `{"kind": "APIGroupList", "apiVersion": "v1", "groups": [` + groups + `]}`
		case "/api/v1/namespaces":
			answer = `{"kind": "NamespaceList", "apiVersion": "v1", "items": [{"metadata": {"name": "a"}}]}`
		case "/api/v1/services":
			answer = `{"kind": "ServiceList", "apiVersion": "v1", "items": []}`
		case "/apis/discovery.k8s.io/v1/endpointslices":
			answer = `{"kind": "EndpointSliceList", "apiVersion": "discovery.k8s.io/v1", "items": []}`
		default:
			w.WriteHeader(http.StatusNotFound)
			answer = `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}`
		}
		_, _ = w.Write([]byte(answer))
	}))
	defer server.Close()
	for _, installed := range []bool{false, true} {
		if installed {
			groups = `{"name": "gateway.networking.k8s.io", "versions": [{"groupVersion": "gateway.networking.k8s.io/v1", "version": "v1"}]}`
		}
		got := run(t, "", "audit", "-A", "--server", server.URL, "--cache-dir", t.TempDir(), "--kubeconfig", "/dev/null")
		if got.code != ExitClean || !strings.Contains(got.stderr, "No routes that gammaguard checks in any namespace.\n") ||
			strings.Contains(got.stderr, "note: the Gateway API is not installed in this cluster") == installed {
			t.Errorf("installed %t: %+v", installed, got)
		}
	}
}
