package expect_test

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"sigs.k8s.io/yaml"

	"github.com/gammaguard/gammaguard/internal/cli/expect"
)

const (
	header = "apiVersion: gammaguard.dev/v1alpha1\nkind: TrafficTest\n"
	schema = "../../../docs/gammaguard-test.schema.json"
)

// files are texts of files of tests, and what is wrong with them.
var files = []struct {
	text, want string
	// alike: the schema cannot say what is wrong.
	alike bool
}{
	{text: header + "tests:\n- name: a\n  request: {service: shop/cart, port: 80}\n  expect: {backend: cart:80}\n"},
	{text: header + `input: {chart: charts/shop, values: [prod.yaml]}
tests:
- name: a
  meshes: [istio, kuma@2.13]
  request:
    serviceImport: cart
    port: 80
    protocol: TCP
    from: web
    method: POST
    path: /a?b=c
    headers: {tenant: gold, Host: example.org}
    serverName: a.example
  expect:
    shares:
    - {backend: cart-v2:80, weight: 9, effects: {redirect: {status: 302}}}
    - {status: 500, weight: 1}
    route: HTTPRoute shop/cart
    effects:
      requestHeaders: [{action: set, name: x, value: "1"}]
      rewrite: {path: {replacement: /x, prefix: /y, joined: true, whole: true}}
      mirrors: [{backend: Service shop/copy:80, parts: 1, of: 2}]
      requestTimeout: 10s
- name: b
  request: {service: cart, port: 80, grpc: a.B/Do}
  expect: {asInRevision: HEAD~1}
- name: c
  request: {service: cart, port: 80}
  expect: {redirect: {status: 301, location: "https://example.org/"}}
- name: d
  request: {service: cart, port: 80}
  expect: {status: UNIMPLEMENTED}
`},
	{text: "", want: "t.yaml:1: is empty: apiVersion: gammaguard.dev/v1alpha1 and kind: TrafficTest are required"},
	{text: "[]", want: "t.yaml:1: must be a mapping of fields to values; the fields here are apiVersion, kind, input, tests"},
	{text: "a: [", want: "t.yaml:1: broken YAML: did not find expected node content", alike: true},
	{text: header, want: "t.yaml:1: tests: at least one test is required"},
	{text: header + "---\n" + header, want: "t.yaml:3: a second document is not read; write each file as one document", alike: true},
	{text: "kind: TrafficTest\ntests: [{name: a, request: {service: a, port: 1}, expect: {status: 404}}]\n", want: "t.yaml:1: apiVersion and kind must be gammaguard.dev/v1alpha1 and TrafficTest"},
	{text: header + "test: []\n", want: "t.yaml:3: test: unknown field; the fields here are apiVersion, kind, input, tests"},
	{
		text: header + "tests:\n- name: a\n  request: {service: shop/cart, port: 80}\n  expect:\n    bakend: cart:80\n",
		want: "t.yaml:7: tests[0].expect.bakend: unknown field; the fields here are backend, status, shares, redirect, route, effects, asInRevision",
	},
	{text: header + "tests:\n- name: a\n  request: {service: shop/cart, port: '80'}\n  expect: {status: 404}\n", want: `t.yaml:5: tests[0].request.port: must be a number, not "80"`},
	{text: header + "tests:\n- name: a\n  request: {service: shop/cart, port: http}\n  expect: {status: 404}\n", want: "t.yaml:5: tests[0].request.port: must be a number, not http"},
	{
		text: header + "tests:\n- name: a\n  request: {service: c, port: 80}\n  expect: {effects: {rewrite: {path: {joined: 1}}}}\n",
		want: "t.yaml:6: tests[0].expect.effects.rewrite.path.joined: must be true or false, not 1",
	},
	{
		text: header + "tests:\n- name: a\n  request: {service: shop/cart, port: 80, headers: {x: 1}}\n  expect: {status: 404}\n",
		want: "t.yaml:5: tests[0].request.headers.x: must be a string; put 1 in quotes",
	},
	{text: header + "tests:\n- name: a\n  name: b\n", want: "t.yaml:5: tests[0].name: is there twice", alike: true},
	{text: header + "tests:\n- name: a\n  request: {service: c, port: 80}\n  expect: {effects: }\n", want: "t.yaml:6: tests[0].expect.effects: has no value; specify one, or remove the field"},
	{text: header + "tests:\n- &a {name: a, request: {service: c, port: 80}, expect: {status: 404}}\n- *a\n", want: `t.yaml:4: tests[1].name: another test has the name "a"`, alike: true},
	{text: header + "tests: [&a {name: a, meshes: *a}]\n", want: "t.yaml:3: tests[0].meshes: must be a list; begin each entry with -", alike: true},
	{text: header + "tests:\n- name: a\n  request: {service: c, port: 80}\n  expect: {}\n", want: "t.yaml:6: tests[0].expect: nothing is expected: set backend, status, shares, redirect, route, effects, or asInRevision"},
	{
		text: header + "tests:\n- name: a\n  request: {service: c, port: 80}\n  expect: {effects: {mirrors: [{backend: a:80, parts: 5}]}}\n", alike: true,
		want: "t.yaml:6: tests[0].expect: effects.mirrors[0]: set backend, and parts and of where not all requests are copied: parts is at most of, and of at most 16000000",
	},
	{
		text: header + "tests:\n- name: a\n  request: {service: c, port: 80}\n  expect: {backend: shop/c, route: shop/c}\n", alike: true,
		want: "t.yaml:6: tests[0].expect: backend: \"shop/c\" lacks a port: want NAME:PORT, or NAMESPACE/NAME:PORT\n" +
			"t.yaml:6: tests[0].expect: route: \"shop/c\": want KIND NAMESPACE/NAME, such as HTTPRoute shop/cart",
	},
	{
		text: header + "tests:\n- name: a\n  request: {service: c, port: 80}\n  expect: {shares: [{backend: c, weight: 1}, {status: 999, weight: 1}]}\n", alike: true,
		want: "t.yaml:6: tests[0].expect: shares[0].backend: \"c\" lacks a port: want NAME:PORT, or NAMESPACE/NAME:PORT\n" +
			"t.yaml:6: tests[0].expect: shares[1].status: \"999\" is not a status of HTTP, which is from 100 to 599",
	},
	{text: header + "tests:\n- name: a\n  request: {service: c, port: 80}\n  expect: {redirect: {}}\n", want: "t.yaml:6: tests[0].expect: redirect: set status, location, or both"},
	{
		text: header + "tests:\n- name: a\n  request: {service: c, port: 80}\n  expect: {backend: a:80, status: 404}\n", alike: true,
		want: "t.yaml:6: tests[0].expect: only one of backend, status, shares, redirect, and asInRevision can be set",
	},
	{
		text: header + "tests:\n- {name: a, request: {service: c, port: 80}, expect: {status: 404}}\n- {name: a, request: {service: c, port: 80}, expect: {status: 404}}\n",
		want: `t.yaml:5: tests[1].name: another test has the name "a"`, alike: true,
	},
	{
		text: header + "tests:\n- {name: a, meshes: [consul], request: {port: 0, path: x, method: 'A B', grpc: a}, expect: {status: 404}}\n",
		want: `t.yaml:4: tests[0].meshes: must be one of cilium, istio, kuma, linkerd, alone or with a version, as in kuma@2.13, not "consul"
t.yaml:4: tests[0].request: gRPC method "a": want SERVICE/METHOD
t.yaml:4: tests[0].request: grpc cannot be used with method or path
t.yaml:4: tests[0].request: method: "A B" is not a valid method
t.yaml:4: tests[0].request: one of service and serviceImport is required
t.yaml:4: tests[0].request: path "x": it must start with /
t.yaml:4: tests[0].request: port is required`,
	},
	{
		text: header + "tests:\n- {name: a, request: {service: c, port: 80, headers: {A: x, a: y}}, expect: {asInRevision: '--output=x'}}\n", alike: true,
		want: "t.yaml:4: tests[0].request: headers: a is there twice; names are compared without regard to case\n" +
			`t.yaml:4: tests[0].expect: asInRevision: "--output=x" is not a branch, a tag, or a commit`,
	},
	{
		text: header + "tests:\n- {name: a, request: {service: c, port: 80}, expect: {shares: [{weight: 0}]}}\n",
		want: "t.yaml:4: tests[0].expect: shares[0]: one of backend and status is required\nt.yaml:4: tests[0].expect: shares[0].weight: must be from 1 to 16000000",
	},
}

// TestDecode: the program and the schema for editors take the same files, and an error names the line and the
// field.
func TestDecode(t *testing.T) {
	compiled, err := jsonschema.NewCompiler().Compile(schema)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		_, err := expect.Decode("t.yaml", []byte(file.text))
		got := ""
		if err != nil {
			got = err.Error()
		}
		if diff := cmp.Diff(file.want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", file.text, diff)
		}
		if file.alike {
			continue
		}
		var value any
		if err := yaml.Unmarshal([]byte(file.text), &value); err != nil {
			t.Fatal(err)
		}
		if err := compiled.Validate(value); (err != nil) != (file.want != "") {
			t.Errorf("%s: the schema says %v", file.text, err)
		}
	}
}

// TestSchema: the schema has the fields of the program.
func TestSchema(t *testing.T) {
	text, err := os.ReadFile(schema)
	if err != nil {
		t.Fatal(err)
	}
	type properties struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	var described struct {
		properties
		Defs map[string]properties `json:"$defs"`
	}
	if err := json.Unmarshal(text, &described); err != nil {
		t.Fatal(err)
	}
	described.Defs["file"] = described.properties
	for name, of := range map[string]reflect.Type{
		"file": reflect.TypeFor[expect.File](), "test": reflect.TypeFor[expect.Test](), "request": reflect.TypeFor[expect.Request](),
		"expect": reflect.TypeFor[expect.Expect](), "effects": reflect.TypeFor[expect.Expect]().Field(5).Type.Elem(),
	} {
		var want, got []string
		for i := range of.NumField() {
			if name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ","); name != "" {
				want = append(want, name)
			}
		}
		for name := range described.Defs[name].Properties {
			got = append(got, name)
		}
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-program +schema)\n%s", name, diff)
		}
	}
}

// TestBounds: a file of an attacker costs no more than it may.
func TestBounds(t *testing.T) {
	test := "- {name: a, request: {service: c, port: 80}, expect: {status: 404}}\n"
	for text, want := range map[string]string{
		header + "tests:\n" + strings.Repeat(test, 20_001):                                                                     "has more than 20000 entries",
		header + "tests:\n" + strings.Repeat("- {x: 1}\n", 100):                                                                "there are more errors",
		header + strings.Repeat("x", 1000) + ": 1\n":                                                                           "unknown field",
		header + "a: &a [" + strings.Repeat("x,", 1000) + "]\nb: [*a, *a, *a]\n":                                               "unknown field",
		header + "tests: [{name: " + strings.Repeat("x", 600) + ", request: {service: c, port: 80}, expect: {status: 404}}]\n": "is longer than 512 bytes",
	} {
		if _, err := expect.Decode("t.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 20_000 {
			t.Errorf("%.80q: %.300v, want %s", text, err, want)
		}
	}
}

// FuzzDecode: no text of an attacker does harm, and an error names the file.
func FuzzDecode(f *testing.F) {
	for _, file := range files {
		f.Add([]byte(file.text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if _, err := expect.Decode("t.yaml", text); err != nil && !strings.HasPrefix(err.Error(), "t.yaml:") {
			t.Errorf("%v", err)
		}
	})
}
