package webhook

import (
	"encoding/json"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// outcome is what an answer came to, for the metrics.
type outcome string

// The outcomes.
const (
	admitted  outcome = "admit"
	denied    outcome = "deny"
	mutated   outcome = "mutate"
	failed    outcome = "error"     // nothing could be found out
	malformed outcome = "malformed" // no AdmissionReview, or no route in it
)

// answer is what a request is answered. The zero answer admits it.
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
	if a.plain() && unescaped(uid) {
		return []byte(`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":"` + uid + `","allowed":true}}`), nil
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

// plain says whether the answer only admits.
func (a *answer) plain() bool {
	return a.status == nil && len(a.warnings) == 0 && len(a.audit) == 0 && a.patch == nil
}

// unescaped says whether the text stands for itself in JSON, as a UUID does.
func unescaped(text string) bool {
	for i := range len(text) {
		c := text[i]
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '-' {
			return false
		}
	}
	return true
}
