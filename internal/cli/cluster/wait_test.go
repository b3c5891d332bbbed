package cluster_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/internal/cli/answers"
	"github.com/gammaguard/gammaguard/internal/cli/audit"
	"github.com/gammaguard/gammaguard/internal/cli/command"
	"github.com/gammaguard/gammaguard/internal/cli/report"
)

// awaited are two routes with mesh parents, one of which has two, and one without.
const awaited = `
{apiVersion: v1, kind: Namespace, metadata: {name: waits}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: web, namespace: waits}, spec: {parentRefs: [{name: edge}, {group: "", kind: Service, name: cart, port: 80}, {group: "", kind: Service, name: pay}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: GRPCRoute, metadata: {name: rpc, namespace: waits}, spec: {parentRefs: [{group: "", kind: Service, name: cart, port: 80}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: north, namespace: waits}, spec: {parentRefs: [{name: edge}]}}
`

// answer writes the status of a route as a mesh does: an entry for each answer, which is
// "SERVICE[:PORT] STATUS GENERATION".
func answer(t *testing.T, route string, all ...string) {
	t.Helper()
	if err := tryAnswer(t, route, all...); err != "" {
		t.Fatal(err)
	}
}

func tryAnswer(t *testing.T, route string, all ...string) string {
	var entries []string
	for _, text := range all {
		words := strings.Fields(text)
		name, port, _ := strings.Cut(words[0], ":")
		if port != "" {
			port = `,"port":` + port
		}
		entries = append(entries, fmt.Sprintf(`{"controllerName":"example.com/mesh","parentRef":{"group":"","kind":"Service","name":%q%s},"conditions":[{"type":"Accepted","status":%q,`+
			`"reason":"Mesh","message":"says %s","observedGeneration":%s,"lastTransitionTime":"2026-01-02T03:04:05Z"}]}`, name, port, words[1], words[1], words[2]))
	}
	_, stderr, err := plane.Kubectl(t.Context(), "", "patch", route, "-n", "waits", "--subresource", "status", "--type", "merge", "-p", `{"status":{"parents":[`+strings.Join(entries, ",")+`]}}`)
	if err != nil {
		return stderr
	}
	return ""
}

// TestAuditWait: the command says which mesh parents no mesh accepts as they are now, and waits
// for the others.
func TestAuditWait(t *testing.T) {
	kubectl(t, awaited, "apply", "-f", "-")
	answer(t, "httproute/web", "cart:80 True 1", "pay False 1")
	wait := func(limit string) (int, string) {
		code, _, stderr := run(t, "", "audit", "-n", "waits", "--wait", limit, "--kubeconfig", plane.Kubeconfig)
		return code, stderr
	}
	_, r, _ := auditOf(t, "-n", "waits")
	rpc, web := report.RouteName{Kind: "GRPCRoute", Namespace: "waits", Name: "rpc"}, report.RouteName{Kind: "HTTPRoute", Namespace: "waits", Name: "web"}
	want := []audit.NotApplied{
		{RouteName: rpc, Field: "spec.parentRefs[0]", Service: "Service waits/cart", Answer: answers.Answer{State: "unanswered"}},
		{RouteName: web, Field: "spec.parentRefs[2]", Service: "Service waits/pay", Answer: answers.Answer{State: "refused", By: "example.com/mesh", Reason: "Mesh", Message: "says False"}},
	}
	if diff := cmp.Diff(want, r.NotApplied); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if n := r.Namespaces[0]; n.Parented != 2 || n.Applied != 0 {
		t.Errorf("%+v", n)
	}
	if code, stderr := wait("1s"); code != command.ExitFindings || !strings.Contains(stderr, "After 1s, no mesh accepts:\n") || !strings.Contains(stderr, "refused        example.com/mesh   says False") {
		t.Errorf("nothing changes: exit code %d\n%s", code, stderr)
	}
	late := make(chan string, 2)
	go func() {
		late <- tryAnswer(t, "grpcroute/rpc", "cart:80 True 1")
		late <- tryAnswer(t, "httproute/web", "cart:80 True 1", "pay True 1")
	}()
	// The routes would be denied, which is no concern of one who waits.
	if code, stderr := wait("1m"); code != command.ExitClean {
		t.Errorf("the mesh answers: exit code %d\n%s", code, stderr)
	}
	for range cap(late) {
		if err := <-late; err != "" {
			t.Fatal(err)
		}
	}
	kubectl(t, "", "patch", "grpcroute", "rpc", "-n", "waits", "--type", "json", "-p", `[{"op":"remove","path":"/spec/parentRefs/0/port"}]`)
	kubectl(t, "", "patch", "httproute", "web", "-n", "waits", "--type", "merge", "-p", `{"spec":{"rules":[{"name":"a"}]}}`)
	code, stderr := wait("1s")
	for _, line := range []string{"rpc spec.parentRefs[0] Service waits/cart unanswered", "web spec.parentRefs[1] Service waits/cart stale", "web spec.parentRefs[2] Service waits/pay stale"} {
		if !strings.Contains(strings.Join(strings.Fields(stderr), " "), line) || code != command.ExitFindings {
			t.Errorf("changed: exit code %d, want %q in\n%s", code, line, stderr)
		}
	}
	if code, _, stderr := run(t, "", "audit", "--wait", "-1s"); code != command.ExitUsage || !strings.Contains(stderr, "--wait must not be negative") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	_, stdout, _ := run(t, "", "describe", "service/pay", "-n", "waits", "--kubeconfig", plane.Kubeconfig)
	if !strings.Contains(stdout, "stale") {
		t.Errorf("describe:\n%s", stdout)
	}
	if _, stdout, _ = run(t, "", "graph", "-n", "waits", "-o", "html", "--kubeconfig", plane.Kubeconfig); !strings.Contains(stdout, "<td>stale</td>") {
		t.Errorf("graph:\n%s", stdout)
	}
}
