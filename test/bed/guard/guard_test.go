package guard_test

import (
	"crypto/tls"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"

	"github.com/gammaguard/gammaguard/test/bed"
	"github.com/gammaguard/gammaguard/test/bed/guard"
	"github.com/gammaguard/gammaguard/test/selfsigned"
)

var plane *bed.ControlPlane

func TestMain(m *testing.M) { os.Exit(bed.Run(m, bed.Options{}, &plane)) }

// TestInstall sees the policy act on the first request after Install.
func TestInstall(t *testing.T) {
	if err := guard.Install(t.Context(), plane); err != nil {
		t.Fatal(err)
	}
	const rights = `
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: dev},
 roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: edit-namespaces},
 subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: dev}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: edit-namespaces},
 rules: [{apiGroups: [""], resources: [namespaces], verbs: [get, patch]}]}
`
	if _, stderr, err := plane.Kubectl(t.Context(), rights, "apply", "-f", "-"); err != nil {
		t.Fatal(err, stderr)
	}
	_, stderr, err := plane.Kubectl(t.Context(), "", "label", "namespace", "default", "gammaguard.dev/grant=all", "--as", "dev")
	if err == nil || !strings.Contains(stderr, "gammaguard-grants") {
		t.Errorf("label by a user who is no mesh admin: %v %s", err, stderr)
	}
}

// TestRegister serves webhooks that allow everything, and finds each of them
// called by the time that Register returns.
func TestRegister(t *testing.T) {
	var mu sync.Mutex
	called := map[string]bool{}
	allow := func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		called[r.URL.Path] = true
		mu.Unlock()
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
		if err := json.NewEncoder(w).Encode(review); err != nil {
			t.Error(err)
		}
	}
	server, ca := serve(t, http.HandlerFunc(allow))
	if err := guard.Register(t.Context(), plane, server.URL, ca); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if diff := cmp.Diff([]string{"/mutate", "/validate"}, slices.Sorted(maps.Keys(called))); diff != "" {
		t.Errorf("paths called (-want +got):\n%s", diff)
	}
}

// serve serves HTTPS on loopback with a certificate of package certs, and returns
// the CA bundle.
func serve(t *testing.T, handler http.Handler) (*httptest.Server, []byte) {
	t.Helper()
	bundle, err := selfsigned.New("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(bundle.Cert, bundle.Key)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(handler)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server, bundle.CA
}
