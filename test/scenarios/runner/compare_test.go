package runner

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

func TestCompareJSON(t *testing.T) {
	const got = `{"a": 1, "b": {"c": [1, {"d": "x", "e": null}]}, "f": "g"}`
	tests := map[string]struct {
		want        string
		differences []string
	}{
		"the same":        {got, nil},
		"part of a map":   {`{"b": {"c": [1, {"d": "x"}]}}`, nil},
		"nothing":         {`{}`, nil},
		"null":            {`{"none": null}`, nil},
		"another value":   {`{"a": 2, "f": 1}`, []string{"object.a: want 2, got 1", `object.f: want 1, got "g"`}},
		"no such field":   {`{"b": {"x": {}}}`, []string{"object.b.x: want {}, got null"}},
		"what is there":   {`{"a": null}`, []string{"object.a: want null, got 1"}},
		"a shorter list":  {`{"b": {"c": [1]}}`, []string{`object.b.c: want [1], got [1,{"d":"x","e":null}]`}},
		"an item":         {`{"b": {"c": [1, {"d": "y"}]}}`, []string{`object.b.c[1].d: want "y", got "x"`}},
		"of another kind": {`{"b": []}`, []string{`object.b: want [], got {"c":[1,{"d":"x","e":null}]}`}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var want any
			if err := json.Unmarshal([]byte(test.want), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.differences, compareJSON("object", want, []byte(got))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCompareEntries(t *testing.T) {
	entry := func(name string, conditions ...metav1.Condition) Entry {
		return Entry{ParentRef: gatewayv1.ParentReference{Name: gatewayv1.ObjectName(name)}, Conditions: conditions}
	}
	lost := metav1.Condition{Type: "Accepted", Status: "False", Reason: "Conflicted", Message: "lost to GRPCRoute shop/cart"}
	some := metav1.Condition{Type: "gammaguard.dev/PartiallyConflicted", Status: "True", Reason: "Conflicted", Message: "port 80"}
	accepted := func(name string) Entry { return entry(name, lost) }
	partial, two, strange := entry("a", some), entry("a", lost, some), entry("a", lost, metav1.Condition{Type: "Ready"})
	parent := func(name string) Partial { return Partial{"name": name} }

	tests := map[string]struct {
		want []WantEntry
		got  []Entry
		same bool
	}{
		"none":                {nil, nil, true},
		"one too many":        {nil, []Entry{partial}, false},
		"one too few":         {[]WantEntry{{Partial: "True"}}, nil, false},
		"in another order":    {[]WantEntry{{Parent: parent("a"), Accepted: "False"}, {Parent: parent("b"), Accepted: "False"}}, []Entry{accepted("b"), accepted("a")}, true},
		"the general first":   {[]WantEntry{{Accepted: "False"}, {Parent: parent("a"), Accepted: "False"}}, []Entry{accepted("a"), accepted("b")}, true},
		"one for two":         {[]WantEntry{{Parent: parent("a"), Accepted: "False"}, {Parent: parent("a"), Accepted: "False"}}, []Entry{accepted("a"), accepted("b")}, false},
		"all of it":           {[]WantEntry{{Accepted: "False", Reason: "Conflicted", Message: "GRPCRoute"}}, []Entry{accepted("a")}, true},
		"another reason":      {[]WantEntry{{Accepted: "False", Reason: "NoMatchingParent"}}, []Entry{accepted("a")}, false},
		"another message":     {[]WantEntry{{Accepted: "False", Message: "HTTPRoute"}}, []Entry{accepted("a")}, false},
		"another status":      {[]WantEntry{{Accepted: "True"}}, []Entry{accepted("a")}, false},
		"another condition":   {[]WantEntry{{Accepted: "False"}}, []Entry{partial}, false},
		"one that must not":   {[]WantEntry{{Accepted: "False"}}, []Entry{two}, false},
		"both":                {[]WantEntry{{Accepted: "False", Partial: "True", Message: "port 80"}}, []Entry{two}, true},
		"a strange condition": {[]WantEntry{{Accepted: "False"}}, []Entry{strange}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := compareEntries(test.want, test.got); (got == "") != test.same {
				t.Errorf("got %q, want the same: %t", got, test.same)
			}
		})
	}
}

func TestRead(t *testing.T) {
	const text = `Warning: set spec.parentRefs[0].group to "": Service is in the core group (parent-group)
Warning: spec.rules: no rule matches (parent-headless) all; add one (no-catch-all)
Warning: something else (deprecated-api)
The HTTPRoute "cart" is invalid: 
* spec.parentRefs[0].name: Invalid value: "cart": is headless; use another (parent-headless)
* spec.parentRefs[1]: Duplicate value: one (of two) is enough (parent-duplicate)
Error from server (Forbidden): x is forbidden: spec.parentRefs[0]: Forbidden: no (grant-missing), spec.parentRefs[1]: Forbidden: no (consumer-refused)
`
	want := &Outcome{
		Rules:    []string{"consumer-refused", "grant-missing", "parent-duplicate", "parent-headless"},
		Warnings: []string{"no-catch-all", "parent-group"},
		Text:     text,
	}
	if diff := cmp.Diff(want, read(text)); diff != "" {
		t.Error(diff)
	}
}
