package check

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestApplied: an object keeps the stored labels and annotations that it does not set, but those that kubectl applied.
func TestApplied(t *testing.T) {
	for name, test := range map[string][3]string{
		"kept":            {`{"metadata":{"name":"a"}}`, `{"metadata":{"labels":{"x":"1"},"annotations":{"y":"2"}}}`, `{"metadata":{"name":"a","labels":{"x":"1"},"annotations":{"y":"2"}}}`},
		"set":             {`{"metadata":{"labels":{"x":"2","z":"3"}}}`, `{"metadata":{"labels":{"x":"1"}}}`, `{"metadata":{"labels":{"x":"2","z":"3"}}}`},
		"applied before":  {`{"metadata":{}}`, `{"metadata":{"labels":{"x":"1","y":"2"},"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"metadata\":{\"labels\":{\"x\":\"0\"}}}"}}}`, `{"metadata":{"labels":{"y":"2"}}}`},
		"nothing applied": {`{"metadata":{}}`, `{"metadata":{"labels":{"x":"1"},"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"?"}}}`, `{"metadata":{"labels":{"x":"1"}}}`},
		"not the spec":    {`{"metadata":{},"spec":{"a":12345678901234567890}}`, `{"metadata":{},"spec":{"b":1}}`, `{"metadata":{},"spec":{"a":12345678901234567890}}`},
	} {
		got, err := applied([]byte(test[0]), []byte(test[1]))
		var compact any = string(got)
		var want map[string]json.RawMessage
		if err == nil {
			err = json.Unmarshal([]byte(test[2]), &want)
		}
		text, _ := json.Marshal(want) // with sorted keys
		var is, wanted any
		if json.Unmarshal(got, &is) != nil || json.Unmarshal(text, &wanted) != nil || err != nil {
			t.Errorf("%s: %v: %v", name, compact, err)
		}
		if diff := cmp.Diff(wanted, is); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
	}
	for _, object := range []string{`{"metadata":{"labels":[]}}`, `{}`, `{"metadata":1}`} {
		if got, err := applied([]byte(object), []byte(`{}`)); err == nil {
			t.Errorf("%s: %s", object, got)
		}
	}
}
