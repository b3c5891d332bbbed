package corpus

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/gammaguard/gammaguard/internal/definitions"
)

// paints is a definition; what stands for SPEC is the schema of the spec.
const paints = `
metadata: {name: paints.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Paint, plural: paints, singular: paint, listKind: PaintList}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: SPEC
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
`

const (
	loose = `{type: object, properties: {
		color: {type: string}, coats: {type: integer}, serial: {type: string}, owner: {type: string},
		tags: {type: array, items: {type: string}},
		layers: {type: array, items: {type: object, required: [name], properties: {name: {type: string}, depth: {type: integer}}}}}}`
	tight = `{type: object, required: [owner], properties: {
		color: {type: string, enum: [red, blue]}, coats: {type: integer, maximum: 3}, owner: {type: string},
		serial: {type: string, x-kubernetes-validations: [{rule: self == oldSelf, message: serial cannot change}]},
		tags: {type: array, items: {type: string}, x-kubernetes-list-type: set},
		layers: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name],
			items: {type: object, required: [name],
				properties: {name: {type: string}, depth: {type: integer, x-kubernetes-validations: [{rule: self < 10, message: too deep}]}}}}},
		x-kubernetes-validations: [{rule: '!has(self.color) || self.color != "red" || !has(self.coats) || self.coats > 1', message: red needs two coats}]}`
	good = `{owner: me, color: blue, serial: a, tags: [x], layers: [{name: a, depth: 1}]}`
	bad  = `{color: green, coats: 7, serial: a, tags: [x, x], layers: [{name: a, depth: 20}, {name: b, depth: 1}]}`
)

// TestUpdate compares the answers to updates of objects, good ones and such as were
// stored under a definition that has become stricter since.
func TestUpdate(t *testing.T) {
	t.Parallel()
	api := newServer(t, standard.plane)
	install(t, loose)
	for name, spec := range map[string]string{"good": good, "bad": bad} {
		if reply := api.send(t, http.MethodPost, paint(t, name, spec, ""), ""); reply.status != http.StatusCreated {
			t.Fatalf("%s: %s", name, reply.body)
		}
	}
	crd := install(t, tight)
	set := definitions.New()
	if err := set.Put(crd); err != nil {
		t.Fatal(err)
	}
	awaitRefusal(t, api, paint(t, "new", bad, ""))

	for _, test := range []struct{ name, object, spec, metadata string }{
		{"nothing", "good", good, ""},
		{"a value of the enum", "good", `{owner: me, color: red, coats: 2, serial: a}`, ""},
		{"a value out of the enum", "good", `{owner: me, color: green, serial: a}`, ""},
		{"the rule of the spec", "good", `{owner: me, color: red, coats: 1, serial: a}`, ""},
		{"what cannot change", "good", `{owner: me, serial: b}`, ""},
		{"what cannot change, left out", "good", `{owner: me}`, ""},
		{"repeated items", "good", `{owner: me, serial: a, tags: [x, x], layers: [{name: a}, {name: a}]}`, ""},
		{"unknown field", "good", `{owner: me, serial: a, color: red}`, ""},
		{"label", "good", good, `labels: {app: a b}`},
		{"generation, creationTimestamp, resourceVersion of a file", "good", good, `generation: 7, creationTimestamp: "2020-01-01T00:00:00Z"`},
		{"nothing of what is bad", "bad", bad, ""},
		{"a label of what is bad", "bad", bad, `labels: {app: web}`},
		{"what is bad to another bad value", "bad", `{color: white, coats: 8, serial: a, tags: [x, x], layers: [{name: a, depth: 21}]}`, ""},
		{"something else than what is bad", "bad", `{color: green, coats: 7, serial: a, tags: [x, x], layers: [{name: a, depth: 20}, {name: b, depth: 2}]}`, ""},
		{"the order of what is bad", "bad", `{color: green, coats: 7, serial: a, tags: [x, x], layers: [{name: b, depth: 1}, {name: a, depth: 20}]}`, ""},
		{"another fault beside what is bad", "bad", `{color: green, coats: 7, serial: b, tags: [x, x], layers: [{name: a, depth: 20}, {name: b, depth: 11}]}`, ""},
		{"other repeated items", "bad", `{color: green, owner: me, serial: a, tags: [y, y]}`, ""},
		{"to what is good", "bad", good, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			object := paint(t, test.object, test.spec, test.metadata)
			stored := api.send(t, http.MethodGet, object, "")
			if stored.status != http.StatusOK {
				t.Fatalf("%s", stored.body)
			}
			old := stored.body
			said := defined(t, set, &definitions.Write{Object: object, Old: old, Namespace: "default"})
			compare(t, test.name, object, api.dryRun(t, http.MethodPut, current(t, object, old)), said)
		})
	}
}

// paint is a Paint in JSON.
func paint(t *testing.T, name, spec, metadata string) []byte {
	t.Helper()
	text, err := yaml.YAMLToJSON([]byte("{apiVersion: example.com/v1, kind: Paint, metadata: {name: " + name + ", " + metadata + "}, spec: " + spec + "}"))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// current is the object with the resourceVersion of the stored one, which kubectl
// takes care of.
func current(t *testing.T, object, old []byte) []byte {
	t.Helper()
	var to, from unstructured.Unstructured
	for text, into := range map[string]*unstructured.Unstructured{string(object): &to, string(old): &from} {
		if err := into.UnmarshalJSON([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	to.SetResourceVersion(from.GetResourceVersion())
	text, err := to.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// install installs or changes the definition.
func install(t *testing.T, spec string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crd := new(apiextensionsv1.CustomResourceDefinition)
	if err := yaml.UnmarshalStrict([]byte(strings.Replace(paints, "SPEC", strings.Join(strings.Fields(spec), " "), 1)), crd); err != nil {
		t.Fatal(err)
	}
	if _, err := envtest.InstallCRDs(rest.CopyConfig(standard.plane.Config), envtest.CRDInstallOptions{
		CRDs: []*apiextensionsv1.CustomResourceDefinition{crd.DeepCopy()},
	}); err != nil {
		t.Fatal(err)
	}
	return crd
}

// awaitRefusal waits until the definition that refuses the object is in effect.
func awaitRefusal(t *testing.T, api *server, object []byte) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return len(api.dryRun(t, http.MethodPost, object).Refusals) > 0, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
