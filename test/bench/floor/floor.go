// Package floor is what gammaguard's webhooks are measured against.
package floor

import (
	"encoding/json"
	"io"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
)

// Admit is the least that a webhook in Go does: it decodes the review into the
// published types, and allows it.
func Admit(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	var review admissionv1.AdmissionReview
	if err == nil {
		err = json.Unmarshal(body, &review)
	}
	if err != nil || review.Request == nil {
		http.Error(w, "not an AdmissionReview", http.StatusBadRequest)
		return
	}
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	review.Request = nil
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(review) //nolint:errcheck,errchkjson // as the simplest webhook would
}
