package webhook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/gammaguard/gammaguard/mesh"
	others "github.com/gammaguard/gammaguard/test/hostile"
	"github.com/gammaguard/gammaguard/validate"
	"github.com/gammaguard/gammaguard/validate/rules"
)

// seeds are reviews of all sorts, sound ones and others.
func seeds(f *testing.F) {
	for _, a := range []admission{
		{object: routeOn(onCart)},
		{object: routeOn(`{kind: Service, name: cart}, {group: "", kind: Service, name: headless, port: 80, sectionName: http}`)},
		{operation: "UPDATE", object: routeOn(`{group: "", kind: Service, name: headless}`), old: routeOn(onCart)},
		{operation: "UPDATE", object: routeOn(onCart), old: `{kind: Pod}`},
		{operation: "DELETE", old: routeOn(onCart)},
		{dryRun: true, object: routeOn(`{group: "", kind: Service, name: "../x", namespace: nobody}`)},
		{object: `{kind: TCPRoute, metadata: {name: raw, namespace: shop}, spec: {parentRefs: [` + onCart + `], rules: [{backendRefs: [{name: cart}]}]}}`},
		{object: `{kind: GRPCRoute, metadata: {generateName: g-, namespace: shop, deletionTimestamp: "2026-01-01T00:00:00Z"}}`},
		{object: `{kind: HTTPRoute, metadata: {name: web, namespace: shop}, spec: 5}`},
		{object: `{kind: Pod}`},
	} {
		f.Add(a.body(f))
	}
	for _, text := range []string{
		"", " ", "{", "null", `{"":A`, `{"request":{"":[`, "[]", `"text"`, `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}`,
		`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"\u0000\"","operation":"CREATE","object":{"kind":"HTTPRoute","spec":{"rules":[{"matches":[{"method":{}}]}]}}}}`,
	} {
		f.Add([]byte(text))
	}
}

// FuzzDecodeReview: a body is decoded to a review with a uid, or refused.
func FuzzDecodeReview(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := decodeReview(body)
		if r == nil && err == nil {
			t.Fatal("neither a review nor an error")
		}
		if r == nil {
			return
		}
		if r.UID == "" {
			t.Error("a review without a uid")
		}
		var fault *objectError
		if errors.As(err, &fault) && fault.cause == nil {
			t.Error("an object with a fault, and none is named")
		}
		if err == nil && r.judged() && !mesh.IsRouteKind(string(r.Object.Kind)) {
			t.Errorf("kind %q is taken for a route", r.Object.Kind)
		}
		r.specUnchanged()
	})
}

// said is all that people read of an answer.
func said(response *admissionv1.AdmissionResponse) string {
	texts := slices.Clone(response.Warnings)
	if status := response.Result; status != nil {
		texts = append(texts, status.Message)
		if status.Details != nil {
			for _, cause := range status.Details.Causes {
				texts = append(texts, cause.Field+": "+cause.Message)
			}
		}
	}
	return strings.Join(texts, "\n")
}

// TestHostileText: what others wrote into a route, and into what it refers to, only shows
// in warnings and denials.
func TestHostileText(t *testing.T) {
	name := strings.ReplaceAll(others.Text, "'", "")
	refs := fmt.Sprintf(`{group: "", kind: Service, name: %[1]s}, {group: %[1]s, kind: service, name: %[1]s}, {group: "", kind: Service, name: cart, sectionName: %[1]s}`, others.JSON(name))
	body := strings.Replace(routeOn(refs), "metadata: {", `metadata: {annotations: {"gammaguard.dev/ignore": `+others.JSON(name)+`}, `, 1)
	actions := map[string]validate.Action{}
	for _, rule := range rules.Catalog() {
		actions[rule.ID] = validate.Warn
	}
	for verdict, engine := range map[string]*validate.Engine{"denied": newEngine(t, nil), "warned": newEngine(t, actions)} {
		response := ask(t, Validating(options(t, world(t, cluster)), engine), admission{object: body})
		text := said(response)
		if err := others.Check("text", text); err != nil || !strings.Contains(text, `\x1b]0;pwned`) || len(text) < 200 {
			t.Errorf("%s: %v\n%s", verdict, err, text)
		}
		if response.Allowed != (verdict == "warned") {
			t.Errorf("%s: allowed is %t", verdict, response.Allowed)
		}
	}
}

// FuzzHandlers: whatever is posted, the answer is a 4xx, or a review with the uid
// that was sent; only the validating webhook refuses.
func FuzzHandlers(f *testing.F) {
	seeds(f)
	o := options(f, world(f, cluster))
	validating, mutating := Validating(o, newEngine(f, nil)), Mutating(o, newEngine(f, nil))
	f.Fuzz(func(t *testing.T, body []byte) {
		for path, handler := range map[string]http.Handler{ValidatePath: validating, mutatePath: mutating} {
			req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, bytes.NewReader(body))
			req.Header.Set("Content-Type", "application/json")
			recorder := httptest.NewRecorder()
			handler.ServeHTTP(recorder, req)
			if recorder.Code >= 400 && recorder.Code < 500 {
				continue
			}
			var answered admissionv1.AdmissionReview
			if err := json.Unmarshal(recorder.Body.Bytes(), &answered); err != nil || recorder.Code != http.StatusOK || answered.Response == nil {
				t.Fatalf("%s: %d %s (%v)", path, recorder.Code, recorder.Body, err)
			}
			sent, err := decodeReview(body)
			if sent == nil {
				t.Fatalf("%s: answered %s to what is no review: %v", path, recorder.Body, err)
			}
			response := answered.Response
			if got := string(response.UID); got != sent.UID {
				t.Errorf("%s: uid %q, want %q", path, got, sent.UID)
			}
			if err := others.Check("text", said(response)); err != nil {
				t.Errorf("%s: %v", path, err)
			}
			if response.Allowed != (response.Result == nil) || path == mutatePath && !response.Allowed || path == ValidatePath && response.Patch != nil {
				t.Errorf("%s: %s", path, recorder.Body)
			}
		}
	})
}
