package describe_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/gammaguard/gammaguard/internal/cli/describe"
	"github.com/gammaguard/gammaguard/mesh"
)

// TestUnreadableAnnotation: an annotation that cannot be read is marked, in text and in JSON.
func TestUnreadableAnnotation(t *testing.T) {
	d := &describe.Service{ConsumerRoutes: []describe.Setting{{Key: mesh.ConsumerRoutesFromAnnotation, Value: "a in (", From: "Service", Invalid: true}}}
	var out strings.Builder
	if err := d.Text(&out); err != nil {
		t.Fatal(err)
	}
	if want := "a in ( (cannot be read: deny)"; !strings.Contains(out.String(), want) {
		t.Errorf("got %s, want %s", out.String(), want)
	}
	if text, err := json.Marshal(d.ConsumerRoutes[0]); err != nil || !strings.Contains(string(text), `"invalid":true`) {
		t.Errorf("JSON: %s, %v", text, err)
	}
}

// TestUnknownValue: an unknown value of the label is shown with what it acts as, and a selector is
// not such a value.
func TestUnknownValue(t *testing.T) {
	for _, test := range []struct{ key, value, want string }{
		{mesh.ConsumerRoutesLabel, "allow", "allow"},
		{mesh.ConsumerRoutesLabel, "deny", "deny"},
		{mesh.ConsumerRoutesLabel, "no", "no (unknown: deny)"},
		{mesh.ConsumerRoutesLabel, "", "- (unknown: deny)"},
		{mesh.ConsumerRoutesFromAnnotation, "a=b", "a=b"},
		{mesh.ConsumerRoutesFromAnnotation, "", "-"},
	} {
		var out strings.Builder
		d := &describe.Service{ConsumerRoutes: []describe.Setting{{Key: test.key, Value: test.value, From: "Service"}}}
		if err := d.Text(&out); err != nil {
			t.Fatal(err)
		}
		_, row, found := strings.Cut(out.String(), "\n"+test.key+" ")
		row, _, _ = strings.Cut(row, "\n")
		if got := strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(row), "Service")); !found || got != test.want {
			t.Errorf("%s=%s: got %q, want %q", test.key, test.value, got, test.want)
		}
	}
}
