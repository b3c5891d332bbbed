package live

import (
	"errors"
	"fmt"
	"io"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// What the API server sends is decoded by the library that webhooks decode reviews
// by: client-go's own way reads each object of a watch three times.

// lenient has nothing that is stored keep a list from being read: neither text
// that is no UTF-8 nor a name that is there twice, for which nobody need look.
var lenient = jsonv2.JoinOptions(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))

// object is what is decoded of an object.
type object interface {
	runtime.Object
	metav1.ObjectMetaAccessor
}

// decodeList reads a list of the resource.
func decodeList(body io.Reader, r resource, each func(object) error) (meta metav1.ListMeta, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("list of %s: %w", r, err)
		}
	}()
	in := jsontext.NewDecoder(body, lenient)
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
			err = jsonv2.UnmarshalDecode(in, &meta)
		case "items":
			err = decodeItems(in, r, each)
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

func decodeItems(in *jsontext.Decoder, r resource, each func(object) error) error {
	if in.PeekKind() == 'n' { // null: Go's way to write an empty list
		return in.SkipValue()
	}
	if err := open(in, '['); err != nil {
		return err
	}
	for in.PeekKind() == '{' {
		o := r.object()
		if err := jsonv2.UnmarshalDecode(in, o); err != nil {
			return err
		}
		if err := each(o); err != nil {
			return err
		}
	}
	end, err := in.ReadToken()
	if err == nil && end.Kind() != ']' {
		err = fmt.Errorf("an item is a %v", end.Kind())
	}
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
	event    struct {
		Type   watch.EventType `json:"type"`
		Object jsontext.Value  `json:"object"`
	}
}

func newEvents(body io.ReadCloser, r resource) *events {
	return &events{resource: r, body: body, in: jsontext.NewDecoder(body, lenient)}
}

// Decode implements watch.Decoder. At the end of the watch its error is io.EOF, and
// io.ErrUnexpectedEOF inside an event.
func (e *events) Decode() (watch.EventType, runtime.Object, error) {
	if err := jsonv2.UnmarshalDecode(e.in, &e.event); err != nil {
		for _, end := range []error{io.ErrUnexpectedEOF, io.EOF} {
			if errors.Is(err, end) {
				return "", nil, end
			}
		}
		return "", nil, fmt.Errorf("watch of %s: %w", e.resource, err)
	}
	var into runtime.Object
	switch e.event.Type {
	case watch.Added, watch.Modified, watch.Deleted, watch.Bookmark:
		into = e.resource.object()
	case watch.Error:
		into = &metav1.Status{}
	default:
		return "", nil, fmt.Errorf("watch of %s: unknown event %q", e.resource, e.event.Type)
	}
	if err := jsonv2.Unmarshal(e.event.Object, into, lenient); err != nil {
		return "", nil, fmt.Errorf("watch of %s: %w", e.resource, err)
	}
	return e.event.Type, into, nil
}

// Close implements watch.Decoder.
func (e *events) Close() { e.body.Close() } //nolint:errcheck // nothing was written

// decodeOne reads one object of the resource, or of its metadata alone.
func decodeOne(body []byte, r resource, into object) error {
	if err := jsonv2.Unmarshal(body, into, lenient); err != nil {
		return err
	}
	if kind := into.GetObjectKind().GroupVersionKind().Kind; kind != r.kind && (r != namespaceResource || kind != "PartialObjectMetadata") {
		return fmt.Errorf("got an object of kind %q", kind)
	}
	return nil
}

// refused returns the error that a Status in the body of a refusal tells; nil where
// there is none.
func refused(body []byte) error {
	status := &metav1.Status{}
	if jsonv2.Unmarshal(body, status, lenient) != nil || status.Kind != "Status" || status.Status != metav1.StatusFailure {
		return nil //nolint:nilerr // what cannot be read is no Status
	}
	return apierrors.FromObject(status)
}
