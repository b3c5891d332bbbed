package corpus

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"github.com/gammaguard/gammaguard/internal/definitions"
	"github.com/gammaguard/gammaguard/test/bed"
)

// server asks the API server, with raw bodies.
type server struct {
	client *http.Client
	host   string
}

// newServer asks as a user whom gammaguard does not judge.
func newServer(t *testing.T, plane *bed.ControlPlane) *server {
	t.Helper()
	config, err := plane.User(exempt, "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	return serverAs(t, config)
}

func serverAs(t *testing.T, config *rest.Config) *server {
	t.Helper()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	return &server{client: client, host: strings.TrimSuffix(config.Host, "/")}
}

// answer is what is said of a write.
type answer struct {
	// Refusals read "field: message"; none if the object is admitted.
	Refusals []string
	// Spec is what would be stored.
	Spec any
}

// dryRun creates the object (POST), or replaces the one of that name (PUT), without
// storing it and with the strict field validation that kubectl asks for.
func (s *server) dryRun(t *testing.T, method string, object []byte) answer {
	t.Helper()
	reply := s.send(t, method, object, dryRun)
	if reply.status < 300 {
		var stored unstructured.Unstructured
		if err := stored.UnmarshalJSON(reply.body); err != nil {
			t.Fatal(err)
		}
		return answer{Spec: stored.Object["spec"]}
	}
	refusal := reply.refusal(t)
	if refusal == nil {
		return answer{Refusals: []string{definitions.VersionNotServed}}
	}
	return answer{Refusals: refusals(refusal)}
}

// dryRun are the parameters of a request as kubectl apply --dry-run=server sends it.
const dryRun = "?dryRun=All&fieldValidation=Strict"

// reply is the API server's, as it comes.
type reply struct {
	status   int
	body     []byte
	warnings []string
}

// refusal returns the status in a refusal; nil if the version is not served.
func (r *reply) refusal(t *testing.T) *metav1.Status {
	t.Helper()
	if r.status == http.StatusNotFound && !json.Valid(r.body) { // else something else is not there
		return nil
	}
	refusal := new(metav1.Status)
	known := []metav1.StatusReason{metav1.StatusReasonBadRequest, metav1.StatusReasonInvalid, metav1.StatusReasonForbidden}
	if err := json.Unmarshal(r.body, refusal); err != nil || !slices.Contains(known, refusal.Reason) {
		t.Fatalf("%d: %s", r.status, r.body)
	}
	return refusal
}

// send sends the object to where its kind is served.
func (s *server) send(t *testing.T, method string, object []byte, query string) *reply {
	t.Helper()
	var o struct {
		metav1.TypeMeta `json:",inline"`
		Metadata        any `json:"metadata"`
	}
	if err := json.Unmarshal(object, &o); err != nil {
		t.Fatal(err)
	}
	metadata, _ := o.Metadata.(map[string]any)
	namespace, is := metadata["namespace"].(string)
	if !is {
		namespace = "default"
	}
	url := fmt.Sprintf("%s/apis/%s/namespaces/%s/%ss", s.host, o.APIVersion, namespace, strings.ToLower(o.Kind))
	if method != http.MethodPost {
		url += fmt.Sprintf("/%s", metadata["name"])
	}
	request, err := http.NewRequestWithContext(t.Context(), method, url+query, bytes.NewReader(object))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := s.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		t.Fatal(err)
	}
	r := &reply{status: response.StatusCode, body: body}
	warnings, errs := utilnet.ParseWarningHeaders(response.Header["Warning"])
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	for _, warning := range warnings {
		r.warnings = append(r.warnings, warning.Text)
	}
	return r
}

var (
	// undecodable is the message of a body that is refused before it is validated.
	undecodable = regexp.MustCompile(`(?s)cannot be handled as an? \w+: (.*)$`)
	// strictError is one of those in the message of a strict decoding error.
	strictError = regexp.MustCompile(`(unknown|duplicate) field "([^"]*)"`)
)

// causes are those of the status, in the form of refusals.
func causes(refusal *metav1.Status) []string {
	var found []string
	for _, cause := range refusal.Details.Causes {
		found = append(found, strings.TrimPrefix(cause.Field, "<nil>")+": "+cause.Message)
	}
	return found
}

func refusals(refusal *metav1.Status) []string {
	if refusal.Reason == metav1.StatusReasonInvalid {
		return causes(refusal)
	}
	var found []string
	for _, match := range strictError.FindAllStringSubmatch(refusal.Message, -1) {
		found = append(found, match[2]+": "+match[0])
	}
	if match := undecodable.FindStringSubmatch(refusal.Message); len(found) == 0 && match != nil {
		return []string{": " + match[1]}
	}
	return found
}

// defined is what package definitions says of the write.
func defined(t *testing.T, set *definitions.Set, w *definitions.Write) answer {
	t.Helper()
	outcome, err := set.Write(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	if len(outcome.Findings) == 0 {
		return answer{Spec: outcome.Object["spec"]}
	}
	var a answer
	for _, finding := range outcome.Findings {
		if finding.ID == definitions.VersionNotServed {
			return answer{Refusals: []string{finding.ID}}
		}
		a.Refusals = append(a.Refusals, finding.Field+": "+finding.Message)
	}
	return a
}

// compare reports where the answers differ. Order and repetition do not count.
func compare(t *testing.T, what string, object []byte, server, offline answer) {
	t.Helper()
	if len(server.Refusals) == 1 && len(offline.Refusals) == 1 && strings.HasPrefix(server.Refusals[0], ": ") {
		_, message, _ := strings.Cut(offline.Refusals[0], ": ") // the server names no field
		offline.Refusals[0] = ": " + message
	}
	for _, a := range []*answer{&server, &offline} {
		slices.Sort(a.Refusals)
		a.Refusals = slices.Compact(a.Refusals)
	}
	if diff := cmp.Diff(server, offline); diff != "" {
		t.Errorf("%s: (-API server +offline)\n%s\n%.2000s", what, diff, object)
	}
}
