package webhook

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

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

// maxUID bounds the request's uid, which the answer repeats.
const maxUID = 256

// envelope is an AdmissionReview with any request.
type envelope struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Request    *request `json:"request"`
}

// request is what is read of an AdmissionRequest.
type request struct {
	UID         string         `json:"uid"`
	Name        string         `json:"name"`
	Namespace   string         `json:"namespace"`
	Operation   string         `json:"operation"`
	SubResource string         `json:"subResource"`
	DryRun      bool           `json:"dryRun"`
	UserInfo    userInfo       `json:"userInfo"`
	Posted      object         `json:"object"`
	OldObject   jsontext.Value `json:"oldObject"`
}

// userInfo is who makes a request.
type userInfo struct {
	Username string `json:"username"`
	Groups   groups `json:"groups"`
}

// groups are the groups of a user.
type groups []string

// UnmarshalJSONFrom reads at most 10,000, more than headers have room for.
func (g *groups) UnmarshalJSONFrom(d *jsontext.Decoder) error { return mesh.DecodeList(d, g, 10_000) }

// object is the object of a request. If it is not a route, the rest of the
// review can still be read.
type object struct {
	route mesh.Route
	err   error
}

// UnmarshalJSONFrom reads the route as it comes: scanning for its end first would
// cost half as much again. The rest is skipped after an error.
func (o *object) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	depth, start := d.StackDepth(), d.InputOffset()
	o.err = json.UnmarshalDecode(d, &o.route)
	for o.err != nil && (d.StackDepth() > depth || d.InputOffset() == start) {
		if _, err := d.ReadToken(); err != nil {
			return err
		}
	}
	return nil
}

// review is one request to be answered.
type review struct {
	*request
	// Object is the route that is to be stored.
	Object *mesh.Route
	// body is the AdmissionReview as it was posted.
	body []byte
	// query is the query of the URL that it was posted to.
	query    string
	received time.Time
	// address is where the caller called from, and authenticated whether it showed a
	// certificate of the client CA. If not, all in the review is what anybody may claim.
	address       string
	authenticated bool
}

// objectError reports that the object of an otherwise valid review is not a route.
type objectError struct{ cause error }

func (e *objectError) Error() string { return e.cause.Error() }
func (e *objectError) Unwrap() error { return e.cause }

// decodeReview reads an AdmissionReview in one pass. Where only its object cannot
// be read, the review is returned with an *objectError; any other error is without
// a review. The body must not change while the review is used.
func decodeReview(body []byte) (*review, error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, errors.New("the body is empty, want an AdmissionReview")
	}
	var e envelope
	if !quickDecode(body, &e) {
		e = envelope{}
		if err := mesh.Decode(body, &e, jsontext.AllowInvalidUTF8(false)); err != nil {
			return nil, fmt.Errorf("not an AdmissionReview: %w", err)
		}
	}
	if err := e.check(); err != nil {
		return nil, err
	}
	r := &review{request: e.Request, Object: &e.Request.Posted.route, body: body}
	if r.judged() && (r.Posted.err != nil || r.Object.Settle() != nil) {
		route, err := mesh.DecodeRoute(r.objectText()) // for its error, or for what is checked of Linkerd's
		if err != nil {
			return r, &objectError{err}
		}
		r.Object = route
	}
	r.Object.Metadata.Namespace = cmp.Or(r.Namespace, r.Object.Metadata.Namespace)
	return r, nil
}

// objectText returns the object as it was posted.
func (r *review) objectText() []byte { return quickText(r.body) }

func (e *envelope) check() error {
	switch {
	case e.Kind != reviewKind || e.APIVersion != reviewVersion:
		return fmt.Errorf("apiVersion %q, kind %q: want %s, %s", e.APIVersion, e.Kind, reviewVersion, reviewKind)
	case e.Request == nil:
		return errors.New("the AdmissionReview has no request")
	case e.Request.UID == "":
		return errors.New("the AdmissionReview's request has no uid")
	case len(e.Request.UID) > maxUID:
		return errors.New("the uid of the AdmissionReview's request is too long")
	}
	return nil
}

// judged reports whether the request is one that rules or mutations are about.
func (r *review) judged() bool {
	return (r.Operation == operationCreate || r.Operation == operationUpdate) && r.SubResource == ""
}

// kind returns the kind of the object for metrics: one of a fixed set, for any request.
func (r *review) kind() string {
	if kind := r.Object.Kind; kind.GrantOnly() || mesh.IsRouteKind(string(kind)) {
		return string(kind)
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
		Route:  r.Object,
		DryRun: r.DryRun,
		User:   r.user(),
	}
	if r.Operation == operationUpdate && !absent(r.OldObject) {
		judged.Object, judged.Old = r.objectText(), r.OldObject
	}
	return judged
}

// user returns who makes the request.
func (r *review) user() validate.User {
	return validate.User{Name: r.UserInfo.Username, Groups: r.UserInfo.Groups}
}

// absent reports whether a value was left out, or is null.
func absent(value jsontext.Value) bool { return len(value) == 0 || value.Kind() == 'n' }

// specUnchanged reports whether an update leaves the spec as it is.
func (r *review) specUnchanged() bool { return mesh.SameSpec(r.objectText(), r.OldObject) }
