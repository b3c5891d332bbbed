package desired_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/status/desired"
)

func TestTaken(t *testing.T) {
	lost := metav1.Condition{Type: desired.Accepted, Status: "False", Reason: desired.Conflicted}
	some := metav1.Condition{Type: desired.PartiallyConflicted, Status: "True", Reason: desired.Conflicted}
	for name, test := range map[string]struct {
		conditions []metav1.Condition
		want       bool
	}{
		"as gammaguard marks a route":              {[]metav1.Condition{lost}, false},
		"as gammaguard marks a part":               {[]metav1.Condition{some}, false},
		"a reason of former times":                 {[]metav1.Condition{{Type: desired.Accepted, Status: "False", Reason: "Former"}}, false},
		"none: what is stored cannot be read":      {nil, false},
		"accepted":                                 {[]metav1.Condition{{Type: desired.Accepted, Status: "True"}}, true},
		"a condition of another controller":        {[]metav1.Condition{{Type: "ResolvedRefs", Status: "True"}}, true},
		"one more":                                 {[]metav1.Condition{lost, {Type: "ResolvedRefs", Status: "True"}}, true},
		"both of ours, of which one is never true": {[]metav1.Condition{lost, some}, true},
		"no part": {[]metav1.Condition{{Type: desired.PartiallyConflicted, Status: "False"}}, true},
	} {
		if got := desired.ClaimedByOther(test.conditions); got != test.want {
			t.Errorf("%s: %t, want %t", name, got, test.want)
		}
	}
}

func TestBehind(t *testing.T) {
	entries := []desired.Entry{{Ref: 0}, {Ref: 2}, {Ref: 31}}
	for answered, want := range map[mesh.ParentSet][]desired.Entry{
		0:                  nil,
		1 << 1:             nil,
		1 << 2:             {{Ref: 2}},
		1<<0 | 1<<1 | 1<<2: {{Ref: 0}, {Ref: 2}},
		1 << 31:            {{Ref: 31}},
	} {
		if diff := cmp.Diff(want, desired.AnsweredOnly(entries, answered)); diff != "" {
			t.Errorf("answered %b (-want +got):\n%s", answered, diff)
		}
	}
}
