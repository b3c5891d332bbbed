package chart

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/chart/common"
	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/engine"
	"sigs.k8s.io/yaml"
)

// TestPrint: Helm renders a template to what kustomize made, whatever its strings are.
func TestPrint(t *testing.T) {
	plain := map[string]any{
		"summary": `{{ $labels.pod }} of "{{ .Values.x }}" is down`, "on": "off", "number": "1.5", "null": nil, "text": "a: b\n- c #d\n",
		"empty": map[string]any{}, "none": []any{}, "true": true, "namespace": "in gammaguard-system", "html": "<a & b>",
		"list": []any{"a", "a", []any{"b", 1.0}, map[string]any{"zone": "x", "name": "first"}, map[string]any{"b": []any{map[string]any{"c": "~"}}}},
	}
	p := printer{replace: strings.NewReplacer("gammaguard-system", "{{ .Release.Namespace }}")}
	p.parts(newNode("", "", plain), 0)
	got := rendered(t, &p, common.Values{"Values": map[string]any{}, "Release": map[string]any{"Namespace": "mesh"}})
	plain["namespace"] = "in mesh"
	if diff := cmp.Diff(plain, got); diff != "" {
		t.Errorf("(-made +rendered):\n%s", diff)
	}
}

// TestVary: a field or an item that a component changes, adds or removes depends on it.
func TestVary(t *testing.T) {
	before := map[string]any{"a": "1", "b": "x", "c": "x", "list": []any{"x", map[string]any{"name": "y", "z": "1"}}}
	after := map[string]any{"a": "2", "b": "x", "d": "x", "list": []any{map[string]any{"name": "y", "z": "2"}, "w"}}
	n := newNode("", "", before)
	n.vary(before, after, ".Values.on")
	p := printer{replace: strings.NewReplacer()}
	p.parts(n, 0)
	for on, want := range map[bool]map[string]any{false: before, true: after} {
		got := rendered(t, &p, common.Values{"Values": map[string]any{"on": on}})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%t (-made +rendered):\n%s\n%s", on, diff, p.String())
		}
	}
}

// rendered returns what Helm makes of the template.
func rendered(t *testing.T, p *printer, values common.Values) map[string]any {
	t.Helper()
	made := &chartv2.Chart{
		Metadata:  &chartv2.Metadata{Name: "test", Version: "1.0.0"},
		Templates: []*common.File{{Name: "templates/a.yaml", Data: p.Bytes()}},
	}
	texts, err := engine.Render(made, values)
	if err != nil {
		t.Fatalf("%v\n%s", err, p.String())
	}
	object := map[string]any{}
	if err := yaml.UnmarshalStrict([]byte(texts["test/templates/a.yaml"]), &object); err != nil {
		t.Fatalf("%v\n%s", err, p.String())
	}
	return object
}
