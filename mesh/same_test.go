package mesh

import (
	"fmt"
	"testing"
)

func TestSameJSON(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want bool
	}{
		{`{"a":1,"b":[true,null]}`, ` { "b" : [ true, null ], "a" : 1 } `, true},
		{`{"a":1}`, `{"a":1.0}`, true},
		{`1e2`, `100`, true},
		{`"A"`, `"A"`, true},
		{``, ``, true},
		{`{}`, ``, false},
		{`{"a":1}`, `{"a":2}`, false},
		{`{"a":1}`, `{"a":1,"b":1}`, false},
		{`{"a":null}`, `{"b":null}`, false},
		{`[1,2]`, `[2,1]`, false},
		{`[1]`, `[1,1]`, false},
		{`9007199254740993`, `9007199254740992`, false},
		{`9007199254740993`, `9007199254740992.0`, false},
		{`1`, `"1"`, false},
		{`1`, `true`, false},
		{`{"a":1`, `{"a":2`, false},
	} {
		if got := sameJSON([]byte(test.a), []byte(test.b)); got != test.want {
			t.Errorf("%s and %s: got %v", test.a, test.b, got)
		}
		if got := sameJSON([]byte(test.b), []byte(test.a)); got != test.want {
			t.Errorf("%s and %s: got %v", test.b, test.a, got)
		}
	}
}

// TestUnchanged: labels and annotations under the domains of meshes count with the spec.
func TestUnchanged(t *testing.T) {
	object := func(spec, labels, annotations string) []byte {
		return fmt.Appendf(nil, `{"metadata": {"name": "a", "labels": %s, "annotations": %s}, "spec": %s}`, labels, annotations, spec)
	}
	before := object(`{"a": 1}`, `{"kuma.io/mesh": "one", "team": "a"}`, `{"timeout.linkerd.io/request": "1s", "note": "a"}`)
	for _, test := range []struct {
		name  string
		after []byte
		want  bool
	}{
		{"nothing", object(`{"a": 1.0}`, `{"team": "a", "kuma.io/mesh": "one"}`, `{"note": "a", "timeout.linkerd.io/request": "1s"}`), true},
		{"others' keys", object(`{"a": 1}`, `{"kuma.io/mesh": "one", "kuma.io": "b", "notkuma.io/mesh": "c"}`, `{"timeout.linkerd.io/request": "1s", "linkerd.io.example.com/a": "b"}`), true},
		{"the spec", object(`{"a": 2}`, `{"kuma.io/mesh": "one"}`, `{"timeout.linkerd.io/request": "1s"}`), false},
		{"a label's value", object(`{"a": 1}`, `{"kuma.io/mesh": "two"}`, `{"timeout.linkerd.io/request": "1s"}`), false},
		{"a label goes", object(`{"a": 1}`, `null`, `{"timeout.linkerd.io/request": "1s"}`), false},
		{"an annotation's value", object(`{"a": 1}`, `{"kuma.io/mesh": "one"}`, `{"timeout.linkerd.io/request": "1ms"}`), false},
		{"an annotation goes", object(`{"a": 1}`, `{"kuma.io/mesh": "one"}`, `{}`), false},
		{"an annotation comes", object(`{"a": 1}`, `{"kuma.io/mesh": "one"}`, `{"timeout.linkerd.io/request": "1s", "retry.linkerd.io/limit": "9"}`), false},
		{"a label comes", object(`{"a": 1}`, `{"kuma.io/mesh": "one", "istio.io/rev": ""}`, `{"timeout.linkerd.io/request": "1s"}`), false},
		{"what cannot be read", []byte(`{"metadata": {"labels": []}, "spec": {"a": 1}}`), false},
	} {
		if Unchanged(before, test.after) != test.want || Unchanged(test.after, before) != test.want {
			t.Errorf("%s: want unchanged %v", test.name, test.want)
		}
	}
}

func TestInMeshDomain(t *testing.T) {
	for key, want := range map[string]bool{
		"istio.io/rev": true, "ambient.istio.io/redirection": true, "timeout.linkerd.io/request": true, "kuma.io/mesh": true,
		"service.cilium.io/global": true, "io.cilium/global-service": true, "consul.hashicorp.com/service-sync": true, "linkerd.io/inject": true,
		"istio.io": false, "myistio.io/rev": false, "istio.io.example.com/rev": false, "gammaguard.dev/ignore": false, "team": false, "": false, "/istio.io/": false,
	} {
		if inMeshDomain(key) != want {
			t.Errorf("%q: want %v", key, want)
		}
	}
}
