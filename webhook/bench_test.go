package webhook

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gammaguard/gammaguard/test/bench/floor"
)

// typicalReview is an AdmissionReview of a route of three rules as kubectl applies
// it, about 3 KB.
func typicalReview(t testing.TB, parent string) []byte {
	t.Helper()
	var rules []string
	for i := range 3 {
		rules = append(rules, fmt.Sprintf(`{matches: [{path: {type: PathPrefix, value: /v%d}, headers: [{type: Exact, name: x-env, value: canary}]}],
			filters: [{type: RequestHeaderModifier, requestHeaderModifier: {add: [{name: x-a, value: b}]}}],
			backendRefs: [{group: "", kind: Service, name: cart, port: 80, weight: 1}]}`, i))
	}
	rules = append(rules, `{matches: [{path: {type: PathPrefix, value: /}}], backendRefs: [{group: "", kind: Service, name: cart, port: 80, weight: 1}]}`)
	spec := "{parentRefs: [" + parent + "], rules: [" + strings.Join(rules, ", ") + "]}"
	a := admission{object: `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: web, namespace: shop, uid: 9f1c2d3e-1111-2222-3333-444455556666,
		generation: 1, creationTimestamp: "2026-01-02T03:04:05Z", annotations: {kubectl.kubernetes.io/last-applied-configuration: '` + strings.Join(strings.Fields(spec), " ") + `'},
		managedFields: [{manager: kubectl-client-side-apply, operation: Update, apiVersion: gateway.networking.k8s.io/v1, time: "2026-01-02T03:04:05Z",
		fieldsType: FieldsV1, fieldsV1: {"f:metadata": {"f:annotations": {".": {}, "f:kubectl.kubernetes.io/last-applied-configuration": {}}},
		"f:spec": {".": {}, "f:parentRefs": {}, "f:rules": {}}}}]}, spec: ` + spec + `}`}
	return a.body(t)
}

// warnedReview is an AdmissionReview of a route of two rules, about which there is
// much to say: its backend has no endpoints, and no rule matches all requests.
func warnedReview(t testing.TB) []byte {
	t.Helper()
	a := admission{object: `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: web, namespace: shop, generation: 1,
		uid: 9f1c2d3e-1111-2222-3333-444455556666, creationTimestamp: "2026-01-02T03:04:05Z", labels: {app: web},
		managedFields: [{manager: kubectl-create, operation: Update, apiVersion: gateway.networking.k8s.io/v1, time: "2026-01-02T03:04:05Z",
		fieldsType: FieldsV1, fieldsV1: {"f:metadata": {"f:labels": {".": {}, "f:app": {}}}, "f:spec": {".": {}, "f:parentRefs": {}, "f:rules": {}}}}]},
		spec: {parentRefs: [` + onCart + `], rules: [` + strings.Join(slices.Repeat([]string{
		`{matches: [{path: {type: PathPrefix, value: /v1/items}, headers: [{type: Exact, name: x-tenant, value: t1}]}],
		filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: x-route, value: web}]}}],
		backendRefs: [{group: "", kind: Service, name: idle, port: 80, weight: 1}, {group: "", kind: Service, name: idle, port: 80, weight: 2}]}`,
	}, 2), ", ") + `]}}`}
	a.object = strings.Replace(a.object, "value: t1", "value: t2", 1) // two different matches
	return a.body(t)
}

// discard is a ResponseWriter that keeps nothing but the status.
type discard struct {
	header http.Header
	code   int
	size   int
}

func (d *discard) Header() http.Header { return d.header }
func (d *discard) WriteHeader(code int) {
	d.code = code
}

func (d *discard) SetReadDeadline(time.Time) error  { return nil }
func (d *discard) SetWriteDeadline(time.Time) error { return nil }

func (d *discard) Write(p []byte) (int, error) {
	d.size += len(p)
	return len(p), nil
}

// caller posts the body to the handler again and again.
func caller(t testing.TB, handler http.Handler, body []byte) func() {
	t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, ValidatePath+"?timeout=5s", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.ContentLength = int64(len(body))
	reader := bytes.NewReader(body)
	req.Body = io.NopCloser(reader)
	w := &discard{header: http.Header{}}
	return func() {
		reader.Reset(body)
		w.code = http.StatusOK
		handler.ServeHTTP(w, req)
		if w.code != http.StatusOK {
			t.Fatalf("HTTP %d", w.code)
		}
	}
}

type benchmark struct {
	name    string
	handler http.Handler
	body    []byte
	// allocs is the most that one request may allocate.
	allocs float64
}

func benchmarks(t testing.TB) []benchmark {
	o := options(t, world(t, cluster))
	o.Log = logr.Discard()
	validating, mutating := Validating(o, newEngine(t, nil)), Mutating(o, newEngine(t, nil))
	good := typicalReview(t, onCart)
	return []benchmark{
		{"floor", http.HandlerFunc(floor.Admit), good, 45},
		{"controller-runtime", published(t), good, 320},
		{"validating", validating, good, 122},
		{"mutating", mutating, good, 102},
		{"validating-warned", validating, warnedReview(t), 142},
		{"validating-denied", validating, typicalReview(t, `{group: "", kind: Service, name: headless}`), 186},
		{"mutating-changed", mutating, typicalReview(t, `{kind: Service, name: cart}`), 162},
	}
}

// published admits routes as a webhook on controller-runtime's handlers does, which decode the
// review and then the object into the published types.
func published(t testing.TB) http.Handler {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := gatewayv1.Install(scheme); err != nil {
		t.Fatal(err)
	}
	decoder := ctrladmission.NewDecoder(scheme)
	return &ctrladmission.Webhook{Handler: ctrladmission.HandlerFunc(func(_ context.Context, req ctrladmission.Request) ctrladmission.Response {
		var route gatewayv1.HTTPRoute
		if err := decoder.Decode(req, &route); err != nil {
			return ctrladmission.Errored(http.StatusBadRequest, err)
		}
		return ctrladmission.Allowed("")
	})}
}

// BenchmarkHandler compares the handlers with the floor, and with controller-runtime's.
func BenchmarkHandler(b *testing.B) {
	for _, bench := range benchmarks(b) {
		b.Run(bench.name, func(b *testing.B) {
			call := caller(b, bench.handler, bench.body)
			b.ReportAllocs()
			b.SetBytes(int64(len(bench.body)))
			for b.Loop() {
				call()
			}
		})
	}
}

// BenchmarkDecode decodes so many different reviews in turn.
func BenchmarkDecode(b *testing.B) {
	review := warnedReview(b)
	for _, size := range []int{10, 100, 1_000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("reviews=%d", size), func(b *testing.B) {
			bodies := make([][]byte, size)
			for i := range bodies {
				bodies[i] = bytes.ReplaceAll(review, []byte("web"), fmt.Appendf(nil, "web-%d", i))
			}
			b.ReportAllocs()
			b.SetBytes(int64(len(review)))
			for i := 0; b.Loop(); i++ {
				if _, err := decodeReview(bodies[i%size]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestDecodeAllocations holds the decoding of a review to a ceiling.
func TestDecodeAllocations(t *testing.T) {
	const most = 74
	review := warnedReview(t)
	got := testing.AllocsPerRun(100, func() {
		if _, err := decodeReview(review); err != nil {
			t.Fatal(err)
		}
	})
	t.Logf("%.0f allocations a review", got)
	if got > most {
		t.Errorf("%.0f allocations a review, want at most %d", got, most)
	}
}

// TestAllocations holds the handlers to ceilings.
func TestAllocations(t *testing.T) {
	for _, bench := range benchmarks(t) {
		call := caller(t, bench.handler, bench.body)
		call()
		if got := testing.AllocsPerRun(100, call); got > bench.allocs {
			t.Errorf("%s: %.0f allocations a request, want at most %.0f", bench.name, got, bench.allocs)
		} else {
			t.Logf("%s: %.0f allocations a request", bench.name, got)
		}
	}
}
