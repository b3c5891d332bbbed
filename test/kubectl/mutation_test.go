package kubectl

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/test/bed/guard"
)

// store is what the proposal's example needs to be there.
const store = `
apiVersion: v1
kind: Namespace
metadata: {name: %[1]s, labels: {gammaguard.dev/grant: producer}}
---
apiVersion: v1
kind: Service
metadata: {name: foo, namespace: %[1]s}
spec: {ports: [{port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: foo-v2, namespace: %[1]s}
spec: {ports: [{port: 8080}]}
`

// example is the proposal's example (GEP-1294, API).
const example = `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: foo-route, namespace: %[1]s}
spec:
  parentRefs:
  - kind: Service
    name: foo
  rules:
  - backendRefs:
    - {kind: Service, name: foo, weight: 90}
    - {kind: Service, name: foo-v2, weight: 10}
`

// TestApplyAgain applies the proposal's example, from the client's and from the
// server's side: a second apply changes nothing, and kubectl diff has nothing to
// show.
func TestApplyAgain(t *testing.T) {
	start(t, "")
	for side, flags := range map[string][]string{"client": nil, "server": {"--server-side"}} {
		t.Run(side, func(t *testing.T) {
			namespace := "again-" + side
			apply(t, fmt.Sprintf(store, namespace))
			manifest := fmt.Sprintf(example, namespace)
			var reported []string
			for _, warning := range apply(t, manifest, flags...) {
				if strings.HasPrefix(warning, "set ") {
					reported = append(reported, warning)
				}
			}
			if len(reported) != 3 {
				t.Errorf("the first apply reported %d changes, want 3: %q", len(reported), reported)
			}
			generation := func() string {
				out, _ := kubectl(t, "", "get", "httproute", "foo-route", "-n", namespace, "-o", "jsonpath={.metadata.generation}")
				return out
			}
			before := generation()
			apply(t, manifest, flags...)
			if after := generation(); after != before {
				t.Errorf("a second apply made generation %s of %s", after, before)
			}
			// kubectl diff exits with 1 if there is a difference.
			out, stderr, err := plane.Kubectl(t.Context(), manifest, append([]string{"diff", "-f", "-"}, flags...)...)
			if err != nil || out != "" {
				t.Errorf("kubectl diff: %v %s\n%s", err, stderr, out)
			}
		})
	}
}

// TestReplicasMutateAlike posts one review to two replicas.
func TestReplicasMutateAlike(t *testing.T) {
	one := start(t, "")
	two := another(t)
	const namespace = "alike"
	apply(t, fmt.Sprintf(store, namespace))
	review := fmt.Sprintf(`{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
		"uid": "1", "operation": "CREATE", "name": "foo-route", "namespace": %[1]q,
		"kind": {"group": "gateway.networking.k8s.io", "version": "v1", "kind": "HTTPRoute"},
		"object": {"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "metadata": {"name": "foo-route", "namespace": %[1]q},
			"spec": {"parentRefs": [{"group": "core", "kind": "Service", "name": "foo"}],
				"rules": [{"backendRefs": [{"name": "foo"}, {"group": "core", "name": "foo-v2"}]}]}}}}`, namespace)
	first, second := post(t, one, review), post(t, two, review)
	if !bytes.Contains(first, []byte(`"patch"`)) {
		t.Errorf("no patch in the answer: %s", first)
	}
	if diff := cmp.Diff(string(first), string(second)); diff != "" {
		t.Errorf("answers (-one replica +another):\n%s", diff)
	}
}

// another starts a second replica beside the registered one.
func another(t *testing.T) *guard.Guard {
	t.Helper()
	g, err := guard.Start(t.Context(), plane, guard.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Stop(); err != nil {
			t.Error(err)
		}
	})
	return g
}

// post posts a review to the mutating webhook and returns the answer.
func post(t *testing.T, g *guard.Guard, review string) []byte {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(g.CA)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}}
	defer client.CloseIdleConnections()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.URL+"/mutate?timeout=5s", strings.NewReader(review))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	answer, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %v: %s", response.Status, err, answer)
	}
	return answer
}

// TestWithoutMutation tries what the mutating webhook would fix while it is away:
// each is refused, by a rule or by the API's own validation, in words that say how
// to write it.
func TestWithoutMutation(t *testing.T) {
	start(t, "")
	kubectl(t, "", "delete", "mutatingwebhookconfiguration", "gammaguard")
	const namespace = "unmended"
	apply(t, fmt.Sprintf(store, namespace))
	apply(t, fmt.Sprintf(`{apiVersion: v1, kind: Service, metadata: {name: two, namespace: %s}, spec: {ports: [{name: a, port: 1}, {name: b, port: 2}]}}`, namespace))
	const route = `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: route, namespace: %s}, spec: {parentRefs: [%s], rules: [{backendRefs: [%s]}]}}`
	for _, test := range []struct{ name, parents, backends, want string }{
		{"group left out", `{kind: Service, name: foo}`, `{name: foo, port: 80}`, `set group: "" (parent-group-invalid)`},
		{"group core", `{group: core, kind: Service, name: foo}`, `{name: foo, port: 80}`, `set group: "" (parent-group-invalid)`},
		{"group v1", `{group: v1, kind: Service, name: foo}`, `{name: foo, port: 80}`, `set group: "" (parent-group-invalid)`},
		{"group with a version", `{group: core/v1, kind: Service, name: foo}`, `{name: foo, port: 80}`, `spec.parentRefs[0].group in body should match`},
		{"import without a group", `{kind: ServiceImport, name: foo}`, `{name: foo, port: 80}`, `set group: multicluster.x-k8s.io (parent-group-invalid)`},
		{"backend in core", `{group: "", kind: Service, name: foo}`, `{group: core, name: foo, port: 80}`, `(backend-group-invalid)`},
		{"backend without port", `{group: "", kind: Service, name: foo}`, `{name: foo}`, `Must have port for Service reference`},
		{
			"ports of one Service", `{group: "", kind: Service, name: two, port: 1}, {group: "", kind: Service, name: two, port: 2}`, `{name: foo, port: 80}`,
			`sectionName must be unique when parentRefs includes 2 or more references to the same parent`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, stderr, err := plane.Kubectl(t.Context(), fmt.Sprintf(route, namespace, test.parents, test.backends), "apply", "-f", "-")
			if err == nil || !strings.Contains(stderr, test.want) {
				t.Errorf("got %v, want a refusal with %q:\n%s", err, test.want, stderr)
			}
		})
	}
}
