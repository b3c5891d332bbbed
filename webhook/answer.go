package webhook

import (
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// outcome is the result of a request, for the metrics.
type outcome string

// The outcomes.
const (
	admitted  outcome = "admit"
	denied    outcome = "deny"
	mutated   outcome = "mutate"
	failed    outcome = "error"     // the request could not be verified
	malformed outcome = "malformed" // not a valid AdmissionReview, or not a route
)

// answer is the answer to a request. The zero answer admits it.
type answer struct {
	// status refuses the request; nil admits it.
	status   *metav1.Status
	warnings []string
	// audit are audit annotations, by keys without a prefix.
	audit map[string]string
	// patch is a JSON patch in JSON.
	patch   []byte
	outcome outcome
}

// admit is the answer to nearly all requests.
var admit = answer{outcome: admitted}

// encode writes the answer as an AdmissionReview.
func (a *answer) encode(uid string) ([]byte, error) {
	if a.status == nil && a.patch == nil {
		return a.admission(uid), nil
	}
	response := &admissionv1.AdmissionResponse{
		UID:              types.UID(uid),
		Allowed:          a.status == nil,
		Result:           a.status,
		Warnings:         a.warnings,
		AuditAnnotations: a.audit,
	}
	if a.patch != nil {
		patchType := admissionv1.PatchTypeJSONPatch
		response.Patch, response.PatchType = a.patch, &patchType
	}
	return json.Marshal(&admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: reviewVersion, Kind: reviewKind},
		Response: response,
	})
}

// admission writes the answer to nearly all requests: they are admitted, possibly with
// warnings.
func (a *answer) admission(uid string) []byte {
	text := make([]byte, 0, 256+192*len(a.warnings))
	text = append(text, `{"kind":"`+reviewKind+`","apiVersion":"`+reviewVersion+`","response":{"uid":`...)
	text = quoted(text, uid)
	text = append(text, `,"allowed":true`...)
	before := `,"auditAnnotations":{`
	for key, value := range a.audit {
		text = append(quoted(append(text, before...), key), ':')
		text = quoted(text, value)
		before = ","
	}
	if len(a.audit) > 0 {
		text = append(text, '}')
	}
	before = `,"warnings":[`
	for _, warning := range a.warnings {
		text = quoted(append(text, before...), warning)
		before = ","
	}
	if len(a.warnings) > 0 {
		text = append(text, ']')
	}
	return append(text, "}}"...)
}

// quoted appends a string in JSON. Invalid UTF-8 is replaced, which the
// error reports.
func quoted(text []byte, s string) []byte {
	text, _ = jsontext.AppendQuote(text, s)
	return text
}
