package live

import (
	"context"
	"fmt"
	"io"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/json"
)

// maxObject bounds an object that is read: no object that etcd takes is as large.
const maxObject = 8 << 20

// get reads one object into a narrow type. Every denial waits for reads such as
// this one, and client-go's requests cost twice as much CPU: so this is plain HTTP
// over client-go's transport, with its credentials. Names must be nameable. It
// never tries again: whoever asked for a verdict is told to. Errors are those of
// package apierrors, or of the connection.
func (c *client) get(ctx context.Context, r resource, version, namespace, name string, into runtime.Object) error {
	segments := []string{"api", version}
	if r.group != "" {
		segments = []string{"apis", r.group, version}
	}
	if namespace != "" {
		segments = append(segments, "namespaces", namespace)
	}
	target := c.base.JoinPath(append(segments, r.name, name)...)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", r.accept("PartialObjectMetadata"))
	response, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	body, err := io.ReadAll(io.LimitReader(response.Body, maxObject))
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return refusal(response, body, r, name)
	}
	if err := json.UnmarshalCaseSensitivePreserveInts(body, into); err != nil {
		return err
	}
	if kind := into.GetObjectKind().GroupVersionKind().Kind; kind != r.kind && (r != namespaceResource || kind != "PartialObjectMetadata") {
		return fmt.Errorf("got an object of kind %q", kind)
	}
	return nil
}

// refusal returns the error that an answer means: the Status in it, or, where
// there is none, one that unserved tells from an object that is not there.
func refusal(response *http.Response, body []byte, r resource, name string) error {
	status := &metav1.Status{}
	err := json.UnmarshalCaseSensitivePreserveInts(body, status)
	if err == nil && status.Kind == "Status" && status.Status == metav1.StatusFailure {
		return apierrors.FromObject(status)
	}
	return apierrors.NewGenericServerResponse(response.StatusCode, http.MethodGet,
		schema.GroupResource{Group: r.group, Resource: r.name}, name, string(body[:min(len(body), 256)]), 0, true)
}
