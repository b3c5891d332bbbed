package kube

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"
)

// TestDecodeList: whatever the order of its members, a list is read whole or not
// at all.
func TestDecodeList(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       []string
		version    string
		fails      bool
	}{
		{"as the API server writes it", `{"kind":"ServiceList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}]}`, []string{"a", "b"}, "7", false},
		{"items first", `{"items":[{"metadata":{"name":"a"}}],"metadata":{"resourceVersion":"7"}}`, []string{"a"}, "7", false},
		{"empty", `{"metadata":{"resourceVersion":"7"},"items":[]}`, nil, "7", false},
		{"null", `{"metadata":{"resourceVersion":"7"},"items":null}`, nil, "7", false},
		{"not an object", `[]`, nil, "", true},
		{"items are no list", `{"items":{}}`, nil, "", true},
		{"an item is no object", `{"items":[1]}`, []string{""}, "", true},
		{"cut off between items", `{"items":[{"metadata":{"name":"a"}}`, []string{"a"}, "", true},
		{"cut off inside an item", `{"items":[{"metadata":{"name":"a"`, nil, "", true},
		{"cut off before the end", `{"items":[]`, nil, "", true},
		{"nothing", ``, nil, "", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			meta, err := decodeList(strings.NewReader(test.text), serviceResource, func(text jsontext.Value) error {
				i, err := unreduced(text)
				got = append(got, i.Name)
				return err
			})
			if diff := cmp.Diff(test.want, got); diff != "" || meta.ResourceVersion != test.version || (err != nil) != test.fails {
				t.Errorf("version %q, %v, items (-want +got):\n%s", meta.ResourceVersion, err, diff)
			}
		})
	}
}

// TestDecodeListStops: an error of the caller ends the list.
func TestDecodeListStops(t *testing.T) {
	stop := errors.New("stop")
	calls := 0
	_, err := decodeList(strings.NewReader(`{"items":[{},{}]}`), serviceResource, func(jsontext.Value) error { calls++; return stop })
	if !errors.Is(err, stop) || calls != 1 {
		t.Errorf("%d calls, %v", calls, err)
	}
}

// TestDecodeEvents: events are told apart from the watch's end and from garbage.
func TestDecodeEvents(t *testing.T) {
	events := newEvents(io.NopCloser(strings.NewReader(`{"type":"ADDED","object":{"kind":"Service","metadata":{"name":"a","resourceVersion":"7"}}}
{"object":{"metadata":{"resourceVersion":"8"}},"type":"BOOKMARK"}
{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410,"message":"too old"}}
`)), serviceResource, unreduced, func() { t.Error("a watch with an error counts as one that ended in order") })
	for _, want := range []struct {
		event         watch.EventType
		name, version string
	}{{watch.Added, "a", "7"}, {watch.Bookmark, "", "8"}} {
		event, o, err := events.Decode()
		if err != nil {
			t.Fatal(err)
		}
		meta := o.(*item).GetObjectMeta()
		if event != want.event || meta.GetName() != want.name || meta.GetResourceVersion() != want.version {
			t.Errorf("got %s of %s at %s, want %+v", event, meta.GetName(), meta.GetResourceVersion(), want)
		}
	}
	event, o, err := events.Decode()
	if err != nil || event != watch.Error || !apierrors.IsResourceExpired(apierrors.FromObject(o)) {
		t.Errorf("got %s, %v, %v: want an error that says 410", event, o, err)
	}
	if _, _, err := events.Decode(); err != io.EOF { //nolint:errorlint // client-go compares it so
		t.Errorf("at the end: %v", err)
	}
	ended := 0
	sound := newEvents(io.NopCloser(strings.NewReader(`{"type":"BOOKMARK","object":{}}`)), serviceResource, unreduced, func() { ended++ })
	for range 2 {
		_, _, err = sound.Decode()
	}
	if err != io.EOF || ended != 1 { //nolint:errorlint // client-go compares it so
		t.Errorf("a watch that ends in order: %v, told %d times", err, ended)
	}
	for text, want := range map[string]error{
		`{"type":"ADDED","object":{"metadata":`: io.ErrUnexpectedEOF,
		`{"type":"RENAMED","object":{}}`:        nil,
		`{"type":"ADDED","object":[]}`:          nil,
		`garbage`:                               nil,
	} {
		_, _, err := newEvents(io.NopCloser(strings.NewReader(text)), serviceResource, unreduced, func() { t.Errorf("%s counts as a watch that ended in order", text) }).Decode()
		if err == nil || want != nil && err != want || want == nil && errors.Is(err, io.EOF) { //nolint:errorlint // client-go compares it so
			t.Errorf("%s: %v, want %v", text, err, want)
		}
	}
}
