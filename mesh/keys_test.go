package mesh

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestIneffectiveKeys: keys of gammaguard's domain that have no effect on the kind are reported, with what was probably meant.
func TestIneffectiveKeys(t *testing.T) {
	const all = "these have: labels grant, mode, consumer-routes, scrape; annotations grant-route-kinds, grant-request, consumer-routes-from, consumer-route-kinds"
	for _, test := range []struct {
		kind, metadata string
		want           []string
	}{
		{NamespaceKind, `"labels": {"gammaguard.dev/grant": "all", "gammaguard.dev/scrape": "allow", "x.gammaguard.dev/a": "", "a": "gammaguard.dev/b"}, "annotations": {"gammaguard.dev/grant-request": "a"}`, nil},
		{NamespaceKind, `"labels": {"gammaguard.dev/grnat": "all"}, "annotations": {"gammaguard.dev/grant-route-kind": "a"}`, []string{
			"the label gammaguard.dev/grnat has no effect here; did you mean the label gammaguard.dev/grant?",
			"the annotation gammaguard.dev/grant-route-kind has no effect here; did you mean the annotation gammaguard.dev/grant-route-kinds?",
		}},
		{NamespaceKind, `"labels": {"gammaguard.dev/grant-route-kinds": "a", "gammaguard.dev/consumer-routes-from": "b"}, "annotations": {"gammaguard.dev/grant": 1}`, []string{
			"the label gammaguard.dev/consumer-routes-from has no effect here; did you mean the annotation gammaguard.dev/consumer-routes-from?",
			"the label gammaguard.dev/grant-route-kinds has no effect here; did you mean the annotation gammaguard.dev/grant-route-kinds?",
			"the annotation gammaguard.dev/grant has no effect here; did you mean the label gammaguard.dev/grant?",
		}},
		{NamespaceKind, `"labels": {"gammaguard.dev/x": ""}`, []string{"the label gammaguard.dev/x has no effect here; " + all}},
		{ServiceKind, `"annotations": {"gammaguard.dev/consumer-route-from": "a=b"}`, []string{
			"the annotation gammaguard.dev/consumer-route-from has no effect here; did you mean the annotation gammaguard.dev/consumer-routes-from?",
		}},
		{ServiceImportKind, `"labels": {"gammaguard.dev/mode": "warn"}`, []string{
			"the label gammaguard.dev/mode has no effect here; these have: labels consumer-routes; annotations consumer-routes-from, consumer-route-kinds",
		}},
		{string(HTTPRoute), `"labels": {"gammaguard.dev/mode": "warn"}`, []string{"the label gammaguard.dev/mode has no effect here; these have: annotations ignore"}},
		{NamespaceKind, `"labels": ["gammaguard.dev/x"]`, nil},
		{NamespaceKind, `"labels": null`, nil},
	} {
		var got []string
		for key := range IneffectiveKeys(test.kind, []byte(`{"metadata": {`+test.metadata+`}}`)) {
			got = append(got, key.String())
		}
		if diff := cmp.Diff(test.want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", test.kind, test.metadata, diff)
		}
	}
	for range IneffectiveKeys(NamespaceKind, []byte("{gammaguard.dev/")) {
		t.Error("what is not JSON has keys")
	}
	if first := slices.Collect(func(yield func(IneffectiveKey) bool) {
		for key := range IneffectiveKeys(NamespaceKind, []byte(`{"metadata": {"labels": {"gammaguard.dev/x": "", "gammaguard.dev/y": ""}}}`)) {
			yield(key)
			return
		}
	}); len(first) != 1 {
		t.Errorf("got %v", first)
	}
}
