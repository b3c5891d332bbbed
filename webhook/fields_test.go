package webhook

import (
	"testing"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/gammaguard/gammaguard/test/fields"
)

// TestPublishedReview: what is read of an AdmissionReview is what API servers write.
func TestPublishedReview(t *testing.T) {
	for _, difference := range fields.Differences(envelope{}, admissionv1.AdmissionReview{}) {
		t.Error(difference)
	}
}
