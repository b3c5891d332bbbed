package fix_test

import "strings"

// head begins a route, down to its spec.
const head = `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: cart}
spec:
`

// kept is the head as it stands in a diff.
var kept = " " + strings.ReplaceAll(strings.TrimSuffix(head, "\n"), "\n", "\n ") + "\n"

// cases are texts and what they become: lines that go begin with a minus, lines that
// come with a plus.
var cases = []struct{ name, diff string }{{
	name: "a field is added behind its sibling, comments stay",
	diff: ` # the cart
 apiVersion: gateway.networking.k8s.io/v1
 kind: HTTPRoute
 metadata: {name: cart}
 spec:
   parentRefs:   # who
   - kind: Service # the mesh
+    group: ""
     name: "cart"
     port:   80
   rules:
   - backendRefs:
       - name: 'cart'   # quoted
+        port: 80
 
       # weights come later
-      - {name: cart, weight: 1}
+      - {name: cart, port: 80, weight: 1}
`,
}, {
	name: "values are replaced in their own quotes",
	diff: kept + `   parentRefs:
-  - {group: core, kind: Service, name: one}
+  - {group: "", kind: Service, name: one}
-  - {"group": "core", "kind": "Service", "name": "cart", "port": 80}
+  - {"group": "", "kind": "Service", "name": "cart", "sectionName": "http", "port": 80}
-  - group: 'core' # old
+  - group: '' # old
     kind: Service
     name: cart
+    sectionName: admin
     port: 8080
-  - group: multicluster.x-k8s.io/v1alpha1
+  - group: multicluster.x-k8s.io
     kind: ServiceImport
     name: far
`,
}, {
	name: "null values",
	diff: kept + `   parentRefs:
-  - group: # to be said
+  - group: "" # to be said
     kind: Service
     name: one
   - kind: Service
     name: cart
-    group: ~
+    group: ""
`,
}, {
	name: "a string that would be read as a boolean is quoted",
	diff: kept + `   parentRefs:
-  - {group: "", kind: Service, name: one, port: 80}
+  - {group: "", kind: Service, name: one, sectionName: "true", port: 80}
   - {group: "", kind: Service, name: one, sectionName: other}
`,
}, {
	name: "several documents",
	diff: ` ---
 apiVersion: gateway.networking.k8s.io/v1
 kind: HTTPRoute
 metadata: {name: cart}
 spec:
   parentRefs:
   - kind: Service
+    group: ""
     name: cart
 --- # next
 apiVersion: gateway.networking.k8s.io/v1
 kind: HTTPRoute
 metadata: {name: cart}
 spec:
   parentRefs:
   - name: cart
     kind: Service
+    group: ""
`,
}, {
	name: "only the routes of a List, anchors and merge keys",
	diff: ` apiVersion: v1
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
+      group: ""
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
+      group: ""
`,
}, {
	name: "an alias as a value, quoted keys in a block, words beyond ASCII",
	diff: ` apiVersion: gateway.networking.k8s.io/v1
 kind: HTTPRoute
 metadata: {name: cart, annotations: {"größe": &g core, "日本": "×"}}
 spec:
   "parentRefs":
-  - {"größe": "日本", kind: Service, name: cart, group: *g}
+  - {"größe": "日本", kind: Service, name: cart, group: ""}
   - "kind": "Service"
+    "group": ""
     "name": "one"
`,
}, {
	name: "JSON, indented by tabs and compact",
	diff: ` {
 	"apiVersion": "gateway.networking.k8s.io/v1",
 	"kind": "HTTPRoute",
 	"metadata": {"name": "a"},
 	"spec": {
 		"parentRefs": [
 			{
 				"kind": "Service",
+				"group": "",
 				"name": "cart"
 			}
 		]
 	}
 }
-{"apiVersion":"gateway.networking.k8s.io/v1","kind":"HTTPRoute","metadata":{"name":"b"},"spec":{"parentRefs":[{"kind":"Service","name":"cart"}]}}
+{"apiVersion":"gateway.networking.k8s.io/v1","kind":"HTTPRoute","metadata":{"name":"b"},"spec":{"parentRefs":[{"kind":"Service","group":"","name":"cart"}]}}
`,
}, {
	name: "mirrors, and a flow mapping over several lines",
	diff: kept + `   parentRefs:
   - { # the parent
-      kind: Service,   # kind
+      kind: Service,
+      group: "",   # kind
       name: cart, port: 80 }
   rules:
   - filters:
     - type: RequestMirror
-      requestMirror: {backendRef: {group: core, name: one}}
+      requestMirror: {backendRef: {group: "", name: one, port: 80}}
-    - {type: RequestMirror, requestMirror: {backendRef: {name: "one"}}}
+    - {type: RequestMirror, requestMirror: {backendRef: {name: "one", port: 80}}}
`,
}}

// versions returns the texts before and after.
func versions(diff string) (before, after string) {
	for line := range strings.Lines(diff) {
		if line[0] != '+' {
			before += line[1:]
		}
		if line[0] != '-' {
			after += line[1:]
		}
	}
	return before, after
}
