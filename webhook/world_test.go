package webhook

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/go-logr/logr/testr"
	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admission/v1"
	"sigs.k8s.io/yaml"

	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
	"github.com/gammaguard/gammaguard/validate/rules"
)

// cluster is a small cluster: the namespace shop is granted all and has a Service
// of each sort, other has a Service, and nobody is granted nothing.
//
//go:embed testdata/cluster.yaml
var cluster string

// world returns a complete world of the manifests.
func world(t testing.TB, manifests string) *manifest.Set {
	t.Helper()
	objects, err := manifest.Read("world.yaml", []byte(manifests), "default")
	if err != nil {
		t.Fatal(err)
	}
	set := manifest.NewSet(manifest.Options{Complete: true})
	for _, object := range objects {
		if err := set.Put(object); err != nil {
			t.Fatal(err)
		}
	}
	return set
}

// source is a live.Source of a world that counts what it is asked, and fails where
// it is told to.
type source struct {
	mesh.Reader
	fail error

	mu    sync.Mutex
	reads []string
}

// Do implements live.Source.
func (s *source) Do(_ context.Context, read mesh.Read) mesh.Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads = append(s.reads, read.String())
	switch {
	case read.Kind != mesh.ReadObject && s.fail == nil:
		return s.Reader.Do(read)
	case s.fail == nil:
		return mesh.Answer{Err: mesh.ErrNotFound}
	case read.Kind == mesh.ReadObject:
		return mesh.Answer{Err: mesh.ErrUnknown}
	}
	return mesh.Answer{Err: s.fail}
}

// options are those of a webhook over the world, which is exact.
func options(t testing.TB, world mesh.Reader) Options {
	t.Helper()
	metrics, err := NewMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Reader: world, Metrics: metrics}
	if t, ok := t.(*testing.T); ok {
		o.Log = testr.New(t)
	}
	return o
}

func newEngine(t testing.TB, actions map[string]validate.Action) *validate.Engine {
	t.Helper()
	engine, err := validate.New(rules.Catalog(), &validate.Policy{Actions: actions})
	if err != nil {
		t.Fatal(err)
	}
	return engine
}

// admission is what a test asks.
type admission struct {
	operation   string // CREATE if it is empty
	object, old string // in YAML
	dryRun      bool
	subResource string
	user        string // dev if it is empty
}

// body returns the AdmissionReview as the API server posts it.
func (a *admission) body(t testing.TB) []byte {
	t.Helper()
	raw := func(text string) json.RawMessage {
		if text == "" {
			return json.RawMessage("null")
		}
		data, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	var object struct {
		Kind     string `json:"kind"`
		Metadata struct {
			Name      string `json:"name"`
			Namespace string `json:"namespace"`
		} `json:"metadata"`
	}
	if err := yaml.Unmarshal([]byte(a.object), &object); err != nil {
		t.Fatal(err)
	}
	operation := a.operation
	if operation == "" {
		operation = operationCreate
	}
	body, err := json.Marshal(map[string]any{
		"apiVersion": reviewVersion, "kind": reviewKind,
		"request": map[string]any{
			"uid":         "5f4c1e50-7a33-4c1b-9b39-6a1d3f5c9d11",
			"kind":        map[string]string{"group": mesh.GatewayGroup, "version": "v1", "kind": object.Kind},
			"name":        object.Metadata.Name,
			"namespace":   object.Metadata.Namespace,
			"operation":   operation,
			"subResource": a.subResource,
			"userInfo":    map[string]any{"username": cmp.Or(a.user, "dev"), "groups": []string{"developers", "system:authenticated"}},
			"object":      raw(a.object), "oldObject": raw(a.old), "dryRun": a.dryRun,
			"options": map[string]string{"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// ask posts the request to the handler and returns its response.
func ask(t testing.TB, handler http.Handler, a admission) *admissionv1.AdmissionResponse {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, ValidatePath+"?timeout=5s", bytes.NewReader(a.body(t)))
	req.Header.Set("Content-Type", "application/json")
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, req)
	if recorder.Code != http.StatusOK {
		t.Fatalf("HTTP %d: %s", recorder.Code, recorder.Body)
	}
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(recorder.Body.Bytes(), &review); err != nil {
		t.Fatalf("%v in %s", err, recorder.Body)
	}
	if review.APIVersion != reviewVersion || review.Kind != reviewKind || review.Response == nil {
		t.Fatalf("not an AdmissionReview with a response: %s", recorder.Body)
	}
	if got, want := string(review.Response.UID), "5f4c1e50-7a33-4c1b-9b39-6a1d3f5c9d11"; got != want {
		t.Fatalf("uid %q, want %q", got, want)
	}
	return review.Response
}

// routeOn returns an HTTPRoute in shop with these parentRefs, in YAML flow style.
func routeOn(parentRefs string) string {
	return "{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: web, namespace: shop, uid: u1}, spec: {parentRefs: [" +
		parentRefs + "], " + elsewhere + "}}"
}

// elsewhere are the rules of routeOn, whose backend no rule looks at.
const elsewhere = "rules: [{backendRefs: [{group: example.com, kind: Pool, name: pool}]}]"

const onCart = `{group: "", kind: Service, name: cart}`
