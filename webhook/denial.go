package webhook

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/validate"
)

// maxCauses is how many findings a denial lists, and maxText how many bytes of each
// text. They bound the size of an answer, whatever the request.
const (
	maxCauses = 50
	maxText   = 1 << 10
)

// shortened cuts a text that somebody else wrote.
func shortened(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "") + "..."
}

// denial returns the status of a denied request about a route.
func denial(r *review, verdict *validate.Verdict) *metav1.Status {
	kind := r.Object.Kind
	status := refusal(r.name(), schema.GroupKind{Group: kind.Group(), Kind: kind.Name()}, schema.GroupResource{Group: kind.Group(), Resource: kind.Resource()}, verdict)
	status.Details.UID = types.UID(shortened(r.Object.Metadata.UID))
	return status
}

// refusal returns the status of a denied request, in the API server's own form:
// Forbidden if a permission is missing, Invalid otherwise, with a cause for each
// finding that denies.
func refusal(name string, kind schema.GroupKind, resource schema.GroupResource, verdict *validate.Verdict) *metav1.Status {
	var (
		errs      field.ErrorList
		forbidden bool
		left      int
	)
	for i := range verdict.Findings {
		f := &verdict.Findings[i]
		if f.Effect != validate.Deny {
			continue
		}
		forbidden = forbidden || f.Type == validate.Forbidden
		if len(errs) == maxCauses {
			left++
			continue
		}
		errs = append(errs, fieldError(f))
	}
	if left > 0 {
		errs = append(errs, &field.Error{
			Type: field.ErrorTypeInvalid, Field: "spec", BadValue: field.OmitValueType{}, Detail: fmt.Sprintf("and %d more errors", left),
		})
	}
	name = shortened(name)
	// NewInvalid makes the causes.
	invalid := apierrors.NewInvalid(kind, name, errs).ErrStatus
	status := &invalid
	if forbidden {
		forbids := apierrors.NewForbidden(resource, name, onOneLine(errs)).ErrStatus
		forbids.Details.Causes = invalid.Details.Causes
		status = &forbids
	}
	status.Message = printable.Text(status.Message)
	for i := range status.Details.Causes {
		status.Details.Causes[i].Message = printable.Text(status.Details.Causes[i].Message)
	}
	return status
}

// fieldError returns the finding as the API server writes errors, but not longer.
func fieldError(f *validate.Finding) *field.Error {
	err := f.FieldError()
	err.Detail = shortened(err.Detail)
	if text, ok := err.BadValue.(string); ok {
		err.BadValue = shortened(text)
	}
	return err
}

// onOneLine joins the errors without the brackets of an aggregate.
func onOneLine(errs field.ErrorList) error {
	texts := make([]string, len(errs))
	for i, err := range errs {
		texts[i] = err.Error()
	}
	return errors.New(strings.Join(texts, ", "))
}

// unconfirmed returns the status of a request that could not be verified. It asks
// clients to retry, as kubectl does, unless a read is forbidden: that stays so.
func unconfirmed(err error) *metav1.Status {
	help, details := "try again", &metav1.StatusDetails{RetryAfterSeconds: 1}
	if apierrors.IsForbidden(err) {
		help, details = "because it lacks a permission; a platform engineer must apply its manifests again", nil
	}
	return &metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    http.StatusInternalServerError,
		Reason:  metav1.StatusReasonInternalError,
		Message: "gammaguard could not verify the route, " + help + ": " + printable.Text(shortened(err.Error())),
		Details: details,
	}
}

// undecodable returns the status of a request whose object cannot be read.
func undecodable(err *objectError) *metav1.Status {
	return &metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    http.StatusBadRequest,
		Reason:  metav1.StatusReasonBadRequest,
		Message: "gammaguard cannot read the object: " + printable.Text(shortened(err.Error())),
	}
}
