package manifest_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"

	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/mesh"
)

const stream = `# what the shop needs

apiVersion: v1
kind: Service
metadata: {name: cart}
--- # the routes
apiVersion: v1
kind: List
items:
- apiVersion: gateway.networking.k8s.io/v1
  kind: HTTPRoute
  metadata:
    name: cart
    namespace: shop
  spec:
    parentRefs:
    - kind: Service
      name: cart
- apiVersion: serving.knative.dev/v1
  kind: Service
  metadata: {name: other}
---
---
# nothing
---
{"apiVersion": "gateway.networking.k8s.io/v1alpha2", "kind": "TCPRouteList", "items": [
  {"metadata": {"generateName": "db-"}},
  {}
]}
{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "namespace": "x"}}
---
replicas: 3
`

func TestRead(t *testing.T) {
	type place struct {
		manifest.Key
		Version        string
		Document, Line int
	}
	var got []place
	for _, o := range read(t, stream) {
		got = append(got, place{o.Key, o.Version, o.Origin.Document, o.Origin.Line})
	}
	const gateway = mesh.GatewayGroup
	want := []place{
		{manifest.Key{Kind: "Service", Namespace: "default", Name: "cart"}, "v1", 0, 3},
		{manifest.Key{Group: gateway, Kind: "HTTPRoute", Namespace: "shop", Name: "cart"}, "v1", 1, 7},
		{manifest.Key{Group: "serving.knative.dev", Kind: "Service", Namespace: "default", Name: "other"}, "v1", 1, 7},
		{manifest.Key{Group: gateway, Kind: "TCPRoute", Namespace: "default", Name: "db-*"}, "v1alpha2", 2, 26},
		{manifest.Key{Group: gateway, Kind: "TCPRoute", Namespace: "default", Name: "*"}, "v1alpha2", 2, 26},
		{manifest.Key{Kind: "Namespace", Name: "shop"}, "v1", 3, 30},
		{manifest.Key{Namespace: "default", Name: "*"}, "", 4, 32},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestReadAsKubectl: what kubectl takes for objects is read, however it is packed.
func TestReadAsKubectl(t *testing.T) {
	const route = `{"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "metadata": {"name": "r"}, "spec": {}}`
	for name, text := range map[string]string{
		"a List":                     `{"apiVersion": "v1", "kind": "List", "items": [` + route + `]}`,
		"items of another kind":      `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "items": [` + route + `]}`,
		"a List in a List":           `{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "List", "items": [` + route + `]}]}`,
		"YAML after JSON":            `{"apiVersion": "v1", "kind": "ConfigMap"}` + "\napiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: r}\nspec: {}\n",
		"JSON behind a comment":      `{"apiVersion": "v1", "kind": "ConfigMap"}` + "\n# c\n" + route,
		"JSON values that follow on": `{"apiVersion": "v1", "kind": "ConfigMap"}` + route,
	} {
		objects := read(t, text)
		if n := len(objects); n == 0 || objects[n-1].Route == nil || objects[n-1].Key.Name != "r" {
			t.Errorf("%s: %d objects, and no route", name, n)
		}
	}
}

// TestReadNoMap: a document that is no map is broken, with its place.
func TestReadNoMap(t *testing.T) {
	for text, want := range map[string]string{
		"- a list\n":                            "x.yaml:3: not a Kubernetes object: it is a list",
		"\u00a0{\"kind\":\"HTTPRoute\"}\n":      "x.yaml:3: not a Kubernetes object: it is a string",
		"---apiVersion: a\n  kind: HTTPRoute\n": "",
		"3\n":                                   "x.yaml:3: not a Kubernetes object: it is a number",
		"true\n":                                "x.yaml:3: not a Kubernetes object: it is a boolean",
		strings.Repeat(`{"items":[`, 100) + strings.Repeat("]}", 100): "x.yaml:3: not a Kubernetes object: lists are nested more than 8 deep",
		"null\n": "",
	} {
		objects, errs := manifest.ReadUndecoded("x.yaml", []byte("a: b\n---\n"+text), "")
		switch {
		case want == "" && strings.HasPrefix(text, "null"):
			if len(errs) > 0 || len(objects) != 1 {
				t.Errorf("%q: %v", text, errs)
			}
		case want == "": // kubectl cannot read it either
			if len(errs) != 1 {
				t.Errorf("%q: %v", text, errs)
			}
		case len(errs) != 1 || errs[0].Error() != want:
			t.Errorf("%q: %v, want %s", text, errs, want)
		}
	}
}

func TestLine(t *testing.T) {
	objects := read(t, stream)
	for path, want := range map[string]int{
		"spec.parentRefs[0].name":           18,
		"spec.parentRefs[0].port":           17, // not there: the parentRef's line
		"spec.parentRefs":                   16,
		"metadata.labels[example.com/tier]": 12,
		"":                                  10,
	} {
		if got := objects[1].Line(path); got != want {
			t.Errorf("%q: line %d, want %d", path, got, want)
		}
	}
	if got := objects[0].Line("metadata.name"); got != 5 {
		t.Errorf("Service: line %d, want 5", got)
	}
	if got := objects[5].Line("metadata.name"); got != 30 {
		t.Errorf("JSON: line %d, want 30", got)
	}
}

// TestReadEncodings: a byte order mark says what the text is encoded in.
func TestReadEncodings(t *testing.T) {
	const text = "# größer\r\napiVersion: v1\r\nkind: Service\r\nmetadata:\r\n  name: cart\r\n"
	for name, encoding := range map[string]encoding.Encoding{
		"UTF-8":                 unicode.UTF8,
		"UTF-8 with a mark":     unicode.UTF8BOM,
		"UTF-16, little endian": unicode.UTF16(unicode.LittleEndian, unicode.UseBOM),
		"UTF-16, big endian":    unicode.UTF16(unicode.BigEndian, unicode.UseBOM),
	} {
		t.Run(name, func(t *testing.T) {
			data, err := encoding.NewEncoder().Bytes([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			objects, errs := manifest.Read("cart.yaml", data, "shop")
			if len(objects) != 1 || len(errs) > 0 {
				t.Fatal(objects, errs)
			}
			if got := objects[0]; got.Key.Name != "cart" || got.Line("") != 2 || got.Line("metadata.name") != 5 {
				t.Errorf("%s at lines %d and %d, want cart at 2 and 5", got.Key, got.Line(""), got.Line("metadata.name"))
			}
		})
	}
}

func TestReadBroken(t *testing.T) {
	objects, errs := manifest.Read("shop.yaml", []byte(`apiVersion: v1
kind: Service
metadata: {name: a}
---
kind: Service
  metadata: indented
---
kind: HTTPRoute
apiVersion: gateway.networking.k8s.io/v1
metadata: {name: a}
spec: {parentRefs: none}
---
kind: [Service]
---
kind: List
apiVersion: v1
items:
- kind: Namespace
  apiVersion: v1
  metadata: {name: shop}
- kind: TCPRoute
  apiVersion: gateway.networking.k8s.io/v1alpha2
  spec: 3
---
apiVersion: v1
kind: Service
metadata: {name: b}
`), "default")
	var names []string
	for _, o := range objects {
		names = append(names, o.Key.String())
	}
	if diff := cmp.Diff([]string{"Service default/a", "Namespace shop", "Service default/b"}, names); diff != "" {
		t.Error(diff)
	}
	want := []string{
		"shop.yaml:6: broken YAML: ", "shop.yaml:8: not a route: ", "shop.yaml:13: not a Kubernetes object: ", "shop.yaml:21: not a route: ",
	}
	if len(errs) != len(want) {
		t.Fatalf("got %q, want %d errors", errs, len(want))
	}
	for i := range want {
		if !strings.HasPrefix(errs[i].Error(), want[i]) {
			t.Errorf("got %q, want %q", errs[i], want[i])
		}
	}
}

// TestObjectsAreBounded: of a file, only so many objects are read, however they follow each other, and what has a
// name that is too long is none.
func TestObjectsAreBounded(t *testing.T) {
	const many = manifest.MaxObjects + 10
	for name, text := range map[string]string{
		"documents": strings.Repeat("---\n[\n", many),
		"JSON":      strings.Repeat("{}\n", many),
		"a List":    `{"kind": "List", "apiVersion": "v1", "items": [{}` + strings.Repeat(",{}", many) + "]}",
	} {
		objects, errs := manifest.ReadUndecoded("f.yaml", []byte(text), "")
		if len(objects)+len(errs) != manifest.MaxObjects+1 || !strings.HasSuffix(errs[len(errs)-1].Error(), "more than 100000 objects; what follows is not read") {
			t.Errorf("%s: %d objects, %d errors", name, len(objects), len(errs))
		}
	}
	for _, field := range []string{"namespace", "name", "generateName"} {
		text := "kind: Service\napiVersion: v1\nmetadata: {" + field + ": " + strings.Repeat("a", 1025) + "}\n"
		objects, errs := manifest.ReadUndecoded("f.yaml", []byte(text), "")
		if len(objects) > 0 || len(errs) != 1 || !strings.HasSuffix(errs[0].Error(), "metadata."+field+" is longer than 1024 bytes") {
			t.Errorf("%s: %v, %v", field, objects, errs)
		}
	}
}

// TestLineOfObjectKeepsNothing: the line of an object itself takes no nodes, which would be kept for each object of a set.
func TestLineOfObjectKeepsNothing(t *testing.T) {
	objects, errs := manifest.ReadUndecoded("f.yaml", []byte("# x\nkind: Service\napiVersion: v1\na: ["+strings.Repeat("a,", 10_000)+"]\n"), "")
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	if allocated := testing.AllocsPerRun(1, func() {
		if line := objects[0].Line(""); line != 2 {
			t.Errorf("line %d", line)
		}
	}); allocated > 0 {
		t.Errorf("%v allocations", allocated)
	}
}

// TestBroken: why a document is broken is said of what the file is, and of a conflict at its marker, wherever the parser fails.
func TestBroken(t *testing.T) {
	for _, c := range []struct{ file, text, want string }{
		{"a.json", `{"kind": "Service" "metadata": {}}`, "a.json:1: broken JSON: did not find expected ',' or '}'"},
		{"a.yaml", "a: b\n---\nkind: Service\n<<<<<<< HEAD\nx: y\n=======\nx: z\n>>>>>>> main\n", "a.yaml:4: broken YAML: a conflict marker of git; resolve the conflict"},
		{"a.yaml", "a: b\n---\nkind: Service\nmetadata:\n\tname: a\n", "a.yaml:5: broken YAML: found a tab character that violates indentation"},
		{"a.yaml", "kind: Service\nname: @a\n", "a.yaml:2: broken YAML: found character that cannot start any token"},
		{"a.yaml", "a: b\n---\nkind: Service\nname: a # \xe4\n", "a.yaml:4: broken YAML: a character that is not in UTF-8; save the file as UTF-8"},
		{"a.yaml", "<<<<<<< HEAD\r\na: b\r\n", "a.yaml:1: broken YAML: a conflict marker of git; resolve the conflict"},
	} {
		if _, errs := manifest.Read(c.file, []byte(c.text), "default"); len(errs) != 1 || errs[0].Error() != c.want {
			t.Errorf("got %q, want %s", errs, c.want)
		}
	}
}
