package kube

import (
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/gammaguard/gammaguard/mesh"
)

// Lists and watches are decoded here, object by object: client-go's own way holds
// a list whole, and reads each object of a watch three times.

// decodeList reads a list of the resource. The text that each gets is valid until
// it returns.
func decodeList(body io.Reader, r resource, each func(jsontext.Value) error) (meta metav1.ListMeta, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("list of %s: %w", r, err)
		}
	}()
	in := jsontext.NewDecoder(body, mesh.Lenient)
	if err := open(in, '{'); err != nil {
		return meta, err
	}
	for in.PeekKind() == '"' {
		name, err := in.ReadToken()
		if err != nil {
			return meta, err
		}
		switch name.String() {
		case "metadata":
			err = json.UnmarshalDecode(in, &meta)
		case "items":
			err = decodeItems(in, each)
		default:
			err = in.SkipValue()
		}
		if err != nil {
			return meta, err
		}
	}
	_, err = in.ReadToken() // the closing brace
	return meta, err
}

func decodeItems(in *jsontext.Decoder, each func(jsontext.Value) error) error {
	if in.PeekKind() == 'n' { // null: Go's way to write an empty list
		return in.SkipValue()
	}
	if err := open(in, '['); err != nil {
		return err
	}
	for in.PeekKind() != ']' {
		item, err := in.ReadValue()
		if err == nil {
			err = each(item)
		}
		if err != nil {
			return err
		}
	}
	_, err := in.ReadToken() // the closing bracket
	return err
}

// open reads the token that opens an object or a list.
func open(in *jsontext.Decoder, kind jsontext.Kind) error {
	token, err := in.ReadToken()
	if err == nil && token.Kind() != kind {
		err = fmt.Errorf("want %v, got %v", kind, token.Kind())
	}
	return err
}

// events reads the events of a watch. It is a watch.Decoder.
type events struct {
	resource resource
	body     io.ReadCloser
	in       *jsontext.Decoder
	decode   decoder
	ended    func() // called at the end of a watch in which there was no error
	event    struct {
		Type   watch.EventType `json:"type"`
		Object jsontext.Value  `json:"object"`
	}
}

// decoder returns what is kept of an object.
type decoder func(jsontext.Value) (*item, error)

func newEvents(body io.ReadCloser, r resource, decode decoder, ended func()) *events {
	return &events{resource: r, body: body, in: jsontext.NewDecoder(body, mesh.Lenient), decode: decode, ended: ended}
}

// Decode implements watch.Decoder. At the end of the watch its error is io.EOF, and
// io.ErrUnexpectedEOF inside an event.
func (e *events) Decode() (event watch.EventType, into runtime.Object, err error) {
	if err := json.UnmarshalDecode(e.in, &e.event); err != nil {
		switch {
		case errors.Is(err, io.ErrUnexpectedEOF):
			return "", nil, io.ErrUnexpectedEOF
		case errors.Is(err, io.EOF):
			if e.event.Type != watch.Error {
				e.ended()
			}
			return "", nil, io.EOF
		}
		return "", nil, fmt.Errorf("watch of %s: %w", e.resource, err)
	}
	switch e.event.Type {
	case watch.Added, watch.Modified, watch.Deleted:
		into, err = e.decode(e.event.Object)
	case watch.Bookmark:
		into, err = unreduced(e.event.Object)
	case watch.Error:
		status := &metav1.Status{}
		into, err = status, mesh.Decode(e.event.Object, status)
	default:
		err = fmt.Errorf("unknown event %q", e.event.Type)
	}
	if err != nil {
		return "", nil, fmt.Errorf("watch of %s: %w", e.resource, err)
	}
	return e.event.Type, into, nil
}

// Close implements watch.Decoder.
func (e *events) Close() { e.body.Close() } //nolint:errcheck // nothing was written

// object is what one object of a resource is decoded into.
type object interface{ GetKind() string }

// decodeOne reads one object of the resource, or of its metadata alone.
func decodeOne(body []byte, r resource, into object) error {
	if err := mesh.Decode(body, into); err != nil {
		return err
	}
	if kind := into.GetKind(); kind != r.kind && (r != namespaceResource || kind != "PartialObjectMetadata") {
		return fmt.Errorf("got an object of kind %q", kind)
	}
	return nil
}

// refused returns the error that a Status in the body of a refusal tells; nil where
// there is none.
func refused(body []byte) error {
	status := &metav1.Status{}
	if mesh.Decode(body, status) != nil || status.Kind != "Status" || status.Status != metav1.StatusFailure {
		return nil //nolint:nilerr // what cannot be read is no Status
	}
	return apierrors.FromObject(status)
}
