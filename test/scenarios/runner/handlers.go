package runner

import (
	"bytes"
	"context"
	stdjson "encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
	"github.com/gammaguard/gammaguard/webhook"
)

// Handlers plays scenarios through the webhook's HTTP handlers, over the same
// memory as Core: AdmissionReviews in, JSON patches and statuses out.
type Handlers struct{ schemas *schemas }

// NewHandlers returns the driver.
func NewHandlers(ctx context.Context) (*Handlers, error) {
	schemas, err := loadSchemas(ctx)
	return &Handlers{schemas}, err
}

// Name returns "handlers".
func (*Handlers) Name() string { return "handlers" }

// Begin starts with an empty memory.
func (d *Handlers) Begin(_ context.Context, scenario *Scenario) (Session, error) {
	engine, err := validate.New(scenario.Config.Policy())
	if err != nil {
		return nil, err
	}
	metrics, err := webhook.NewMetrics(prometheus.NewRegistry())
	if err != nil {
		return nil, err
	}
	m := newMemory(d.schemas)
	core := &coreAdmission{engine: engine, config: scenario.Config, set: m.set}
	options := webhook.Options{World: m.set, Metrics: metrics, Log: logr.Discard()}
	return &memorySession{memory: m, admission: &handlersAdmission{
		coreAdmission: core,
		schemas:       d.schemas,
		mutating:      webhook.Mutating(options, &engine.Policy().Grants, core.config.DisabledMutations()),
		validating:    webhook.Validating(options, engine),
	}}, nil
}

// handlersAdmission asks the handlers, and the core for status.
type handlersAdmission struct {
	*coreAdmission
	schemas              *schemas
	mutating, validating http.Handler
}

func (a *handlersAdmission) admit(ctx context.Context, c *change, user validate.User, dryRun bool) (*Outcome, error) {
	response, err := review(ctx, a.mutating, c, user, dryRun)
	if err != nil {
		return nil, fmt.Errorf("mutating: %w", err)
	}
	text := said(c, response)
	if !response.Allowed {
		outcome := read(text)
		outcome.Denied = true
		return outcome, nil
	}
	if err := c.patch(response.Patch); err != nil {
		return nil, fmt.Errorf("mutating: %w", err)
	}
	a.schemas.setDefaults(c.key, c.version, c.object)
	if response, err = review(ctx, a.validating, c, user, dryRun); err != nil {
		return nil, fmt.Errorf("validating: %w", err)
	}
	outcome := read(text + said(c, response))
	outcome.Denied = !response.Allowed
	return outcome, nil
}

// review posts the change to the handler, as the API server would.
func review(ctx context.Context, handler http.Handler, c *change, user validate.User, dryRun bool) (*admissionv1.AdmissionResponse, error) {
	body, err := reviewOf(c, user, dryRun)
	if err != nil {
		return nil, err
	}
	request := httptest.NewRequestWithContext(ctx, http.MethodPost, "/?timeout=5s", bytes.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, request)
	if recorder.Code != http.StatusOK {
		return nil, fmt.Errorf("HTTP status %d: %s", recorder.Code, recorder.Body)
	}
	var answered admissionv1.AdmissionReview
	if err := stdjson.Unmarshal(recorder.Body.Bytes(), &answered); err != nil {
		return nil, err
	}
	if answered.Response == nil || answered.Response.UID != reviewUID {
		return nil, fmt.Errorf("not an answer to the request: %s", recorder.Body)
	}
	return answered.Response, nil
}

const reviewUID = types.UID("4d5a5d1a-5e2f-4bd9-b2a4-3d1a6f7f4d01")

// reviewOf returns the AdmissionReview of a change.
func reviewOf(c *change, user validate.User, dryRun bool) ([]byte, error) {
	kind := metav1.GroupVersionKind{Group: c.key.Group, Version: c.version, Kind: c.key.Kind}
	resource := metav1.GroupVersionResource{Group: c.key.Group, Version: c.version, Resource: mesh.RouteKind(c.key.Kind).Resource()}
	request := &admissionv1.AdmissionRequest{
		UID: reviewUID, Kind: kind, Resource: resource, RequestKind: &kind, RequestResource: &resource,
		Namespace: c.key.Namespace, Name: c.key.Name, Operation: admissionv1.Create,
		UserInfo: authenticationv1.UserInfo{Username: user.Name, Groups: user.Groups},
		DryRun:   &dryRun,
	}
	var err error
	if request.Object.Raw, err = json.Marshal(c.object); err != nil {
		return nil, err
	}
	options := metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "CreateOptions"}
	if c.old != nil {
		request.Operation, options.Kind = admissionv1.Update, "UpdateOptions"
		if request.OldObject.Raw, err = json.Marshal(c.old); err != nil {
			return nil, err
		}
	}
	raw, err := json.Marshal(options)
	if err != nil {
		return nil, err
	}
	request.Options = runtime.RawExtension{Raw: raw}
	return json.Marshal(&admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request:  request,
	})
}

// patch applies a JSON patch to the change's object.
func (c *change) patch(patch []byte) error {
	if patch == nil {
		return nil
	}
	decoded, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		return err
	}
	text, err := json.Marshal(c.object)
	if err != nil {
		return err
	}
	if text, err = decoded.Apply(text); err != nil {
		return err
	}
	c.object = nil
	return json.Unmarshal(text, &c.object)
}

// said returns what kubectl prints of the response, a line for each warning and
// cause.
func said(c *change, response *admissionv1.AdmissionResponse) string {
	var b strings.Builder
	for _, warning := range response.Warnings {
		b.WriteString("Warning: " + warning + "\n")
	}
	status := response.Result
	switch {
	case response.Allowed || status == nil:
	case status.Reason == metav1.StatusReasonInvalid && status.Details != nil && len(status.Details.Causes) > 0:
		fmt.Fprintf(&b, "The %s %q is invalid:\n", c.key.Kind, c.key.Name)
		for _, cause := range status.Details.Causes {
			b.WriteString("* " + cause.Field + ": " + cause.Message + "\n")
		}
	default:
		fmt.Fprintf(&b, "Error from server (%s): %s\n", status.Reason, status.Message)
	}
	return b.String()
}
