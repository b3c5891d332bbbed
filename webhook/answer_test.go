package webhook

import (
	"encoding/json"
	"reflect"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
)

// TestAdmission has the text of an admission read as what it is to say.
func TestAdmission(t *testing.T) {
	const odd = "a\"b\\c\n\u2028<é>"
	for name, a := range map[string]answer{
		"plain":      {},
		"warned":     {warnings: []string{"first", odd}},
		"audited":    {audit: map[string]string{"findings": odd, "more": ""}},
		"both":       {warnings: []string{odd}, audit: map[string]string{odd: "b"}},
		"no warning": {warnings: []string{}, audit: map[string]string{}},
	} {
		for _, uid := range []string{"9f1c2d3e-1111-2222-3333-444455556666", odd} {
			text, err := a.encode(uid)
			if err != nil {
				t.Fatal(name, err)
			}
			var got admissionv1.AdmissionReview
			if err := json.Unmarshal(text, &got); err != nil {
				t.Errorf("%s: %s: %v", name, text, err)
				continue
			}
			want := &admissionv1.AdmissionResponse{UID: got.Response.UID, Allowed: true}
			if len(a.warnings) > 0 {
				want.Warnings = a.warnings
			}
			if len(a.audit) > 0 {
				want.AuditAnnotations = a.audit
			}
			if string(got.Response.UID) != uid || !reflect.DeepEqual(got.Response, want) || got.Kind != reviewKind || got.APIVersion != reviewVersion {
				t.Errorf("%s: got %s", name, text)
			}
		}
	}
	a := answer{warnings: []string{"\xff"}}
	text, err := a.encode("1")
	if err != nil || !json.Valid(text) {
		t.Errorf("no UTF-8: got %q, %v", text, err)
	}
}
