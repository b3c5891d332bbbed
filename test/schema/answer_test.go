package schema

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
	"k8s.io/client-go/rest"

	"github.com/gammaguard/gammaguard/definitions"
	"github.com/gammaguard/gammaguard/test/bed"
)

// server asks the API server, with raw bodies.
type server struct {
	client *http.Client
	host   string
}

func newServer(t *testing.T, plane *bed.ControlPlane) *server {
	t.Helper()
	client, err := rest.HTTPClientFor(plane.Config)
	if err != nil {
		t.Fatal(err)
	}
	return &server{client: client, host: strings.TrimSuffix(plane.Config.Host, "/")}
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
	status, body := s.send(t, method, object, "?dryRun=All&fieldValidation=Strict")
	if status < 300 {
		var stored unstructured.Unstructured
		if err := stored.UnmarshalJSON(body); err != nil {
			t.Fatal(err)
		}
		return answer{Spec: stored.Object["spec"]}
	}
	if status == http.StatusNotFound && !json.Valid(body) { // else something else is not there
		return answer{Refusals: []string{definitions.VersionNotServed}}
	}
	var refusal metav1.Status
	if err := json.Unmarshal(body, &refusal); err != nil || refusal.Reason != metav1.StatusReasonBadRequest && refusal.Reason != metav1.StatusReasonInvalid {
		t.Fatalf("%.2000s: %d: %s", object, status, body)
	}
	return answer{Refusals: refusals(&refusal)}
}

// send sends the object to where its kind is served.
func (s *server) send(t *testing.T, method string, object []byte, query string) (status int, body []byte) {
	t.Helper()
	var o struct {
		metav1.TypeMeta `json:",inline"`
		Metadata        any `json:"metadata"`
	}
	if err := json.Unmarshal(object, &o); err != nil {
		t.Fatal(err)
	}
	url := fmt.Sprintf("%s/apis/%s/namespaces/default/%ss", s.host, o.APIVersion, strings.ToLower(o.Kind))
	if metadata, is := o.Metadata.(map[string]any); is && method != http.MethodPost {
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
	body, err = io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, body
}

var (
	// undecodable is the message of a body that is refused before it is validated.
	undecodable = regexp.MustCompile(`(?s)cannot be handled as an? \w+: (.*)$`)
	// strictError is one of those in the message of a strict decoding error.
	strictError = regexp.MustCompile(`(unknown|duplicate) field "([^"]*)"`)
)

func refusals(refusal *metav1.Status) []string {
	var found []string
	if refusal.Reason == metav1.StatusReasonInvalid {
		for _, cause := range refusal.Details.Causes {
			found = append(found, strings.TrimPrefix(cause.Field, "<nil>")+": "+cause.Message)
		}
		return found
	}
	for _, match := range strictError.FindAllStringSubmatch(refusal.Message, -1) {
		found = append(found, match[2]+": "+match[0])
	}
	if match := undecodable.FindStringSubmatch(refusal.Message); len(found) == 0 && match != nil {
		return []string{": " + match[1]}
	}
	return found
}

// offline is what package definitions says of the write.
func offline(t *testing.T, set *definitions.Set, w *definitions.Write) answer {
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
