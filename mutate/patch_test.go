package mutate_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/mutate"
)

func TestWarning(t *testing.T) {
	for _, test := range []struct {
		change mutate.Change
		want   string
	}{
		{
			mutate.Change{ID: "parent-group", Path: "spec.parentRefs[0].group", After: "", Why: "Service is in the core group"},
			`set spec.parentRefs[0].group to "": Service is in the core group (parent-group)`,
		},
		{
			mutate.Change{ID: "backend-port", Path: "spec.rules[2].backendRefs[1].port", After: int32(80), Why: "Service shop/cart has no other port"},
			`set spec.rules[2].backendRefs[1].port to 80: Service shop/cart has no other port (backend-port)`,
		},
	} {
		if got := (&mutate.Plan{Mode: mesh.Enforce}).Message(&test.change); got != test.want {
			t.Errorf("warning\n got %s\nwant %s", got, test.want)
		}
	}
}

// A route as a later Gateway API may have it, from the API server: members and
// enumerations that this build does not know, at every level.
const newer = `{
  "apiVersion": "gateway.networking.k8s.io/v2",
  "kind": "HTTPRoute",
  "metadata": {"name": "r", "namespace": "shop", "labels": {"a/b": "c~d"}, "managedFields": [{"manager": "kubectl", "fieldsV1": {"f:spec": {}}}]},
  "spec": {
    "useDefaultGateways": "All",
    "parentRefs": [{
      "weightClass": {"zone": 12345678901234567890}, "name": "one", "group": "gateway.networking.k8s.io", "kind": "Service"
    }],
    "rules": [{
      "name": "first", "retry": {"codes": [503], "backoff": "100ms"}, "sessionPersistence": {"type": "Cookie"},
      "matches": [{"path": {"type": "PathPrefix", "value": "/"}, "bodySize": 1.50}],
      "filters": [{"type": "RequestMirror", "requestMirror": {"fraction": {"numerator": 1.0e2}, "backendRef": {"kind": "Service", "group": "core", "name": "one", "hash": null}}}],
      "backendRefs": [{"failover": true, "kind": "Service", "group": "", "name": "one", "weight": 1, "filters": []}]
    }],
    "budget": {"percent": 0.10}
  },
  "status": {"parents": [], "conditions": [{"type": "New"}]}
}`

func TestPatchKeepsUnknownFields(t *testing.T) {
	_, route := decode(t, newer)
	changes := mutate.Changes(route, &world{services: services()}, ownOnly)

	want := []mutate.Operation{
		{Op: mutate.Replace, Path: "/spec/parentRefs/0/group", Value: ""},
		{Op: mutate.Replace, Path: "/spec/rules/0/filters/0/requestMirror/backendRef/group", Value: ""},
		{Op: mutate.Add, Path: "/spec/rules/0/filters/0/requestMirror/backendRef/port", Value: int32(80)},
		{Op: mutate.Add, Path: "/spec/rules/0/backendRefs/0/port", Value: int32(80)},
	}
	if diff := cmp.Diff(want, mutate.Patch(changes)); diff != "" {
		t.Errorf("patch (-want +got):\n%s", diff)
	}
	after, err := mutate.Apply([]byte(newer), changes)
	if err != nil {
		t.Fatal(err)
	}
	checkOnlyNamed(t, []byte(newer), after, changes)
}

func TestPatchJSON(t *testing.T) {
	text, err := json.Marshal(mutate.Patch([]mutate.Change{
		{Path: "spec.parentRefs[10].group", Op: mutate.Add, After: ""},
		{Path: "spec.rules[0].filters[3].requestMirror.backendRef.port", Op: mutate.Replace, After: int32(80)},
	}))
	if err != nil {
		t.Fatal(err)
	}
	const want = `[{"op":"add","path":"/spec/parentRefs/10/group","value":""},` +
		`{"op":"replace","path":"/spec/rules/0/filters/3/requestMirror/backendRef/port","value":80}]`
	if string(text) != want {
		t.Errorf("patch\n got %s\nwant %s", text, want)
	}
}

func TestApply(t *testing.T) {
	if got, err := mutate.Apply([]byte(newer), nil); err != nil || string(got) != newer {
		t.Errorf("no changes: got %v, %s; want the object itself", err, got)
	}
	missing := []mutate.Change{{Path: "spec.parentRefs[7].group", Op: mutate.Replace, After: ""}}
	if _, err := mutate.Apply([]byte(newer), missing); err == nil {
		t.Error("changes of another route are applied")
	}
}

// What Mutated copies is its own: the route it is given may be shared.
func TestMutatedLeavesTheRoute(t *testing.T) {
	_, route := decode(t, newer)
	_, same := decode(t, newer)
	changes := mutate.Changes(route, &world{services: services()}, ownOnly)
	mutated := mutate.Mutated(route, changes)
	if diff := cmp.Diff(same, route); diff != "" {
		t.Errorf("the route was changed (-before +after):\n%s", diff)
	}
	if cmp.Equal(mutated, route) {
		t.Error("nothing was changed in the copy")
	}
}
