package kube

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// maxObject bounds an object that is read: no object that etcd takes is as large.
const maxObject = 8 << 20

// get reads one object into a narrow type. Every denial waits for reads such as
// this one, and client-go's requests cost twice as much CPU: so this is plain HTTP
// over client-go's transport, with its credentials. Names must be nameable. It
// does not retry; the webhook asks the client to. Errors are those of
// package apierrors, or of the connection.
func (c *client) get(ctx context.Context, r resource, version, namespace, name string, into object) error {
	response, err := c.http.Do(c.single(ctx, r, version, namespace, name))
	if err != nil {
		// Where one connection is dead, the idle ones may be as well.
		utilnet.CloseIdleConnectionsFor(c.http.Transport)
		return err
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	body, ok := bodies.Get().(*bytes.Buffer)
	if !ok {
		body = new(bytes.Buffer)
	}
	defer func() {
		body.Reset()
		bodies.Put(body)
	}()
	if _, err := body.ReadFrom(io.LimitReader(response.Body, maxObject)); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return refusal(response, body.Bytes(), r, name)
	}
	return decodeOne(body.Bytes(), r, into)
}

// bodies holds the buffers that answers are read into. Nothing that is decoded
// shares their memory.
var bodies sync.Pool

// single returns the request for one object. It is put together by hand, as
// parsing what was just formatted would cost more than all of this.
func (c *client) single(ctx context.Context, r resource, version, namespace, name string) *http.Request {
	target := *c.base
	target.RawPath = ""
	path := strings.TrimSuffix(c.base.Path, "/")
	if r.group == "" {
		path += "/api/" + version
	} else {
		path += "/apis/" + r.group + "/" + version
	}
	if namespace != "" {
		path += "/namespaces/" + namespace
	}
	target.Path = path + "/" + r.name + "/" + name
	request := &http.Request{
		Method: http.MethodGet, URL: &target, Host: target.Host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Accept": {r.accept("PartialObjectMetadata")}, "User-Agent": {c.agent}},
	}
	return request.WithContext(ctx)
}

// refusal returns the error that an answer means: the Status in it, or, where
// there is none, one that Unserved tells from an object that is not there.
func refusal(response *http.Response, body []byte, r resource, name string) error {
	if err := refused(body); err != nil {
		return err
	}
	return apierrors.NewGenericServerResponse(response.StatusCode, http.MethodGet,
		schema.GroupResource{Group: r.group, Resource: r.name}, name, string(body[:min(len(body), 256)]), 0, true)
}
