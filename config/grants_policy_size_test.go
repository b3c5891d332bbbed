package config

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// sized is a namespace with n labels and n annotations, and with these labels in addition:
// key, value, key, value.
func sized(t *testing.T, labels, annotations int, more ...string) *unstructured.Unstructured {
	t.Helper()
	keys := func(n int) map[string]string {
		all := map[string]string{}
		for i := range n {
			all[fmt.Sprintf("l%d", i)] = ""
		}
		return all
	}
	namespace, set := object(t, "metadata: {name: shop}"), keys(labels)
	for pair := range slices.Chunk(more, 2) {
		set[pair[0]] = pair[1]
	}
	namespace.SetLabels(set)
	if annotations > 0 {
		namespace.SetAnnotations(keys(annotations))
	}
	return namespace
}

const grant = "gammaguard.dev/grant"

// TestGrantsPolicySizes: at every size, a mesh admin who may not update namespaces can change
// our labels and nothing else, at a cost that is far below the API server's limit, in
// linear time. The sizes are those that could be stored before the policy was.
func TestGrantsPolicySizes(t *testing.T) {
	policy := compilePolicy(t, manifest[admissionv1.ValidatingAdmissionPolicy](t, "policy/labels/grants.yaml", 0))
	const others = "not other labels or annotations;"
	for _, size := range []struct {
		labels, annotations int
		// share: what passes costs less than the limit divided by it. Only withdrawing is tried at a fifth.
		share int64
	}{{900, 900, 10}, {60_000, 0, 10}, {170_000, 0, 5}} {
		with := func(more ...string) *unstructured.Unstructured {
			return sized(t, size.labels, size.annotations, more...)
		}
		annotated := func(value string) *unstructured.Unstructured {
			namespace := with(grant, "all")
			annotations := namespace.GetAnnotations()
			if annotations == nil {
				annotations = map[string]string{}
			}
			annotations["gammaguard.dev/consumer-routes-from"] = value
			namespace.SetAnnotations(annotations)
			return namespace
		}
		swapped := with(grant, "none", "l0", "x")
		removed := with(grant, "none")
		unstructured.RemoveNestedField(removed.Object, "metadata", "labels", "l7")
		replaced := with(grant, "none", "m", "")
		unstructured.RemoveNestedField(replaced.Object, "metadata", "labels", "l7")
		renamed := with("m", "") // without our label, with one of another
		for name, test := range map[string]struct {
			old, new *unstructured.Unstructured
			user     fakeAuthorizer
			want     string
		}{
			"withdraws": {old: with(grant, "all"), new: with(grant, "none"), user: fakeAuthorizer{grants: true}},
			"withdraws what the configuration grants": {old: with(), new: with(grant, "none"), user: fakeAuthorizer{grants: true}},
			"removes the label":                       {old: with(grant, "all"), new: with(), user: fakeAuthorizer{grants: true}},
			"changes our annotation":                  {old: annotated("a=b"), new: annotated("!a"), user: fakeAuthorizer{grants: true}},
			"changes another value":                   {old: with(grant, "all"), new: swapped, user: fakeAuthorizer{grants: true}, want: others},
			"adds another":                            {old: with(grant, "all"), new: with(grant, "none", "m", ""), user: fakeAuthorizer{grants: true}, want: others},
			"removes another":                         {old: with(grant, "all"), new: removed, user: fakeAuthorizer{grants: true}, want: others},
			"replaces another":                        {old: with(grant, "all"), new: replaced, user: fakeAuthorizer{grants: true}, want: others},
			"replaces ours by another":                {old: with(grant, "all"), new: renamed, user: fakeAuthorizer{grants: true}, want: others},
			"may update, and not grant":               {old: with(grant, "all", "m", "x"), new: with(grant, "all", "m", "y"), user: fakeAuthorizer{namespaces: true}},
			"may patch, and grants":                   {old: with(), new: with(grant, "all"), want: "may not change " + grant},
			"may patch, and adds scrape":              {old: with("m", ""), new: with("gammaguard.dev/scrape", "allow"), want: "may not change gammaguard.dev/scrape"},
			"may patch, and takes scrape":             {old: with("gammaguard.dev/scrape", "allow"), new: with("m", ""), want: "may not change gammaguard.dev/scrape"},
		} {
			if (name == "adds another" || name == "replaces ours by another") && size.labels > 1000 {
				test.want = "at most 1,000 labels"
			}
			if size.share < 10 && name != "withdraws" && name != "changes another value" {
				continue
			}
			began := time.Now()
			got := policy.judge(t, test.new, test.old, &test.user)
			took := time.Since(began)
			if test.want == "" && got != nil || test.want != "" && (len(got) != 1 || !strings.Contains(got[0], test.want)) {
				t.Errorf("%+v, %s: %v, want %q", size, name, got, test.want)
			}
			if test.want == "" && policy.cost > celconfig.RuntimeCELCostBudget/size.share {
				t.Errorf("%+v, %s: it cost %d", size, name, policy.cost)
			}
			if took > 20*time.Second {
				t.Errorf("%+v, %s: it took %v", size, name, took)
			}
		}
	}
}

// TestGrantsPolicyBoundsSizes: no request raises the number of labels or of annotations above
// what is evaluated at little cost, and all others pass.
func TestGrantsPolicyBoundsSizes(t *testing.T) {
	policy := compilePolicy(t, manifest[admissionv1.ValidatingAdmissionPolicy](t, "policy/labels/grants.yaml", 0))
	const most = 1000
	for _, test := range []struct {
		name     string
		old, new *unstructured.Unstructured
		refused  bool
	}{
		{name: "create", new: sized(t, most, most)},
		{name: "create with too many labels", new: sized(t, most+1, 0), refused: true},
		{name: "create with too many annotations", new: sized(t, 0, most+1), refused: true},
		{name: "raise to the limit", old: sized(t, 1, 1), new: sized(t, most, most)},
		{name: "raise labels", old: sized(t, most, 0), new: sized(t, most+1, 0), refused: true},
		{name: "raise annotations", old: sized(t, 0, most), new: sized(t, 0, most+1), refused: true},
		{name: "raise annotations above many", old: sized(t, 0, 40_000), new: sized(t, 0, 40_001), refused: true},
		{name: "raise labels, lower annotations", old: sized(t, most, most+2), new: sized(t, most+1, 0), refused: true},
		{name: "change one of many", old: sized(t, 60_000, 0, "m", "x"), new: sized(t, 60_000, 0, "m", "y")},
		{name: "replace one of many", old: sized(t, 60_000, 0, "m", "x"), new: sized(t, 60_000, 0, "n", "y")},
		{name: "lower to too many", old: sized(t, 60_000, 0), new: sized(t, 50_000, 0)},
		{name: "remove all", old: sized(t, 60_000, 40_000), new: sized(t, 0, 0)},
	} {
		got := policy.judge(t, test.new, test.old, &fakeAuthorizer{namespaces: true})
		if refused := len(got) == 1 && strings.Contains(got[0], "at most 1,000 labels and 1,000 annotations"); refused != test.refused || len(got) > 1 {
			t.Errorf("%s: %v", test.name, got)
		}
	}
}

// TestGrantsPolicyGuardsThePrefix: a key of our domain or of its subdomains is guarded, in
// any case, known or not, and no other key is.
func TestGrantsPolicyGuardsThePrefix(t *testing.T) {
	policy := compilePolicy(t, manifest[admissionv1.ValidatingAdmissionPolicy](t, "policy/labels/grants.yaml", 0))
	const request = "gammaguard.dev/grant-request"
	for key, guarded := range map[string]bool{
		"gammaguard.dev/scrape": true, "gammaguard.dev/Grant": true, "gammaguard.dev/GRANT": true, "gammaguard.dev/grant-route-kinds": true,
		"gammaguard.dev/x": true, "x.gammaguard.dev/grant": true, "a.b.gammaguard.dev/x": true,
		"notgammaguard.dev/grant": false, "gammaguard.dev.example.com/grant": false, "gammaguard.development/x": false,
		"example.com/gammaguard.dev": false, "gammaguard.dev": false, "gammaguardxdev/grant": false, "x": false,
	} {
		for _, annotation := range []bool{false, true} {
			spellings := []string{key}
			if annotation { // whose domains the API server takes in any case
				spellings = append(spellings, strings.ToUpper(key), strings.Title(key)) //nolint:staticcheck // of ASCII
			}
			for _, key := range spellings {
				for _, change := range []string{"add", "change", "remove"} {
					old, changed := object(t, "metadata: {name: shop}"), object(t, "metadata: {name: shop}")
					set := (*unstructured.Unstructured).SetLabels
					if annotation {
						set = (*unstructured.Unstructured).SetAnnotations
					}
					if change != "add" {
						set(old, map[string]string{key: "a"})
					}
					if change != "remove" {
						set(changed, map[string]string{key: "b"})
					}
					got := policy.judge(t, changed, old, &fakeAuthorizer{namespaces: true})
					if refused := len(got) == 1 && strings.Contains(got[0], "may not change "+key+" of"); refused != guarded {
						t.Errorf("%s %s, annotation %t: %v", change, key, annotation, got)
					}
					kept := policy.judge(t, changed, old, &fakeAuthorizer{grants: true})
					if (len(kept) == 0) != guarded {
						t.Errorf("a mesh admin: %s %s, annotation %t: %v", change, key, annotation, kept)
					}
				}
			}
		}
	}
	asking := object(t, "metadata: {name: shop, annotations: {"+request+": x}}")
	if got := policy.judge(t, asking, object(t, "metadata: {name: shop}"), &fakeAuthorizer{}); got != nil {
		t.Errorf("a request for a grant: %v", got)
	}
	asking.SetAnnotations(nil)
	asking.SetLabels(map[string]string{request: "x"})
	if got := policy.judge(t, asking, object(t, "metadata: {name: shop}"), &fakeAuthorizer{}); got == nil {
		t.Error("a request for a grant as a label passes")
	}
}
