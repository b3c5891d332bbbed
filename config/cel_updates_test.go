package config

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	celplugin "k8s.io/apiserver/pkg/admission/plugin/cel"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/gammaguard/gammaguard/mesh"
)

// updates are changes of a mesh route, each from a route with these labels, annotations and
// path.
type updated struct {
	name                string
	labels, annotations map[string]any
	path                string
	// counts reports whether the update is to be judged.
	counts bool
}

// changes returns updates of the route that route returns for none.
func changes() []updated {
	return []updated{
		{"nothing", map[string]any{"istio.io/rev": "a", "team": "a"}, map[string]any{"timeout.linkerd.io/request": "1s", "note": "a", mesh.IgnoreAnnotation: "a"}, "/", false},
		{"others' labels and annotations", map[string]any{"istio.io/rev": "a", "team": "b", "notistio.io/rev": "b", "istio.io": "b"}, map[string]any{"timeout.linkerd.io/request": "1s", mesh.IgnoreAnnotation: "a", "kubectl.kubernetes.io/restartedAt": "b"}, "/", false},
		{"others' labels go", map[string]any{"istio.io/rev": "a"}, map[string]any{"timeout.linkerd.io/request": "1s", mesh.IgnoreAnnotation: "a"}, "/", false},
		{"the spec", map[string]any{"istio.io/rev": "a", "team": "a"}, map[string]any{"timeout.linkerd.io/request": "1s", "note": "a", mesh.IgnoreAnnotation: "a"}, "/v2", true},
		{"the ignore annotation", map[string]any{"istio.io/rev": "a", "team": "a"}, map[string]any{"timeout.linkerd.io/request": "1s", "note": "a", mesh.IgnoreAnnotation: "b"}, "/", true},
		{"the ignore annotation goes", map[string]any{"istio.io/rev": "a", "team": "a"}, map[string]any{"timeout.linkerd.io/request": "1s", "note": "a"}, "/", true},
		{"a mesh's label", map[string]any{"istio.io/rev": "b", "team": "a"}, map[string]any{"timeout.linkerd.io/request": "1s", "note": "a", mesh.IgnoreAnnotation: "a"}, "/", true},
		{"all labels go", nil, map[string]any{"timeout.linkerd.io/request": "1s", "note": "a", mesh.IgnoreAnnotation: "a"}, "/", true},
		{"a mesh's annotation", map[string]any{"istio.io/rev": "a", "team": "a"}, map[string]any{"timeout.linkerd.io/request": "1ms", "note": "a", mesh.IgnoreAnnotation: "a"}, "/", true},
		{"a mesh's annotation goes", map[string]any{"istio.io/rev": "a", "team": "a"}, map[string]any{"note": "a", mesh.IgnoreAnnotation: "a"}, "/", true},
		{"all goes", nil, nil, "/", true},
	}
}

// updatedRoute returns a route, with a finalizer where it is being deleted.
func updatedRoute(u updated, deleting bool) *unstructured.Unstructured {
	meta := map[string]any{"name": "cart", "namespace": "shop"}
	if u.labels != nil {
		meta["labels"] = u.labels
	}
	if u.annotations != nil {
		meta["annotations"] = u.annotations
	}
	if deleting {
		meta["deletionTimestamp"], meta["finalizers"] = "2026-01-01T00:00:00Z", []any{"a.test/b"}
	}
	return &unstructured.Unstructured{Object: map[string]any{"metadata": meta, "spec": map[string]any{
		"parentRefs": []any{map[string]any{"group": "", "kind": "Service", "name": "cart"}},
		"rules":      []any{map[string]any{"matches": []any{map[string]any{"path": map[string]any{"value": u.path}}}}},
	}}}
}

// TestMatchConditionsOfUpdates: an update that changes nothing that counts is not sent to
// the webhooks. What counts is what the engine counts, and the ignore annotation.
func TestMatchConditionsOfUpdates(t *testing.T) {
	matcher := matcher(t)
	all := changes()
	check := func(t *testing.T, before, after updated, counts, deleting bool) {
		t.Helper()
		old, now := updatedRoute(before, deleting), updatedRoute(after, deleting)
		wantMatch(t, matcher, now, old, counts)
		ignored := func(u updated) any { return u.annotations[mesh.IgnoreAnnotation] }
		if engine := !mesh.Unchanged(text(t, now), text(t, old)) || ignored(before) != ignored(after); engine != counts {
			t.Errorf("for the engine, it counts: %v", engine)
		}
	}
	for _, u := range all {
		t.Run(u.name, func(t *testing.T) {
			check(t, all[0], u, u.counts, false)
			check(t, u, all[0], u.counts, false)
			check(t, all[0], u, u.counts, true)
			wantMatch(t, matcher, updatedRoute(u, false), nil, true)
		})
	}
	for _, domain := range mesh.MeshDomains() {
		for _, key := range []string{domain + "/a", "sub." + domain + "/a", "a.b." + domain + "/a"} {
			t.Run(key, func(t *testing.T) {
				check(t, updated{}, updated{labels: map[string]any{key: ""}}, true, false)
				check(t, updated{labels: map[string]any{key: ""}}, updated{}, true, false)
				check(t, updated{annotations: map[string]any{key: "a"}}, updated{annotations: map[string]any{key: "b"}}, true, true)
			})
		}
		for _, key := range []string{domain, "x" + domain + "/a", domain + ".example.com/a", "a/" + domain, strings.ReplaceAll(domain, ".", "x") + "/a"} {
			t.Run(key, func(t *testing.T) {
				check(t, updated{}, updated{annotations: map[string]any{key: "a"}}, false, false)
				check(t, updated{labels: map[string]any{key: "a"}}, updated{labels: map[string]any{key: "b"}}, false, true)
			})
		}
	}
}

func text(t *testing.T, object *unstructured.Unstructured) []byte {
	t.Helper()
	text, err := json.Marshal(object.Object)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestMatchConditionsNameTheMeshDomains: the expression has the domains of the profiles.
func TestMatchConditionsNameTheMeshDomains(t *testing.T) {
	for _, domain := range mesh.MeshDomains() {
		if strings.ToLower(domain) != domain || strings.ContainsAny(domain, "/\\'|()[]*") {
			t.Errorf("domain %q cannot stand in the expression", domain)
		}
	}
	want := "'^([^/]*[.])?(" + strings.ReplaceAll(strings.Join(mesh.MeshDomains(), "|"), ".", "[.]") + ")/'"
	condition := manifest[admissionv1.ValidatingWebhookConfiguration](t, "webhook/validating.yaml", 0).Webhooks[0].MatchConditions[0]
	if strings.Count(condition.Expression, want) != 2 || strings.Count(condition.Expression, "matches(") != 2 {
		t.Errorf("%s must match keys by %s:\n%s", condition.Name, want, condition.Expression)
	}
}

// TestMatchConditionsCost: at every size that can be stored, the conditions of the mutating webhook, which
// look at the route alone, cost less than a tenth of what the API server allows for those of a webhook. The
// validating webhook's, which has has-served too, cost less than a quarter: the API server charges 350,000 for
// asking the authorizer, whatever is sent.
func TestMatchConditionsCost(t *testing.T) {
	keys := func(n int, format, value string) map[string]any {
		all := make(map[string]any, n)
		for i := range n {
			all[fmt.Sprintf(format, i)] = value
		}
		return all
	}
	wide := func(n int, value string) map[string]any {
		return keys(n, strings.Repeat("a.", 100)+"%03d.example.com/"+strings.Repeat("n", 63), value)
	}
	validating, _ := conditionsOf(t, "validate.gammaguard.dev")
	mutating := compileConditions(t, manifest[admissionv1.MutatingWebhookConfiguration](t, "webhook/mutating.yaml", 0).Webhooks[0].MatchConditions)
	const budget = int64(celconfig.RuntimeCELCostBudgetMatchConditions)
	for _, test := range []struct {
		name        string
		before, now updated
	}{
		// A request has at most 3 MiB, and a stored object about 1.5.
		{"150,000 labels, one of them new", updated{labels: keys(150_000, "%06x", "")}, updated{labels: keys(150_001, "%06x", "")}},
		{"150,000 labels, all of them changed", updated{labels: keys(150_000, "%06x", "")}, updated{labels: keys(150_000, "%06x", "v")}},
		{"150,000 labels, the same", updated{labels: keys(150_000, "%06x", "")}, updated{labels: keys(150_000, "%06x", "")}},
		{"100 of the longest labels", updated{labels: wide(100, "")}, updated{labels: wide(100, strings.Repeat("v", 63))}},
		{"100 of the longest annotations, all of them new", updated{}, updated{annotations: wide(100, strings.Repeat("v", 2000))}},
		{"100 of the longest annotations, all of them gone", updated{annotations: wide(100, strings.Repeat("v", 2000))}, updated{}},
		{"labels and annotations, all others than before", updated{labels: wide(100, ""), annotations: keys(100, "x%d", strings.Repeat("v", 1000))}, updated{labels: keys(100, "y%d", ""), annotations: wide(100, "")}},
		{"60,000 annotations, one of them changed", updated{annotations: keys(60_000, "%x", "")}, updated{annotations: keys(60_001, "%x", "")}},
		{"one annotation of 256 KiB", updated{annotations: keys(1, "a%d", strings.Repeat("v", 256<<10))}, updated{annotations: keys(1, "a%d", strings.Repeat("v", 256<<10-1)+"w")}},
		{"a spec of 1.5 MB, the same", updated{path: strings.Repeat("/", 1_500_000)}, updated{path: strings.Repeat("/", 1_500_000), annotations: keys(1, "a%d", "")}},
	} {
		t.Run(test.name, func(t *testing.T) {
			now, old := updatedRoute(test.now, false), updatedRoute(test.before, false)
			attributes := versioned(now, old, schema.GroupVersionKind{Group: mesh.GatewayGroup, Version: "v1", Kind: "HTTPRoute"}, "httproutes")
			request := celplugin.CreateAdmissionRequest(attributes.Attributes, metav1.GroupVersionResource(attributes.GetResource()), metav1.GroupVersionKind(attributes.VersionedKind))
			for name, of := range map[string]struct {
				conditions celplugin.ConditionEvaluator
				most       int64
			}{"mutating": {mutating, budget / 10}, "validating": {validating, budget / 4}} {
				results, left, err := of.conditions.ForInput(context.Background(), attributes, request, celplugin.OptionalVariableBindings{Authorizer: &fakeAuthorizer{}}, nil, budget)
				if err != nil {
					t.Fatal(err)
				}
				for _, result := range results {
					if result.Error != nil {
						t.Error(result.Error)
					}
				}
				t.Logf("%s: %d of %d, in %s", name, budget-left, budget, results[0].Elapsed)
				if cost := budget - left; cost > of.most {
					t.Errorf("%s costs %d of %d", name, cost, budget)
				}
			}
		})
	}
}
