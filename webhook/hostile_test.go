package webhook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

// hostile are requests that are as large as they may be, and made to cost more than
// their size. %s is their bulk.
var hostile = []struct {
	name string
	// review is the request without its envelope, or the object of a CREATE.
	review, object string
	bulk           func(i int) string
	// tooMany is what the validating webhook refuses it for.
	tooMany string
}{
	{name: "parentRefs", tooMany: "spec.parentRefs: must have at most 32 items", object: `"spec":{"parentRefs":[%s],"rules":[{"backendRefs":[{"name":"cart"}]}]}`, bulk: func(i int) string {
		return fmt.Sprintf(`{"kind":"Service","name":"cart","namespace":"n%d","port":80},`, i)
	}},
	{name: "empty parentRefs", tooMany: "spec.parentRefs: must have at most 32 items", object: `"spec":{"parentRefs":[%s]}`, bulk: each(`{},`)},
	{name: "empty rules", tooMany: "spec.rules: must have at most 16 items", object: `"spec":{"parentRefs":[` + cartRef + `],"rules":[%s]}`, bulk: each(`{},`)},
	{name: "no rules", object: `"spec":{"parentRefs":[` + cartRef + `],"rules":[%s]}`, bulk: each(`0,`)},
	{name: "matches", tooMany: "spec.rules[0].matches: must have at most 64 items", object: `"spec":{"parentRefs":[` + cartRef + `],"rules":[{"matches":[%s]}]}`, bulk: each(`{},`)},
	{name: "headers", tooMany: "spec.rules[0].matches[0].headers: must have at most 16 items", object: `"spec":{"parentRefs":[` + cartRef + `],"rules":[{"matches":[{"headers":[%s]}]}]}`, bulk: each(`{},`)},
	{name: "filters", tooMany: "spec.rules[0].filters: must have at most 16 items", object: `"spec":{"parentRefs":[` + cartRef + `],"rules":[{"filters":[%s]}]}`, bulk: each(`{"requestMirror":{}},`)},
	{name: "backendRefs", tooMany: "spec.rules[0].backendRefs: must have at most 16 items", object: `"spec":{"parentRefs":[` + cartRef + `],"rules":[{"backendRefs":[%s]}]}`, bulk: each(`{},`)},
	{name: "hostnames", tooMany: "spec.hostnames: must have at most 1024 items", object: `"spec":{"parentRefs":[` + cartRef + `],"hostnames":[%s]}`, bulk: each(`"",`)},
	{name: "lists again and again", object: `"spec":{%s"parentRefs":[` + cartRef + `]}`, bulk: each(`"rules":[{"matches":[{},{},{},{}]},{},{}],`)},
	{name: "mirrors again and again", object: `"spec":{"parentRefs":[` + cartRef + `],"rules":[{"filters":[{%s"type":"x"}]}]}`, bulk: each(`"requestMirror":{},"requestMirror":null,`)},
	{name: "lists that are not read", object: `"spec":{"parentRefs":[` + cartRef + `],"useDefaultGateways":[%s]}`, bulk: each(`{},`)},
	{name: "annotations", object: `"metadata":{"annotations":{%s"a":""}},"spec":{"parentRefs":[` + cartRef + `]}`, bulk: func(i int) string { return fmt.Sprintf(`"a%d":"",`, i) }},
	{name: "ignored rules", object: `"metadata":{"annotations":{"gammaguard.dev/ignore":"%s"}},"spec":{"parentRefs":[` + cartRef + `]}`, bulk: func(i int) string {
		return strconv.Itoa(i) + ","
	}},
	{name: "a name", object: `"spec":{"parentRefs":[{"group":"","kind":"Service","name":"%s"}]}`, bulk: each(`a`)},
	{name: "a name with escapes", object: `"spec":{"parentRefs":[{"group":"","kind":"Service","name":"%s"}]}`, bulk: each(`\u0007`)},
	{name: "a name of its own", object: `"metadata":{"name":"%s"},"spec":{"parentRefs":[{"group":"","kind":"Service","name":"gone"}]}`, bulk: each(`a`)},
	{name: "a port", object: `"spec":{"parentRefs":[{"group":"","kind":"Service","name":"cart","port":%s1}]}`, bulk: each(`1`)},
	{name: "nesting", object: `"spec":{"parentRefs":[` + cartRef + `],"other":%s}`, bulk: each(`[`)},
	{name: "spaces", object: `"spec":{"parentRefs":[` + cartRef + `]%s}`, bulk: each(` `)},
	{name: "groups", review: `"userInfo":{"groups":[%s"a"]}`, bulk: each(`"",`)},
	{name: "extra", review: `"userInfo":{"extra":{%s"a":[]}}`, bulk: func(i int) string { return fmt.Sprintf(`"a%d":["b"],`, i) }},
	{name: "a uid", review: `"uid":"%s"`, bulk: each(`a`)},
	{name: "an unknown field", review: `"%s":1`, bulk: each(`a`)},
	{
		name:   "an update of a large field",
		review: `"operation":"UPDATE","object":{"kind":"HTTPRoute","spec":{"parentRefs":[` + cartRef + `]}},"oldObject":{"kind":"HTTPRoute","spec":{"b":0,"a":[%s0]}}`,
		bulk:   each(`{"b":1.0,"a":[]},`),
	},
	{
		name:   "an update of many parentRefs",
		review: `"operation":"UPDATE","object":{"kind":"HTTPRoute","spec":{"parentRefs":[{"group":"","kind":"Service","name":"gone"}]}},"oldObject":{"kind":"HTTPRoute","spec":{"parentRefs":[%s0]}}`,
		bulk:   each(`{},`),
	},
}

const cartRef = `{"group":"","kind":"Service","name":"cart","namespace":"shop"}`

func each(text string) func(int) string { return func(int) string { return text } }

// hostileBody returns the request, nearly as large as the largest that is read.
func hostileBody(review, object string, bulk func(int) string) []byte {
	if review == "" {
		review = `"object":{"kind":"HTTPRoute",` + object + `}`
	}
	before, after, _ := strings.Cut(review, "%s")
	var body strings.Builder
	body.WriteString(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"1","operation":"CREATE","namespace":"shop",` + before)
	for i := 0; body.Len() < maxBody-1<<10; i++ {
		body.WriteString(bulk(i))
	}
	text := body.String()
	if strings.HasSuffix(before, "[") && strings.HasPrefix(after, "]") {
		text = strings.TrimSuffix(text, ",")
	}
	return []byte(text + after + "}}")
}

// TestHostileRequests: whatever a request holds, it costs memory in proportion to its
// size, hardly any live reads, and the answer is small.
func TestHostileRequests(t *testing.T) {
	for _, test := range hostile {
		body := hostileBody(test.review, test.object, test.bulk)
		now := &source{Reader: world(t, cluster)}
		o := options(t, world(t, cluster))
		o.Live = now
		for path, handler := range map[string]http.Handler{ValidatePath: Validating(o, newEngine(t, nil)), mutatePath: Mutating(o, newEngine(t, nil))} {
			t.Run(test.name+path, func(t *testing.T) {
				now.reads = nil
				recorder := wantCheap(t, handler, path, body, 16)
				t.Logf("%d live reads", len(now.reads))
				if says := "gammaguard cannot read the object: not a route: " + test.tooMany; test.tooMany != "" && path == ValidatePath &&
					!strings.Contains(recorder.Body.String(), says+`"`) {
					t.Errorf("%s, want %q", recorder.Body, says)
				}
				if answer := recorder.Body.String(); test.tooMany != "" && path == mutatePath && !strings.HasSuffix(answer, `"allowed":true}}`) {
					t.Errorf("%s: neither passed on nor without a patch", answer)
				}
				if len(now.reads) > 2 {
					t.Errorf("%d live reads", len(now.reads))
				}
			})
		}
	}
}

// wantCheap fails where a request allocates more bytes for each byte of its body, or its
// answer is large.
func wantCheap(t *testing.T, handler http.Handler, path string, body []byte, most float64) *httptest.ResponseRecorder {
	t.Helper()
	const mostAnswer = 64 << 10 // bytes
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, bytes.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	recorder := httptest.NewRecorder()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	handler.ServeHTTP(recorder, req)
	runtime.ReadMemStats(&after)
	factor := float64(after.TotalAlloc-before.TotalAlloc) / float64(len(body))
	t.Logf("%d: %.1f times the body, an answer of %d bytes", recorder.Code, factor, recorder.Body.Len())
	if factor > most {
		t.Errorf("%.1f bytes are allocated for each byte of the body, want at most %.0f", factor, most)
	}
	if size := recorder.Body.Len(); size > mostAnswer {
		t.Errorf("the answer has %d bytes, want at most %d", size, mostAnswer)
	}
	return recorder
}

// hostilePreviews are changes of Namespaces and Services that are made to cost more than
// their size. %s is their bulk.
var hostilePreviews = []struct {
	name, path, review string
	bulk               func(i int) string
}{
	{"labels", labelsPath, `"operation":"UPDATE","object":{"metadata":{"name":"shop","labels":{%s"a":""}}},"oldObject":{"metadata":{"name":"shop"}}`, func(i int) string { return fmt.Sprintf(`"a%d":"",`, i) }},
	{"old labels", labelsPath, `"operation":"UPDATE","object":{"metadata":{"name":"shop"}},"oldObject":{"metadata":{"name":"shop","labels":{%s"a":""}}}`, func(i int) string { return fmt.Sprintf(`"a%d":"",`, i) }},
	{"kinds", labelsPath, `"operation":"UPDATE","object":{"metadata":{"name":"shop","annotations":{%s"a":""}}},"oldObject":{"metadata":{"name":"shop"}}`, each(`"gammaguard.dev/consumer-route-kinds":"` + strings.Repeat(",", 4000) + `",`)},
	{"selectors", labelsPath, `"operation":"UPDATE","object":{"metadata":{"name":"shop","annotations":{%s"a":""}}},"oldObject":{"metadata":{"name":"shop"}}`, each(`"gammaguard.dev/consumer-routes-from":"a in (` + strings.Repeat("b,", 2000) + `)",`)},
	{"ports", servicesPath, `"operation":"UPDATE","object":{"metadata":{"name":"cart","namespace":"shop"},"spec":{"ports":[%s{}]}},"oldObject":{"metadata":{"name":"cart","namespace":"shop"}}`, each(`{},`)},
	{"old ports", servicesPath, `"operation":"DELETE","oldObject":{"metadata":{"name":"cart","namespace":"shop"},"spec":{"ports":[%s{}]}}`, each(`{},`)},
}

// TestHostilePreviews: a change of a Namespace or a Service is admitted at a cost in
// proportion to its size, and without a preview if it is too large for one.
func TestHostilePreviews(t *testing.T) {
	set := world(t, attachedCluster)
	o := options(t, set)
	o.Stored = storedRoutes{set, nil}
	mux := http.NewServeMux()
	Register(mux, o, newEngine(t, nil), nil)
	for _, test := range hostilePreviews {
		for _, size := range []int{maxBody - 1<<10, previewBody + 1, previewBody - 1<<10} {
			t.Run(fmt.Sprintf("%s, %d bytes", test.name, size), func(t *testing.T) {
				before, after, _ := strings.Cut(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"1",`+test.review+"}}", "%s")
				body := []byte(before)
				for i := 0; len(body) < size-len(after)-8<<10; i++ {
					body = append(body, test.bulk(i)...)
				}
				body = append(append(body, after...), bytes.Repeat([]byte(" "), size-len(body)-len(after))...)
				most := 16.0
				if test.name == "selectors" { // which the API server would send once; one preview is in progress at a time
					most = 128
				}
				answer := wantCheap(t, mux, test.path, body, most).Body.String()
				if !strings.Contains(answer, `"allowed":true`) || size > previewBody && !strings.Contains(answer, undetermined) {
					t.Errorf("%.500s, want that it is admitted, and no preview of what is large", answer)
				}
			})
		}
	}
}

// TestLargestRoute: a route that is as large as the definitions admit, and in which
// nothing exists, is answered with few live reads and a short list.
func TestLargestRoute(t *testing.T) {
	numbered := func(n int, text func(i int) string) string {
		all := make([]string, n)
		for i := range all {
			all[i] = text(i)
		}
		return strings.Join(all, ",")
	}
	object := `{"kind":"HTTPRoute","metadata":{"name":"web"},"spec":{"parentRefs":[` + numbered(32, func(i int) string {
		return fmt.Sprintf(`{"group":"","kind":"Service","name":"gone","namespace":"n%d"}`, i)
	}) + `],"rules":[` + numbered(16, func(i int) string {
		mirrors := func(where string) string {
			return `"filters":[` + numbered(16, func(k int) string {
				return fmt.Sprintf(`{"requestMirror":{"backendRef":{"name":"gone-%d-%s-%d"}}}`, i, where, k)
			}) + `]`
		}
		return `{` + mirrors("all") + `,"backendRefs":[` + numbered(16, func(j int) string {
			return fmt.Sprintf(`{"name":"gone-%d-%d",%s}`, i, j, mirrors(strconv.Itoa(j)))
		}) + `]}`
	}) + `]}}`
	body := `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"1","operation":"CREATE","namespace":"shop","object":` + object + `}}`
	now := &source{Reader: world(t, cluster)}
	o := options(t, world(t, cluster))
	o.Live = now
	engine := newEngine(t, map[string]validate.Action{"backend-not-found": validate.Deny})
	for path, handler := range map[string]http.Handler{ValidatePath: Validating(o, engine), mutatePath: Mutating(o, newEngine(t, nil))} {
		t.Run(path, func(t *testing.T) {
			now.reads = nil
			got := post(handler, "application/json", strings.NewReader(body))
			if got.Code != http.StatusOK || got.Body.Len() > 64<<10 {
				t.Errorf("%d, an answer of %d bytes: %.2000s", got.Code, got.Body.Len(), got.Body)
			}
			if len(now.reads) > mesh.MaxReads {
				t.Errorf("%d live reads, want at most %d", len(now.reads), mesh.MaxReads)
			}
			var answered admissionv1.AdmissionReview
			if err := json.Unmarshal(got.Body.Bytes(), &answered); err != nil {
				t.Fatal(err)
			}
			if path == mutatePath {
				if !answered.Response.Allowed {
					t.Error("refused")
				}
				return
			}
			causes := answered.Response.Result.Details.Causes
			if last := causes[len(causes)-1]; len(causes) != maxCauses+1 || last.Message != "Invalid value: and 4590 more errors" {
				t.Errorf("%d causes, and last %+v", len(causes), last)
			}
		})
	}
}
