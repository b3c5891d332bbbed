package runner

import (
	"bytes"
	"context"
	stdjson "encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gammaguard/gammaguard/internal/definitions"
	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
	"github.com/gammaguard/gammaguard/webhook"
)

// newHandlers returns the driver that asks the webhook's HTTP handlers:
// AdmissionReviews in, JSON patches and statuses out.
func newHandlers(ctx context.Context) (Driver, error) {
	crds, err := loadDefinitions(ctx)
	return &memory{"handlers", crds, func(scenario *Scenario, engine *validate.Engine, set *manifest.Set) (admit, error) {
		metrics, err := webhook.NewMetrics(prometheus.NewRegistry())
		if err != nil {
			return nil, err
		}
		options := webhook.Options{Mesh: engine.Policy().Mesh, Reader: set, Metrics: metrics, Log: logr.Discard(), Off: scenario.Config.DisabledMutations()}
		mutating := webhook.Mutating(options, engine)
		validating := webhook.Validating(options, engine)
		previewing := webhook.Routes(options, engine)
		return func(ctx context.Context, c *change) (*Outcome, error) {
			switch {
			case c.object == nil:
				return judgeByHandlers(ctx, c, crds, previewing)
			case c.old != nil:
				return judgeByHandlers(ctx, c, crds, mutating, previewing, validating)
			}
			return judgeByHandlers(ctx, c, crds, mutating, validating)
		}, nil
	}}, err
}

// judgeByHandlers asks the mutating handler and then the validating one, as the API
// server does.
func judgeByHandlers(ctx context.Context, c *change, crds *definitions.Set, handlers ...http.Handler) (*Outcome, error) {
	var lines []string
	for _, handler := range handlers {
		response, err := review(ctx, handler, c)
		if err != nil {
			return nil, err
		}
		for _, warning := range response.Warnings {
			lines = append(lines, "Warning: "+warning)
		}
		if !response.Allowed {
			outcome := read(append(lines, response.Result.Message)...)
			outcome.Denied = true
			return outcome, nil
		}
		if response.Patch == nil {
			continue
		}
		if err := c.patch(response.Patch); err != nil {
			return nil, fmt.Errorf("patch %s: %w", response.Patch, err)
		}
		if err := crds.Default(c.object.Object); err != nil {
			return nil, err
		}
	}
	return read(lines...), nil
}

// patch applies a JSON patch to the change's object.
func (c *change) patch(patch []byte) error {
	decoded, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		return err
	}
	text, err := c.object.MarshalJSON()
	if err != nil {
		return err
	}
	if text, err = decoded.Apply(text); err != nil {
		return err
	}
	c.object, err = decodeObject(text)
	return err
}

// review posts the change to the handler.
func review(ctx context.Context, handler http.Handler, c *change) (*admissionv1.AdmissionResponse, error) {
	body, err := stdjson.Marshal(&admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request:  c.request(),
	})
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

// request returns what the API server asks about the change.
func (c *change) request() *admissionv1.AdmissionRequest {
	kind := metav1.GroupVersionKind{Group: c.Key.Group, Version: c.Version, Kind: c.Key.Kind}
	resource := metav1.GroupVersionResource{Group: c.Key.Group, Version: c.Version, Resource: mesh.RouteKind(c.Key.Kind).Resource()}
	user := UserOf(c.User)
	request := &admissionv1.AdmissionRequest{
		UID: reviewUID, Kind: kind, Resource: resource, RequestKind: &kind, RequestResource: &resource,
		Namespace: c.Key.Namespace, Name: c.Key.Name, Operation: admissionv1.Create,
		UserInfo: authenticationv1.UserInfo{Username: user.Name, Groups: user.Groups},
		DryRun:   &c.DryRun,
	}
	if c.object == nil {
		request.Operation, request.OldObject.Object = admissionv1.Delete, c.old
		request.Options.Object = &metav1.DeleteOptions{TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "DeleteOptions"}}
		return request
	}
	request.Object.Object = c.object
	request.Options.Object = &metav1.CreateOptions{TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "CreateOptions"}}
	if c.old != nil {
		request.Operation, request.OldObject.Object = admissionv1.Update, c.old
		request.Options.Object = &metav1.UpdateOptions{TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "UpdateOptions"}}
	}
	return request
}
