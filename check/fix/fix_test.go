package fix_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/check/fix"
	"github.com/gammaguard/gammaguard/mesh/manifest"
	"github.com/gammaguard/gammaguard/mutate"
)

// services are what the routes of the tests refer to.
const services = `
{apiVersion: v1, kind: Service, metadata: {name: cart}, spec: {ports: [{name: http, port: 80}, {name: admin, port: 8080}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: one}, spec: {ports: [{name: "true", port: 80}]}}
`

// jobs returns the mutations of all routes in the text.
func jobs(t *testing.T, text string) []fix.Job {
	t.Helper()
	set := manifest.NewSet(manifest.Options{Complete: true})
	known, errs := manifest.Read("services.yaml", []byte(services), "default")
	objects, more := manifest.Read("routes.yaml", []byte(text), "default")
	for _, err := range append(errs, more...) {
		t.Fatal(err)
	}
	for _, object := range known {
		if err := set.Put(object); err != nil {
			t.Fatal(err)
		}
	}
	var jobs []fix.Job
	for _, object := range objects {
		if object.Route == nil {
			continue
		}
		if changes := mutate.Changes(object.Route, set, mutate.Options{}); len(changes) > 0 {
			jobs = append(jobs, fix.Job{Object: object, Changes: changes})
		}
	}
	return jobs
}

// head begins a route, down to its spec.
const head = `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: cart}
spec:
`

// cases are texts and what they become.
var cases = []struct{ name, text, want string }{{
	name: "a field is added behind its sibling, comments stay",
	text: `# the cart
` + head + `  parentRefs:   # who
  - kind: Service # the mesh
    name: "cart"
    port:   80
  rules:
  - backendRefs:
      - name: 'cart'   # quoted

      # weights come later
      - {name: cart, weight: 1}
`,
	want: `# the cart
` + head + `  parentRefs:   # who
  - kind: Service # the mesh
    group: ""
    name: "cart"
    port:   80
  rules:
  - backendRefs:
      - name: 'cart'   # quoted
        port: 80

      # weights come later
      - {name: cart, port: 80, weight: 1}
`,
}, {
	name: "values are replaced in their own quotes",
	text: head + `  parentRefs:
  - {group: core, kind: Service, name: one}
  - {"group": "core", "kind": "Service", "name": "cart", "port": 80}
  - group: 'core' # old
    kind: Service
    name: cart
    port: 8080
  - group: multicluster.x-k8s.io/v1alpha1
    kind: ServiceImport
    name: far
`,
	want: head + `  parentRefs:
  - {group: "", kind: Service, name: one}
  - {"group": "", "kind": "Service", "name": "cart", "sectionName": "http", "port": 80}
  - group: '' # old
    kind: Service
    name: cart
    sectionName: admin
    port: 8080
  - group: multicluster.x-k8s.io
    kind: ServiceImport
    name: far
`,
}, {
	name: "null values",
	text: head + `  parentRefs:
  - group: # to be said
    kind: Service
    name: one
  - kind: Service
    name: cart
    group: ~
`,
	want: head + `  parentRefs:
  - group: "" # to be said
    kind: Service
    name: one
  - kind: Service
    name: cart
    group: ""
`,
}, {
	name: "a string that would be read as a boolean is quoted",
	text: head + `  parentRefs:
  - {group: "", kind: Service, name: one, port: 80}
  - {group: "", kind: Service, name: one, sectionName: other}
`,
	want: head + `  parentRefs:
  - {group: "", kind: Service, name: one, sectionName: "true", port: 80}
  - {group: "", kind: Service, name: one, sectionName: other}
`,
}, {
	name: "CRLF, several documents, no newline at the end",
	text: strings.ReplaceAll("---\n"+head+"  parentRefs:\n  - kind: Service\n    name: cart\n--- # next\n"+head+"  parentRefs:\n  - name: cart\n    kind: Service", "\n", "\r\n"),
	want: strings.ReplaceAll("---\n"+head+"  parentRefs:\n  - kind: Service\n    group: \"\"\n    name: cart\n--- # next\n"+head+"  parentRefs:\n  - name: cart\n    kind: Service\n    group: \"\"", "\n", "\r\n"),
}, {
	name: "only the routes of a List, anchors and merge keys",
	text: `apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: x}
  data: {kind: Service, name: cart}
- apiVersion: gateway.networking.k8s.io/v1
  kind: HTTPRoute
  metadata: {name: a}
  spec:
    parentRefs: &refs
    - &cart
      kind: Service
      name: cart
    rules: []
- apiVersion: gateway.networking.k8s.io/v1
  kind: HTTPRoute
  metadata: {name: b}
  spec:
    parentRefs: *refs
- apiVersion: gateway.networking.k8s.io/v1
  kind: HTTPRoute
  metadata: {name: c}
  spec:
    parentRefs:
    - <<: *cart
      port: 80
`,
	want: `apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: x}
  data: {kind: Service, name: cart}
- apiVersion: gateway.networking.k8s.io/v1
  kind: HTTPRoute
  metadata: {name: a}
  spec:
    parentRefs: &refs
    - &cart
      kind: Service
      group: ""
      name: cart
    rules: []
- apiVersion: gateway.networking.k8s.io/v1
  kind: HTTPRoute
  metadata: {name: b}
  spec:
    parentRefs: *refs
- apiVersion: gateway.networking.k8s.io/v1
  kind: HTTPRoute
  metadata: {name: c}
  spec:
    parentRefs:
    - <<: *cart
      port: 80
      group: ""
`,
}, {
	name: "an alias as a value, quoted keys in a block, words beyond ASCII",
	text: `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: cart, annotations: {"größe": &g core, "日本": "×"}}
spec:
  "parentRefs":
  - {"größe": "日本", kind: Service, name: cart, group: *g}
  - "kind": "Service"
    "name": "one"
`,
	want: `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: cart, annotations: {"größe": &g core, "日本": "×"}}
spec:
  "parentRefs":
  - {"größe": "日本", kind: Service, name: cart, group: ""}
  - "kind": "Service"
    "group": ""
    "name": "one"
`,
}, {
	name: "JSON, indented by tabs and compact",
	text: `{
	"apiVersion": "gateway.networking.k8s.io/v1",
	"kind": "HTTPRoute",
	"metadata": {"name": "a"},
	"spec": {
		"parentRefs": [
			{
				"kind": "Service",
				"name": "cart"
			}
		]
	}
}
{"apiVersion":"gateway.networking.k8s.io/v1","kind":"HTTPRoute","metadata":{"name":"b"},"spec":{"parentRefs":[{"kind":"Service","name":"cart"}]}}
`,
	want: `{
	"apiVersion": "gateway.networking.k8s.io/v1",
	"kind": "HTTPRoute",
	"metadata": {"name": "a"},
	"spec": {
		"parentRefs": [
			{
				"kind": "Service",
				"group": "",
				"name": "cart"
			}
		]
	}
}
{"apiVersion":"gateway.networking.k8s.io/v1","kind":"HTTPRoute","metadata":{"name":"b"},"spec":{"parentRefs":[{"kind":"Service","group":"","name":"cart"}]}}
`,
}, {
	name: "mirrors, and a flow mapping over several lines",
	text: head + `  parentRefs:
  - { # the parent
      kind: Service,   # kind
      name: cart, port: 80 }
  rules:
  - filters:
    - type: RequestMirror
      requestMirror: {backendRef: {group: core, name: one}}
    - {type: RequestMirror, requestMirror: {backendRef: {name: "one"}}}
`,
	want: head + `  parentRefs:
  - { # the parent
      kind: Service,
      group: "",   # kind
      name: cart, port: 80 }
  rules:
  - filters:
    - type: RequestMirror
      requestMirror: {backendRef: {group: "", name: one, port: 80}}
    - {type: RequestMirror, requestMirror: {backendRef: {name: "one", port: 80}}}
`,
}}

func TestApply(t *testing.T) {
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			got, err := fix.Apply(test.text, jobs(t, test.text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error("(-want +got)\n" + diff)
			}
			if left := jobs(t, got); len(left) > 0 {
				t.Errorf("changes are left: %+v", left)
			}
		})
	}
}

func TestApplyRefuses(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{{
		name: "an anchor that another object shares",
		text: `apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: x}
  data: &ref {kind: Service, name: cart}
- apiVersion: gateway.networking.k8s.io/v1
  kind: HTTPRoute
  metadata: {name: a}
  spec: {parentRefs: [*ref]}
`,
		want: "ConfigMap default/x (line 4) would not become what it should: does it share an anchor with another object?",
	}, {
		name: "an anchored value that is used elsewhere",
		text: head + "  parentRefs: [{group: &g core, kind: Service, name: one}]\n  rules: [{name: *g}]\n",
		want: "HTTPRoute default/cart (line 1) would not become what it should: does it share an anchor with another object?",
	}, {
		name: "a value in a block of text",
		text: head + "  parentRefs:\n  - kind: Service\n    name: one\n    group: |-\n      core\n",
		want: "HTTPRoute default/cart: spec.parentRefs[0].group: its value is written in a way that is not edited here: write it on one line",
	}, {
		name: "no sibling to write behind",
		text: head + "  parentRefs:\n  - kind: >-\n      Service\n    name: |-\n      one\n",
		want: "HTTPRoute default/cart: spec.parentRefs[0].group: there is no field on one line behind which it could be written",
	}} {
		t.Run(test.name, func(t *testing.T) {
			got, err := fix.Apply(test.text, jobs(t, test.text))
			if err == nil {
				t.Fatalf("want an error, got\n%s", got)
			}
			if diff := cmp.Diff(test.want, err.Error()); diff != "" {
				t.Error("(-want +got)\n" + diff)
			}
		})
	}
}

// FuzzApply: whatever the text, Apply ends, and what it returns has been verified:
// no mutation is left to be made.
func FuzzApply(f *testing.F) {
	for _, test := range cases {
		f.Add(test.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		todo := mutations(text)
		fixed, err := fix.Apply(text, todo)
		if err != nil {
			return
		}
		if left := mutations(fixed); len(left) > 0 {
			t.Errorf("changes are left in %q: %+v", fixed, left[0].Changes)
		}
		if len(todo) == 0 && fixed != text {
			t.Errorf("changed for no reason: %q", fixed)
		}
	})
}

// mutations returns the mutations that need no Services.
func mutations(text string) []fix.Job {
	objects, _ := manifest.Read("routes.yaml", []byte(text), "default")
	var jobs []fix.Job
	for _, object := range objects {
		if object.Route == nil {
			continue
		}
		if changes := mutate.Changes(object.Route, manifest.NewSet(manifest.Options{}), mutate.Options{}); len(changes) > 0 {
			jobs = append(jobs, fix.Job{Object: object, Changes: changes})
		}
	}
	return jobs
}
