package webhook

import (
	"context"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// answerProbes returns the handler that answers probes. It refuses each request: whoever reads
// the refusal knows that the API server reaches gammaguard.
func answerProbes(options Options) http.Handler {
	refused := answer{outcome: denied, status: &metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid, Message: "gammaguard serves",
	}}
	h := options.handler("serving", func(context.Context, *review, *objectError) answer { return refused })
	h.concerns = func(*review) bool { return true }
	return h
}
