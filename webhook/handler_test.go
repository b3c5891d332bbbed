package webhook

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/gammaguard/gammaguard/mesh"
)

func post(handler http.Handler, contentType string, body io.Reader) *httptest.ResponseRecorder {
	req := httptest.NewRequestWithContext(context.Background(), http.MethodPost, ValidatePath, body)
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, req)
	return recorder
}

// TestNoReview posts what is no AdmissionReview to both webhooks.
func TestNoReview(t *testing.T) {
	const json = "application/json"
	o := options(t, world(t, cluster))
	good := (&admission{object: routeOn(onCart)}).body(t)
	for _, handler := range []http.Handler{Validating(o, newEngine(t, nil)), Mutating(o, newEngine(t, nil))} {
		for _, test := range []struct {
			name, contentType string
			body              io.Reader
			code              int
			says              string
		}{
			{"empty", json, strings.NewReader(""), 400, "empty"},
			{"spaces", json, strings.NewReader(" \n"), 400, "empty"},
			{"malformed", json, strings.NewReader(`{"kind":`), 400, "not an AdmissionReview"},
			{"cut off", json, bytes.NewReader(good[:len(good)-1]), 400, "not an AdmissionReview"},
			{"two documents", json, strings.NewReader(string(good) + string(good)), 400, "not an AdmissionReview"},
			{"no object", json, strings.NewReader(`"text"`), 400, "not an AdmissionReview"},
			{"null", json, strings.NewReader(`null`), 400, "want admission.k8s.io/v1, AdmissionReview"},
			{"wrong version", json, strings.NewReader(strings.Replace(string(good), "admission.k8s.io/v1", "admission.k8s.io/v1beta1", 1)), 400, `"admission.k8s.io/v1beta1"`},
			{"wrong kind", json, strings.NewReader(strings.Replace(string(good), "AdmissionReview", "TokenReview", 1)), 400, `"TokenReview"`},
			{"other case", json, strings.NewReader(strings.Replace(string(good), `"request"`, `"Request"`, 1)), 400, "no request"},
			{"no request", json, strings.NewReader(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}`), 400, "no request"},
			{"no uid", json, strings.NewReader(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{}}`), 400, "no uid"},
			{"uid of the wrong type", json, strings.NewReader(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":1}}`), 400, "not an AdmissionReview"},
			{"no content type", "", bytes.NewReader(good), 415, "application/json"},
			{"wrong content type", "application/yaml", bytes.NewReader(good), 415, "application/json"},
			{"broken content type", "application/json;;", bytes.NewReader(good), 415, "application/json"},
			{"too large", json, bytes.NewReader(make([]byte, maxBody+1)), 413, "larger than"},
			{"too large, of unknown length", json, io.LimitReader(zeros{}, maxBody+1), 413, "larger than"},
			{"client gone", json, io.MultiReader(strings.NewReader("{"), failing{}), 400, "read the body"},
		} {
			t.Run(test.name, func(t *testing.T) {
				got := post(handler, test.contentType, test.body)
				if got.Code != test.code || !strings.Contains(got.Body.String(), test.says) {
					t.Errorf("got %d %q, want %d and %q", got.Code, got.Body, test.code, test.says)
				}
			})
		}
		if got := post(handler, "application/json; charset=utf-8", bytes.NewReader(good)); got.Code != http.StatusOK {
			t.Errorf("content type with a parameter: %d %s", got.Code, got.Body)
		}
		for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete, http.MethodHead} {
			recorder := httptest.NewRecorder()
			handler.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), method, ValidatePath, nil))
			if recorder.Code != http.StatusMethodNotAllowed || recorder.Header().Get("Allow") != http.MethodPost {
				t.Errorf("%s: got %d with Allow %q", method, recorder.Code, recorder.Header().Get("Allow"))
			}
		}
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("connection reset") }

// broken is a world that has a mistake in it.
type broken struct{ mesh.Reader }

func (broken) Do(mesh.Read) mesh.Answer { panic("mistake") }

func TestPanicIsAnswered(t *testing.T) {
	o := options(t, broken{})
	got := post(Validating(o, newEngine(t, nil)), "application/json", bytes.NewReader((&admission{object: routeOn(onCart)}).body(t)))
	if got.Code != http.StatusInternalServerError || strings.Contains(got.Body.String(), "mistake") {
		t.Errorf("got %d %q, want 500 and no details", got.Code, got.Body)
	}
}

// unsynced is a world that is not complete yet.
type unsynced struct{ deadline chan time.Time }

func (unsynced) HasSynced() bool { return false }
func (unsynced) Stale() error    { return nil }

func (u unsynced) WaitForSync(ctx context.Context) error {
	deadline, _ := ctx.Deadline()
	u.deadline <- deadline
	return errors.New("not yet listed: services")
}

// TestNotSynced: before the caches are complete nothing is denied, nothing is
// admitted, and nothing is repaired.
func TestNotSynced(t *testing.T) {
	o := options(t, world(t, ""))
	sync := unsynced{make(chan time.Time, 2)}
	o.Sync = sync
	response := ask(t, Validating(o, newEngine(t, nil)), admission{object: routeOn(onCart)})
	if response.Allowed || response.Result.Code != http.StatusInternalServerError || !strings.Contains(response.Result.Message, "not yet listed: services") {
		t.Errorf("validating: %+v", response)
	}
	response = ask(t, Mutating(o, newEngine(t, nil)), admission{object: routeOn(`{kind: Service, name: cart}`)})
	if !response.Allowed || response.Patch != nil {
		t.Errorf("mutating: %+v", response)
	}
	for range 2 {
		// ask says that the API server waits for five seconds.
		if left := time.Until(<-sync.deadline); left > 4600*time.Millisecond {
			t.Errorf("%s are left, which is too close to what the API server waits", left)
		}
	}
}

func TestBuildInfo(t *testing.T) {
	registry := prometheus.NewRegistry()
	if _, err := NewMetrics(registry); err != nil {
		t.Fatal(err)
	}
	if n, err := testutil.GatherAndCount(registry, "gammaguard_build_info"); n != 1 || err != nil {
		t.Errorf("%d series, %v, want 1", n, err)
	}
}

func TestMetrics(t *testing.T) {
	o := options(t, world(t, cluster))
	validating := Validating(o, newEngine(t, nil))
	ask(t, validating, admission{object: routeOn(onCart)})
	ask(t, validating, admission{object: routeOn(`{group: "", kind: Service, name: headless}`)})
	ask(t, validating, admission{dryRun: true, object: routeOn(`{group: "", kind: Service, name: missing}`)})
	ask(t, validating, admission{object: `{kind: Pod, metadata: {name: web}}`})
	ask(t, Mutating(o, newEngine(t, nil)), admission{object: routeOn(`{kind: Service, name: cart}`)})
	post(validating, "application/json", strings.NewReader("{"))
	o.Metrics.Read("Service", mesh.ErrNotServed)
	o.Metrics.Unreadable("HTTPRoute")
	want := `
# HELP gammaguard_webhook_requests_total Admission requests by webhook, route kind, operation, verdict (admit, mutate, deny, error, malformed), and whether the caller was authenticated by a client certificate.
# TYPE gammaguard_webhook_requests_total counter
gammaguard_webhook_requests_total{authenticated="false",kind="HTTPRoute",operation="CREATE",verdict="admit",webhook="validate"} 2
gammaguard_webhook_requests_total{authenticated="false",kind="HTTPRoute",operation="CREATE",verdict="deny",webhook="validate"} 1
gammaguard_webhook_requests_total{authenticated="false",kind="HTTPRoute",operation="CREATE",verdict="mutate",webhook="mutate"} 1
gammaguard_webhook_requests_total{authenticated="false",kind="other",operation="CREATE",verdict="malformed",webhook="validate"} 1
gammaguard_webhook_requests_total{authenticated="false",kind="other",operation="other",verdict="malformed",webhook="validate"} 1
`
	if err := testutil.CollectAndCompare(o.Metrics.requests, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
	want = `
# HELP gammaguard_findings_total Findings of the validating webhook by rule, effect (deny, warn, audit, off), why the effect is less severe than the action of the rule (update, dry-run, mode, exemption, annotation, mutation), namespace (_other beyond the first 500, and where it does not exist), and whether the caller was authenticated by a client certificate.
# TYPE gammaguard_findings_total counter
gammaguard_findings_total{authenticated="false",downgraded="",effect="deny",namespace="shop",rule="parent-headless"} 1
gammaguard_findings_total{authenticated="false",downgraded="dry-run",effect="warn",namespace="shop",rule="parent-not-found"} 1
`
	if err := testutil.CollectAndCompare(o.Metrics.findings, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
	want = `
# HELP gammaguard_live_reads_total Live reads from the API server that confirm a denial or a mutation, by kind and result (found, not-found, error, and limited: not made, because callers caused too many).
# TYPE gammaguard_live_reads_total counter
gammaguard_live_reads_total{kind="Service",result="not-found"} 1
`
	if err := testutil.CollectAndCompare(o.Metrics.reads, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
	if got := testutil.ToFloat64(o.Metrics.unreadable.WithLabelValues("HTTPRoute")); got != 1 {
		t.Errorf("%v unreadable objects, want 1", got)
	}
}
