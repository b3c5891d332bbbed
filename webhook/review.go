package webhook

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"

	"sigs.k8s.io/json"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

// The apiVersion and kind of what is posted and answered.
const (
	reviewVersion = "admission.k8s.io/v1"
	reviewKind    = "AdmissionReview"
)

// The operations that are judged.
const (
	operationCreate = "CREATE"
	operationUpdate = "UPDATE"
)

// envelope is an AdmissionReview, whatever its request.
type envelope struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Request    *request `json:"request"`
}

// request is what is read of an AdmissionRequest, with the route in it.
type request struct {
	UID         string `json:"uid"`
	Name        string `json:"name"`
	Namespace   string `json:"namespace"`
	Operation   string `json:"operation"`
	SubResource string `json:"subResource"`
	DryRun      bool   `json:"dryRun"`
	UserInfo    struct {
		Username string   `json:"username"`
		Groups   []string `json:"groups"`
	} `json:"userInfo"`
	Object mesh.Route `json:"object"`
}

// review is one request to be answered.
type review struct {
	request
	// body is the AdmissionReview as it was posted. Objects are read from it again
	// where more of them is needed.
	body []byte
	// query is the query of the URL that it was posted to.
	query string
	old   *oldRoute
}

// oldRoute is the decoded oldObject.
type oldRoute struct {
	route *mesh.Route
	err   error
}

// objectError says that the object of an otherwise sound review is no route.
type objectError struct{ cause error }

func (e *objectError) Error() string { return e.cause.Error() }
func (e *objectError) Unwrap() error { return e.cause }

// decodeReview reads an AdmissionReview. Where only its object cannot be read, the
// review is returned with an *objectError; any other error is without a review.
// The body must not change while the review is used.
func decodeReview(body []byte) (*review, error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, errors.New("the body is empty, want an AdmissionReview")
	}
	decoded, err := decode(body)
	if err != nil {
		return decodeWithoutObject(body, err)
	}
	if err := decoded.check(); err != nil {
		return nil, err
	}
	r := &review{request: *decoded.Request, body: body}
	if r.judged() && !mesh.IsRouteKind(string(r.Object.Kind)) {
		return r, &objectError{fmt.Errorf("not a route: kind %q is none of %v", r.Object.Kind, mesh.RouteKinds())}
	}
	r.Object.Metadata.Namespace = cmp.Or(r.Namespace, r.Object.Metadata.Namespace)
	return r, nil
}

// decodeWithoutObject finds out whether the object is to blame for the error.
func decodeWithoutObject(body []byte, cause error) (*review, error) {
	var decoded struct {
		envelope
		Request *struct {
			request
			Object rawJSON `json:"object"`
		} `json:"request"`
	}
	if err := json.UnmarshalCaseSensitivePreserveInts(body, &decoded); err != nil {
		return nil, fmt.Errorf("not an AdmissionReview: %w", err)
	}
	if decoded.Request != nil {
		decoded.envelope.Request = &decoded.Request.request
	}
	if err := decoded.check(); err != nil {
		return nil, err
	}
	return &review{request: decoded.Request.request, body: body}, &objectError{fmt.Errorf("not a route: %w", cause)}
}

func (e *envelope) check() error {
	switch {
	case e.Kind != reviewKind || e.APIVersion != reviewVersion:
		return fmt.Errorf("apiVersion %q, kind %q: want %s, %s", e.APIVersion, e.Kind, reviewVersion, reviewKind)
	case e.Request == nil:
		return errors.New("the AdmissionReview has no request")
	case e.Request.UID == "":
		return errors.New("the AdmissionReview's request has no uid")
	}
	return nil
}

// judged says whether the request is one that rules or mutations are about.
func (r *review) judged() bool {
	return (r.Operation == operationCreate || r.Operation == operationUpdate) && r.SubResource == ""
}

// kind returns the kind of the object for metrics: one of few, whatever was sent.
func (r *review) kind() string {
	if kind := string(r.Object.Kind); mesh.IsRouteKind(kind) {
		return kind
	}
	return "other"
}

// name returns the object's name, or what it is generated from.
func (r *review) name() string {
	return cmp.Or(r.Name, r.Object.Metadata.Name, r.Object.Metadata.GenerateName)
}

// toJudge returns what the engine judges.
func (r *review) toJudge() *validate.Request {
	judged := &validate.Request{
		Route:  &r.Object,
		DryRun: r.DryRun,
		User:   validate.User{Name: r.UserInfo.Username, Groups: r.UserInfo.Groups},
	}
	if r.Operation == operationUpdate {
		judged.Old, judged.SpecUnchanged = r.oldRoute, r.specUnchanged
	}
	return judged
}

// rawJSON keeps a value unread.
type rawJSON []byte

func (r *rawJSON) UnmarshalJSON(data []byte) error {
	*r = append((*r)[:0], data...)
	return nil
}

// oldRoute decodes the oldObject, once.
func (r *review) oldRoute() (*mesh.Route, error) {
	if r.old == nil {
		r.old = &oldRoute{}
		r.old.route, r.old.err = r.decodeOld()
	}
	return r.old.route, r.old.err
}

func (r *review) decodeOld() (*mesh.Route, error) {
	var decoded struct {
		Request struct {
			OldObject rawJSON `json:"oldObject"`
		} `json:"request"`
	}
	if err := json.UnmarshalCaseSensitivePreserveInts(r.body, &decoded); err != nil {
		return nil, fmt.Errorf("oldObject: %w", err)
	}
	if raw := decoded.Request.OldObject; len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	old, err := mesh.DecodeRoute(decoded.Request.OldObject)
	if err != nil {
		return nil, fmt.Errorf("oldObject: %w", err)
	}
	old.Metadata.Namespace = cmp.Or(r.Namespace, old.Metadata.Namespace)
	return old, nil
}

// specUnchanged says whether object and oldObject have the same spec: all fields,
// whatever the order of keys and the spelling of numbers.
func (r *review) specUnchanged() bool {
	type object struct {
		Spec rawJSON `json:"spec"`
	}
	var decoded struct {
		Request struct {
			Object    *object `json:"object"`
			OldObject *object `json:"oldObject"`
		} `json:"request"`
	}
	if err := json.UnmarshalCaseSensitivePreserveInts(r.body, &decoded); err != nil {
		return false
	}
	now, old := decoded.Request.Object, decoded.Request.OldObject
	return now != nil && old != nil && sameJSON(now.Spec, old.Spec)
}
