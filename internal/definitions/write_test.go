package definitions_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gammaguard/gammaguard/internal/definitions"
)

const blocked = "Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"

// What test/corpus compares with an API server is here in short.
func TestWrite(t *testing.T) {
	for _, test := range []struct {
		name, object, old, mutated string
		want                       []definitions.Finding
	}{
		{
			name:   "admitted",
			object: `{kind: HTTPRoute, metadata: {name: cart}, spec: {parentRefs: [{kind: Service, group: "", name: cart}]}}`,
		},
		{
			name:    "a fault that a mutation takes away",
			object:  `{kind: HTTPRoute, metadata: {name: cart}, spec: {parentRefs: [{kind: Service, group: "", name: cart, port: 0}]}}`,
			mutated: `{kind: HTTPRoute, metadata: {name: cart}, spec: {parentRefs: [{kind: Service, group: "", name: cart, port: 80}]}}`,
		},
		{
			name:    "an unknown field that a mutation takes away",
			object:  `{kind: HTTPRoute, metadata: {name: cart}, spec: {color: red}}`,
			mutated: `{kind: HTTPRoute, metadata: {name: cart}, spec: {}}`,
			want:    []definitions.Finding{{ID: "schema", Field: "spec.color", Message: `unknown field "spec.color"`}},
		},
		{
			name:    "a fault that a mutation brings",
			object:  `{kind: HTTPRoute, metadata: {name: cart}, spec: {}}`,
			mutated: `{kind: HTTPRoute, metadata: {name: cart}, spec: {rules: [{backendRefs: [{name: cart}]}]}}`,
			want: []definitions.Finding{{
				ID: "schema", Field: "spec.rules[0].backendRefs[0]", Message: "Invalid value: Must have port for Service reference",
			}},
		},
		{
			name:   "a name to be generated",
			object: `{kind: HTTPRoute, metadata: {generateName: cart-}, spec: {}}`,
		},
		{
			name:   "a version that is not served",
			object: `{kind: TLSRoute, apiVersion: gateway.networking.k8s.io/v1alpha2, metadata: {name: cart}}`,
			want: []definitions.Finding{{
				ID: "version-not-served", Field: "apiVersion", Message: `no matches for kind "TLSRoute" in version "gateway.networking.k8s.io/v1alpha2"`,
			}},
		},
		{
			name:   "unknown fields, beside which nothing else is looked at",
			object: `{kind: HTTPRoute, metadata: {name: Cart, color: red}, spec: {rules: [{path: /}]}}`,
			want: []definitions.Finding{
				{ID: "schema", Field: "metadata.color", Message: `unknown field "metadata.color"`},
				{ID: "schema", Field: "spec.rules[0].path", Message: `unknown field "spec.rules[0].path"`},
			},
		},
		{
			name:   "fields that are meant, and objects that must be lists",
			object: `{kind: HTTPRoute, metadata: {name: cart, namesapce: shop}, spec: {parentRef: [], parentRefs: {kind: Service}, rules: [{backendRefs: [{nam: cart}], filters: {type: x}}]}}`,
			want: []definitions.Finding{
				{ID: "schema", Field: "metadata.namesapce", Message: `unknown field "metadata.namesapce"`, Meant: "namespace"},
				{ID: "schema", Field: "spec.parentRef", Message: `unknown field "spec.parentRef"`, Meant: "parentRefs"},
				{ID: "schema", Field: "spec.parentRefs.kind", Message: `unknown field "spec.parentRefs.kind"`, List: "spec.parentRefs"},
				{ID: "schema", Field: "spec.rules[0].backendRefs[0].nam", Message: `unknown field "spec.rules[0].backendRefs[0].nam"`, Meant: "name"},
				{ID: "schema", Field: "spec.rules[0].filters.type", Message: `unknown field "spec.rules[0].filters.type"`, List: "spec.rules[0].filters"},
			},
		},
		{
			name:   "a label that is no text",
			object: `{kind: HTTPRoute, metadata: {name: cart, labels: {app: 7}}}`,
			want: []definitions.Finding{{
				ID: "schema", Field: "metadata.labels", Message: "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string",
			}},
		},
		{
			name:   "metadata, schema, and rules that are not evaluated",
			object: `{kind: HTTPRoute, metadata: {name: Cart}, spec: {rules: [{backendRefs: [{name: cart, weight: -1}], matches: [{method: get}]}]}}`,
			want: []definitions.Finding{
				{ID: "schema", Field: "metadata.name", Message: `Invalid value: "Cart": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
				{ID: "schema", Field: "spec.rules[0].backendRefs[0].weight", Message: "Invalid value: -1: spec.rules[0].backendRefs[0].weight in body should be greater than or equal to 0"},
				{ID: "schema", Field: "spec.rules[0].matches[0].method", Message: `Unsupported value: "get": supported values: "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"`},
				{ID: "schema", Message: blocked},
			},
		},
		{
			name:   "a rule",
			object: `{kind: HTTPRoute, metadata: {name: cart}, spec: {rules: [{backendRefs: [{name: cart}]}]}}`,
			want: []definitions.Finding{{
				ID: "schema", Field: "spec.rules[0].backendRefs[0]", Message: "Invalid value: Must have port for Service reference",
			}},
		},
		{
			name:   "an update that leaves a rule broken",
			object: `{kind: HTTPRoute, metadata: {name: cart}, spec: {hostnames: [a.example.com], rules: [{backendRefs: [{name: cart}]}]}}`,
			old:    `{kind: HTTPRoute, metadata: {name: cart}, spec: {rules: [{backendRefs: [{name: cart}]}]}}`,
		},
		{
			name:   "an update that breaks a rule, of an object that is stored in another version",
			object: `{kind: HTTPRoute, metadata: {name: cart}, spec: {rules: [{backendRefs: [{name: cart}]}]}}`,
			old:    `{kind: HTTPRoute, apiVersion: gateway.networking.k8s.io/v1beta1, metadata: {name: cart}, spec: {rules: [{backendRefs: [{name: cart, port: 80}]}]}}`,
			want: []definitions.Finding{{
				ID: "schema", Field: "spec.rules[0].backendRefs[0]", Message: "Invalid value: Must have port for Service reference",
			}},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := &definitions.Write{Object: route(t, test.object), Namespace: "shop"}
			if test.old != "" {
				w.Old = route(t, test.old)
			}
			if test.mutated != "" {
				w.Mutated = route(t, test.mutated)
			}
			outcome, err := standard(t).Write(t.Context(), w)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, outcome.Findings); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestWriteNoObject(t *testing.T) {
	for _, text := range []string{"", "{", "null", "[]", `"cart"`} {
		outcome, err := standard(t).Write(t.Context(), &definitions.Write{Object: []byte(text)})
		if err != nil {
			t.Fatal(err)
		}
		if len(outcome.Findings) != 1 || outcome.Object != nil {
			t.Errorf("%q: %+v", text, outcome)
		}
	}
}

func TestWriteDuplicateField(t *testing.T) {
	outcome, err := standard(t).Write(t.Context(), &definitions.Write{
		Object: []byte(`{"apiVersion": "gateway.networking.k8s.io/v1", "kind": "TCPRoute", "metadata": {"name": "a", "name": "b"}}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []definitions.Finding{{ID: "schema", Field: "metadata.name", Message: `duplicate field "metadata.name"`}}
	if diff := cmp.Diff(want, outcome.Findings); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestWriteOutcome(t *testing.T) {
	outcome, err := standard(t).Write(t.Context(), &definitions.Write{
		Object: route(t, `{kind: HTTPRoute, metadata: {generateName: cart-}, spec: {rules: null}, status: {parents: 7}}`), Namespace: "shop",
	})
	if err != nil {
		t.Fatal(err)
	}
	want := parse(t, `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {generateName: cart-, namespace: shop},
		spec: {rules: [{matches: [{path: {type: PathPrefix, value: /}}]}]}}`)
	if diff := cmp.Diff(&definitions.Outcome{Object: want}, outcome); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestWriteBrokenOld(t *testing.T) {
	_, err := standard(t).Write(t.Context(), &definitions.Write{
		Object: route(t, `{kind: HTTPRoute, metadata: {name: cart}}`), Old: route(t, `{kind: HTTPRoute, metadata: {name: 7}}`),
	})
	if err == nil || !strings.HasPrefix(err.Error(), "old object: metadata.name: ") {
		t.Errorf("got %v", err)
	}
}

func TestServed(t *testing.T) {
	for channel, want := range map[definitions.Channel]map[string][]string{
		definitions.Standard:     {"HTTPRoute": {"v1", "v1beta1"}, "TLSRoute": {"v1"}, "Gateway": nil},
		definitions.Experimental: {"HTTPRoute": {"v1", "v1beta1"}, "TLSRoute": {"v1", "v1alpha2", "v1alpha3"}, "UDPRoute": {"v1", "v1alpha2"}},
	} {
		set, err := definitions.Embedded(channel)
		if err != nil {
			t.Fatal(err)
		}
		for kind, versions := range want {
			served, err := set.Served(schema.GroupKind{Group: "gateway.networking.k8s.io", Kind: kind})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(versions, served); diff != "" {
				t.Errorf("%s, %s channel: (-want +got)\n%s", kind, channel, diff)
			}
		}
	}
}

func BenchmarkWrite(b *testing.B) {
	object := route(b, `{kind: HTTPRoute, metadata: {name: cart}, spec: {parentRefs: [{kind: Service, group: "", name: cart, port: 80}],
		rules: [{matches: [{path: {value: /a}}, {headers: [{name: x, value: blue}]}], backendRefs: [{name: cart, port: 80}, {name: web, port: 80}]}]}}`)
	write := func(set *definitions.Set) {
		if outcome, err := set.Write(b.Context(), &definitions.Write{Object: object, Namespace: "shop"}); err != nil || len(outcome.Findings) > 0 {
			b.Fatal(outcome, err)
		}
	}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			write(standard(b))
		}
	})
	b.Run("warm", func(b *testing.B) {
		set := standard(b)
		write(set)
		for b.Loop() {
			write(set)
		}
	})
}

// route is an object in JSON; it is of v1 if it does not say otherwise.
func route(tb testing.TB, text string) []byte {
	tb.Helper()
	object := parse(tb, text)
	if object["apiVersion"] == nil {
		object["apiVersion"] = "gateway.networking.k8s.io/v1"
	}
	data, err := json.Marshal(object)
	if err != nil {
		tb.Fatal(err)
	}
	return data
}
