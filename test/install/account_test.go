package install

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gammaguard/gammaguard/test/background"
)

// entry is an entry of status.parents.
func entry(controller string, parent int, kind, status, message string) fields {
	return fields{
		"controllerName": controller, "parentRef": fields{"group": "", "kind": "Service", "name": fmt.Sprintf("cart-%d", parent)},
		"conditions": []any{fields{
			"type": kind, "status": status, "reason": "Because", "message": message, "lastTransitionTime": "2026-01-02T03:04:05Z",
		}},
	}
}

// refusedBy reports whether the policy refused a request.
func refusedBy(err error, policy string) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "ValidatingAdmissionPolicy '"+policy+"'")
}

// TestServiceAccountWritesOwnEntries: who has the token of gammaguard's ServiceAccount can
// change gammaguard's entries of status.parents, and nothing else of a status.
func TestServiceAccountWritesOwnEntries(t *testing.T) {
	const ours, mesh, gateway, accepted = "gammaguard.dev/guard", "mesh.example.com/controller", "gateway.example.com/controller", "Accepted"
	install(t, folder(t, "base"))
	boss, token := admin(t), tokenClient(t)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "entries"}}
	if err := boss.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	others := []any{entry(mesh, 1, accepted, "True", ""), entry(gateway, 1, accepted, "True", "yes"), entry(mesh, 2, accepted, "False", "no")}
	mine := entry(ours, 1, accepted, "False", "lost")
	alias := entry(ours, 1, "ResolvedRefs", "False", "")
	alias["conditions"].([]any)[0].(fields)["reason"] = "BackendExternalName"
	largest := []any{}
	for i := range 31 {
		large := entry(mesh, i, accepted, "True", strings.Repeat("m", 32768))
		for c := range 7 {
			condition := maps.Clone(large["conditions"].([]any)[0].(fields))
			condition["type"] = fmt.Sprintf("example.com/Type%d", c)
			condition["message"] = "short"
			large["conditions"] = append(large["conditions"].([]any), condition)
		}
		largest = append(largest, large)
	}
	with := func(parents []any, more ...any) []any { return append(slices.Clone(parents), more...) }
	for _, test := range []struct {
		name        string
		before, now []any
		pass        bool
	}{
		{"first", nil, []any{mine}, true},
		{"added behind", others, with(others, mine), true},
		{"added in front", others, with([]any{mine}, others...), true},
		{"partial", others, with(others, entry(ours, 1, "gammaguard.dev/PartiallyConflicted", "True", "some")), true},
		{"a backend", others, with(others, alias), true},
		{"changed", with(others, mine), with(others, entry(ours, 1, accepted, "False", "other words")), true},
		{"removed", with([]any{mine}, others...), others, true},
		{"moved behind", with([]any{mine}, others...), with(others, mine), true},
		{"the last one removed", []any{mine}, []any{}, true},
		{"another one, of what others wrote into an entry of ours", []any{entry(ours, 2, accepted, "True", ""), mine}, []any{entry(ours, 2, accepted, "True", "")}, true},
		{"the largest status", largest, with(largest, mine), true},
		{"largest, one character", largest, with(largest[:30], entry(mesh, 30, accepted, "True", "x")), false},
		{"others' message", others, with([]any{entry(mesh, 1, accepted, "True", "x")}, others[1:]...), false},
		{"others' verdict", others, with([]any{entry(mesh, 1, accepted, "False", "")}, others[1:]...), false},
		{"others removed", others, others[1:], false},
		{"all removed", others, []any{}, false},
		{"others' order", others, []any{others[1], others[0], others[2]}, false},
		{"others twice", others, with(others, others[0]), false},
		{"others added", others, with(others, entry(mesh, 3, accepted, "True", "")), false},
		{"ours for theirs", others, with(others[:2], mine), false},
		{"their name on ours", with(others, mine), with(others, entry(mesh, 1, accepted, "False", "lost")), false},
		{"our name on theirs", others, with(others[:2], entry(ours, 2, accepted, "False", "no")), false},
		{"accepted", others, with(others, entry(ours, 1, accepted, "True", "")), false},
		{"another condition", others, with(others, entry(ours, 1, "ResolvedRefs", "False", "")), false},
	} {
		for _, resource := range []string{"HTTPRoute", "GRPCRoute"} {
			route := &unstructured.Unstructured{Object: fields{
				"apiVersion": "gateway.networking.k8s.io/v1", "kind": resource,
				"metadata": fields{"namespace": namespace.Name, "generateName": "route-"}, "spec": fields{},
			}}
			if err := unexempted(t.Context(), boss, route); err != nil {
				t.Fatal(err)
			}
			write := func(c client.Client, parents []any, options ...client.SubResourcePatchOption) error {
				text, err := json.Marshal(fields{"status": fields{"parents": parents}})
				if err != nil {
					t.Fatal(err)
				}
				return c.Status().Patch(t.Context(), route.DeepCopy(), client.RawPatch(types.MergePatchType, text), options...)
			}
			if test.before != nil {
				if err := write(boss, test.before); err != nil {
					t.Fatalf("%s: %v", test.name, err)
				}
			}
			if !test.pass {
				background.Eventually(t, func() string { // a policy is taken up a moment after it is stored
					if err := write(token, test.now, client.DryRunAll); !refusedBy(err, "gammaguard-service-account") {
						return fmt.Sprintf("%s of %s: got %v", test.name, resource, err)
					}
					return ""
				})
			} else if err := write(token, test.now); err != nil {
				t.Errorf("%s of %s: got %v", test.name, resource, err)
			}
			if err := write(boss, test.now); err != nil {
				t.Errorf("an administrator, %s of %s: %v", test.name, resource, err)
			}
		}
	}
}

// unexempted creates a route that no webhook sees, since no guard runs in these tests.
func unexempted(ctx context.Context, c client.Client, route *unstructured.Unstructured) error {
	route.Object["spec"] = fields{"parentRefs": []any{fields{"name": "edge"}}}
	return c.Create(ctx, route)
}

// TestServiceAccountMakesOwnEvents: the token makes Events as gammaguard does, and counts its
// own; it makes none of other reasons, on other objects or in other names.
func TestServiceAccountMakesOwnEvents(t *testing.T) {
	install(t, folder(t, "base"))
	boss, token := admin(t), tokenClient(t)
	const policy = "gammaguard-events"
	event := func(change func(fields)) *unstructured.Unstructured {
		object := fields{
			"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": fields{"namespace": "default", "generateName": "cart-"},
			"eventTime": "2026-01-02T03:04:05.000000Z", "reportingController": "gammaguard", "reportingInstance": "gammaguard-host",
			"action": "Mark", "reason": "Conflicted", "type": "Warning", "note": "lost",
			"regarding": fields{"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "namespace": "default", "name": "cart"},
			"related":   fields{"apiVersion": "v1", "kind": "Service", "namespace": "default", "name": "cart"},
		}
		change(object)
		return &unstructured.Unstructured{Object: object}
	}
	field := func(name string, value any) func(fields) { return func(e fields) { e[name] = value } }
	onPolicy := func(name, reason string) func(fields) {
		return func(e fields) {
			delete(e, "related")
			maps.Copy(e, fields{"action": "Compare", "reason": reason, "regarding": fields{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "name": name}})
		}
	}
	foreign := event(field("reportingController", "kubelet"))
	if err := boss.Create(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		change func(fields)
		pass   bool
	}{
		"as it is":                {func(fields) {}, true},
		"no Service":              {func(e fields) { delete(e, "related") }, true},
		"resolved":                {func(e fields) { maps.Copy(e, fields{"action": "Clear", "reason": "Resolved", "type": "Normal"}) }, true},
		"full":                    {func(e fields) { maps.Copy(e, fields{"action": "Skip", "reason": "StatusFull"}) }, true},
		"contested":               {func(e fields) { maps.Copy(e, fields{"action": "Pause", "reason": "StatusContested"}) }, true},
		"partial":                 {field("reason", "PartiallyConflicted"), true},
		"reason":                  {field("reason", "Killing"), false},
		"type":                    {field("type", "Normal"), false},
		"a type as the reason":    {field("reason", "Warning"), false},
		"action":                  {field("action", "Killing"), false},
		"another action's reason": {field("action", "Clear"), false},
		"controller":              {field("reportingController", "kubelet"), false},
		"Pod":                     {field("regarding", fields{"apiVersion": "v1", "kind": "Pod", "namespace": "default", "name": "cart"}), false},
		"Gateway":                 {field("regarding", fields{"apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway", "namespace": "default", "name": "cart"}), false},
		"on the Lease, by the other API": {func(e fields) {
			maps.Copy(e, fields{"reason": "LeaderElection", "type": "Normal", "action": "", "regarding": fields{"kind": "Lease", "namespace": "default", "name": "gammaguard-webhook"}})
		}, false},
		"on the policy of routes": {onPolicy("gammaguard-route-grants", "PolicyDiffers"), true},
		"on another policy":       {onPolicy("gammaguard-events", "PolicyDiffers"), false},
		"on it, another reason":   {onPolicy("gammaguard-route-grants", "Conflicted"), false},
		"related Secret":          {field("related", fields{"apiVersion": "v1", "kind": "Secret", "namespace": "default", "name": "cart"}), false},
	} {
		made := event(test.change)
		if test.pass {
			if err := token.Create(t.Context(), made); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		background.Eventually(t, func() string {
			if err := token.Create(t.Context(), made.DeepCopy(), client.DryRunAll); !refusedBy(err, policy) && !apierrors.IsInvalid(err) {
				return fmt.Sprintf("%s: got %v", name, err)
			}
			return ""
		})
	}
	own := event(func(fields) {})
	if err := token.Create(t.Context(), own); err != nil {
		t.Fatal(err)
	}
	patch := func(e client.Object, text string) error {
		return token.Patch(t.Context(), e, client.RawPatch(types.StrategicMergePatchType, []byte(text)))
	}
	const series = `{"series":{"count":2,"lastObservedTime":"2026-01-02T03:05:05.000000Z"}}`
	asTyped := func(e *unstructured.Unstructured) *unstructured.Unstructured { return e.DeepCopy() }
	if err := patch(asTyped(own), series); err != nil {
		t.Errorf("count an Event: %v", err)
	}
	for name, err := range map[string]error{
		"another's series": patch(asTyped(foreign), series),
		"the labels":       patch(asTyped(own), `{"metadata":{"labels":{"a":"b"}}}`),
		"the finalizers":   patch(asTyped(own), `{"metadata":{"finalizers":["a.test/b"]}}`),
	} {
		if !refusedBy(err, policy) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	lease := func(reason, kind, name string) error {
		return token.Create(t.Context(), &corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: system, GenerateName: "lease-"}, Reason: reason, Type: corev1.EventTypeNormal,
			InvolvedObject: corev1.ObjectReference{Kind: kind, Namespace: system, Name: name, APIVersion: "coordination.k8s.io/v1"},
			Message:        "host became leader", Source: corev1.EventSource{Component: "host"},
		})
	}
	if err := lease("LeaderElection", "Lease", "gammaguard-webhook"); err != nil {
		t.Errorf("the Event of the leader: %v", err)
	}
	for _, err := range []error{lease("Killing", "Lease", "gammaguard-webhook"), lease("LeaderElection", "Pod", "gammaguard-webhook"), lease("LeaderElection", "Lease", "other")} {
		if !refusedBy(err, policy) {
			t.Errorf("another Event in %s: got %v", system, err)
		}
	}
}
