package definitions_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/gammaguard/gammaguard/internal/definitions"
)

func TestDefault(t *testing.T) {
	for _, test := range []struct {
		name, object, want string
	}{
		{
			name: "parentRefs and backendRefs of any kind",
			object: `{apiVersion: gateway.networking.k8s.io/v1, kind: TCPRoute, spec: {
				parentRefs: [{name: cart}], rules: [{backendRefs: [{name: cart}]}]}}`,
			want: `{apiVersion: gateway.networking.k8s.io/v1, kind: TCPRoute, spec: {
				parentRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: cart}],
				rules: [{backendRefs: [{group: "", kind: Service, name: cart, weight: 1}]}]}}`,
		},
		{
			name:   "a rule and its match that are left out, in a version that is not stored",
			object: `{apiVersion: gateway.networking.k8s.io/v1beta1, kind: HTTPRoute, spec: {}}`,
			want: `{apiVersion: gateway.networking.k8s.io/v1beta1, kind: HTTPRoute, spec: {
				rules: [{matches: [{path: {type: PathPrefix, value: /}}]}]}}`,
		},
		{
			name:   "null",
			object: `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, spec: {hostnames: null, rules: null}}`,
			want: `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, spec: {
				rules: [{matches: [{path: {type: PathPrefix, value: /}}]}]}}`,
		},
		{
			name:   "values of the wrong type",
			object: `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, spec: {parentRefs: {name: cart}, rules: []}}`,
		},
		{
			name:   "a version that is not in the definition",
			object: `{apiVersion: gateway.networking.k8s.io/v1alpha2, kind: HTTPRoute, spec: {}}`,
		},
		{
			name:   "a kind without a definition",
			object: `{apiVersion: v1, kind: Service, spec: {}}`,
		},
		{
			name:   "a definition that was put",
			object: `{apiVersion: example.com/v1, kind: Color, spec: {}}`,
			want:   `{apiVersion: example.com/v1, kind: Color, spec: {name: red}}`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			set := standard(t)
			if err := set.Put(color(t, "red")); err != nil {
				t.Fatal(err)
			}
			object := parse(t, test.object)
			if err := set.Default(object); err != nil {
				t.Fatal(err)
			}
			if test.want == "" {
				test.want = test.object
			}
			if diff := cmp.Diff(parse(t, test.want), object); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestPutReplaces(t *testing.T) {
	set := definitions.New()
	for _, name := range []string{"red", "blue"} {
		if err := set.Put(color(t, name)); err != nil {
			t.Fatal(err)
		}
	}
	object := parse(t, `{apiVersion: example.com/v1, kind: Color, spec: {}}`)
	if err := set.Default(object); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"name": "blue"}, object["spec"]); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestPutBroken(t *testing.T) {
	crd := color(t, "red")
	crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Type = "" // not structural
	crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"] = apiextensionsv1.JSONSchemaProps{
		Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{JSONSchemas: []apiextensionsv1.JSONSchemaProps{{Type: "string"}}},
	}
	const want = "CustomResourceDefinition colors.example.com, version v1: "
	if err := definitions.New().Put(crd); err == nil || err.Error()[:len(want)] != want {
		t.Errorf("got %v, want %s...", err, want)
	}
}

func TestEmbedded(t *testing.T) {
	if _, err := definitions.Embedded("nightly"); !errors.Is(err, definitions.ErrNotBuiltIn) {
		t.Errorf("a channel that is not there: got %v", err)
	}
}

func standard(tb testing.TB) *definitions.Set {
	tb.Helper()
	set, err := definitions.Embedded(definitions.Standard)
	if err != nil {
		tb.Fatal(err)
	}
	return set
}

// color is a definition whose objects have that name by default.
func color(tb testing.TB, name string) *apiextensionsv1.CustomResourceDefinition {
	tb.Helper()
	crd := new(apiextensionsv1.CustomResourceDefinition)
	if err := yaml.UnmarshalStrict([]byte(`
metadata: {name: colors.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Color, plural: colors}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {name: {type: string, default: `+name+`}}}
`), crd); err != nil {
		tb.Fatal(err)
	}
	return crd
}

func parse(tb testing.TB, text string) map[string]any {
	tb.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	var object map[string]any
	if err := json.UnmarshalCaseSensitivePreserveInts(data, &object); err != nil {
		tb.Fatal(err)
	}
	return object
}
