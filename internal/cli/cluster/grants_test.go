package cluster_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/internal/cli/command"
	"github.com/gammaguard/gammaguard/internal/cli/grants"
	"github.com/gammaguard/gammaguard/mesh"
)

// granting are namespaces with grants from everywhere, and their routes.
const granting = `
{apiVersion: v1, kind: Namespace, metadata: {name: grants-a, labels: {gammaguard.dev/grant: producer, gammaguard.dev/mode: warn, tier: platform}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: grants-b, labels: {gammaguard.dev/grant: none, tier: platform}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: grants-c}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: grants-d, labels: {gammaguard.dev/grant: all}, annotations: {gammaguard.dev/grant-route-kinds: "HTTPRoute, TCPRoute"}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: grants-e, labels: {gammaguard.dev/grant: all, tier: platform}, annotations: {gammaguard.dev/grant-route-kinds: HTTP}}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: own, namespace: grants-a}, spec: {parentRefs: [{group: "", kind: Service, name: cart}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: visitor, namespace: grants-a}, spec: {parentRefs: [{group: "", kind: Service, namespace: grants-b, name: cart}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: GRPCRoute, metadata: {name: visitor, namespace: grants-a}, spec: {parentRefs: [{group: "", kind: Service, namespace: grants-b, name: cart}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: own, namespace: grants-b}, spec: {parentRefs: [{group: "", kind: Service, name: cart}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: dormant, namespace: grants-b}, spec: {parentRefs: [{kind: Service, name: cart}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: north, namespace: grants-c}, spec: {parentRefs: [{name: gateway}]}}
`

// TestGrants: who may do what, where that comes from, and who does it.
func TestGrants(t *testing.T) {
	kubectl(t, granting, "apply", "-f", "-")
	config := filepath.Join(t.TempDir(), "guard.yaml")
	text := "apiVersion: gammaguard.dev/v1alpha1\nkind: GuardConfiguration\ngrants: {selectors: [{namespaceSelector: {matchLabels: {tier: platform}}, roles: [consumer], routeKinds: [HTTPRoute]}]}\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	const want = `NAMESPACE   GRANT                            GRANTED BY                   MODE      SET BY   ROUTES USING GRANT                    ROUTES LACKING GRANT
grants-a    producer; consumer (HTTPRoute)   label; grants.selectors[0]   warn      label       HTTPRoute own, HTTPRoute visitor      GRPCRoute visitor
`
	code, stdout, stderr := run(t, "", "grants", "-n", "grants-a", "-o", "wide", "--config", config, "--kubeconfig", plane.Kubeconfig)
	if diff := cmp.Diff(strings.Join(strings.Fields(want), " "), strings.Join(strings.Fields(stdout), " ")); diff != "" || code != command.ExitClean || stderr != "" {
		t.Errorf("exit code %d, %s (-want +got)\n%s", code, stderr, diff)
	}
	_, stdout, _ = run(t, "", "grants", "list", "-A", "-o", "json", "--config", config, "--kubeconfig", plane.Kubeconfig)
	var list grants.List
	if err := json.Unmarshal([]byte(stdout), &list); err != nil {
		t.Fatalf("%v: %s", err, stdout)
	}
	found := map[string]grants.Namespace{}
	for _, n := range list.Items {
		if strings.HasPrefix(n.Name, "grants-") {
			found[n.Name] = n
		}
	}
	delete(found, "grants-a")
	rest := map[string]grants.Namespace{
		"grants-b": {Name: "grants-b", Grants: []grants.Source{}, Refused: true, Mode: "enforce", ModeFrom: "default", Uses: []string{}, Lacks: []string{"HTTPRoute own"}},
		"grants-c": {Name: "grants-c", Grants: []grants.Source{}, Mode: "enforce", ModeFrom: "default", Uses: []string{}, Lacks: []string{}},
		"grants-d": {
			Name: "grants-d", Mode: "enforce", ModeFrom: "default", Uses: []string{}, Lacks: []string{},
			Grants: []grants.Source{{From: "label", Roles: []mesh.Role{mesh.Producer, mesh.Consumer}, RouteKinds: []mesh.RouteKind{mesh.HTTPRoute, mesh.TCPRoute}}},
		},
		"grants-e": {
			Name: "grants-e", Grants: []grants.Source{}, Unreadable: mesh.GrantRouteKindsAnnotation,
			Mode: "enforce", ModeFrom: "default", Uses: []string{}, Lacks: []string{},
		},
	}
	if diff := cmp.Diff(rest, found); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	kubectl(t, "{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: own, namespace: grants-e}, spec: {parentRefs: [{group: \"\", kind: Service, name: cart}]}}\n---\n"+
		"{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: own, namespace: grants-d}, spec: {parentRefs: [{kind: Service, name: cart}]}}", "apply", "-f", "-")
	_, stdout, _ = run(t, "", "audit", "-A", "-o", "wide", "--config", config, "--kubeconfig", plane.Kubeconfig)
	for _, want := range []string{
		" producer; consumer (HTTPRoute) ", " all (HTTPRoute, TCPRoute) ", " none (unreadable gammaguard.dev/grant-route-kinds) ", // a, d, and e
		`to make it live, set group: ""`, "grants-b HTTPRoute dormant grant-missing deny", // d, and b
	} {
		if !strings.Contains(strings.Join(strings.Fields(stdout), " "), strings.TrimSpace(want)) {
			t.Errorf("audit: want %q in\n%s", want, stdout)
		}
	}
	kubectl(t, "{apiVersion: v1, kind: Namespace, metadata: {name: grants-f, annotations: {gammaguard.dev/grant-route-kind: HTTPRoute}}}\n---\n"+
		"{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: grants-f, labels: {gammaguard.dev/consumer-route: deny}}, spec: {ports: [{port: 80}]}}", "apply", "-f", "-")
	const onNamespace = "note: Namespace grants-f: the annotation gammaguard.dev/grant-route-kind has no effect here; did you mean the annotation gammaguard.dev/grant-route-kinds?\n"
	const onService = "note: Service grants-f/cart: the label gammaguard.dev/consumer-route has no effect here; did you mean the label gammaguard.dev/consumer-routes?\n"
	for args, want := range map[string]string{"grants": onNamespace, "grants -A -o wide": onNamespace, "audit": onNamespace, "audit -A": onNamespace, "describe service/cart": onNamespace + onService} {
		if _, stdout, stderr := run(t, "", append(strings.Fields(args), "-n", "grants-f", "--kubeconfig", plane.Kubeconfig)...); !strings.HasSuffix(stdout, want) && (!strings.HasPrefix(args, "audit") || strings.Count(stdout+stderr, want) != 1) {
			t.Errorf("%s: want %q at the end of\n%s%s", args, want, stdout, stderr)
		}
	}
	if code, _, stderr := run(t, "", "grants", "-A", "--as", "nobody", "--kubeconfig", plane.Kubeconfig); code != command.ExitUsage || !strings.Contains(stderr, "you cannot read any namespace") {
		t.Errorf("as nobody: exit code %d, %s", code, stderr)
	}
}

// TestGrantRequests: a request gives nothing, a mesh admin sees it with the command, and
// nobody sees what somebody else wrote to deceive him.
func TestGrantRequests(t *testing.T) {
	kubectl(t, strings.ReplaceAll(granting, "grants-", "asks-"), "apply", "-f", "-")
	request := func(args ...string) (int, string) {
		code, stdout, stderr := run(t, "", append([]string{"grants", "request", "--kubeconfig", plane.Kubeconfig}, args...)...)
		return code, stdout + stderr
	}
	for namespace, role := range map[string]string{"asks-a": "consumer", "asks-b": "producer", "asks-c": "all"} {
		want := "Requested the grant " + role + " for namespace " + namespace + ".\n"
		if code, said := request("-n", namespace, "--role", role, "--reason", "canary of the cart"); code != command.ExitClean || said != want {
			t.Errorf("exit code %d: %s", code, said)
		}
	}
	const replaces = "Requested the grant producer for namespace asks-c. This replaces the request for the grant all. To ask for both, use --role all.\n"
	if code, said := request("-n", "asks-c", "--role", "producer", "--reason", "x"); code != command.ExitClean || said != replaces {
		t.Errorf("replaced: exit code %d: %s", code, said)
	}
	if code, said := request("-n", "asks-c", "--role", "all", "--reason", "canary of the cart"); code != command.ExitClean || !strings.HasPrefix(said, "Requested the grant all") {
		t.Errorf("exit code %d: %s", code, said)
	}
	kubectl(t, "", "label", "namespace", "asks-b", "gammaguard.dev/grant=producer", "--overwrite") // what it asks for
	if code, said := request("-n", "asks-b", "--role", "producer", "--reason", "x"); code != command.ExitClean || said != "Namespace asks-b has the grant producer already; nothing was requested.\n" {
		t.Errorf("granted: exit code %d: %s", code, said)
	}
	kubectl(t, "{apiVersion: v1, kind: Namespace, metadata: {name: asks-d}}\n---\n{apiVersion: v1, kind: Namespace, metadata: {name: asks-e}}\n---\n{apiVersion: v1, kind: Namespace, metadata: {name: asks-f}}\n", "apply", "-f", "-")
	kubectl(t, "", "annotate", "namespace", "asks-d", `gammaguard.dev/grant-request={"role":"all","reason":"\u001b[2J\nasks-x all"}`)
	kubectl(t, "", "annotate", "namespace", "asks-e", "gammaguard.dev/grant-request=please")
	kubectl(t, "", "annotate", "namespace", "asks-f", "gammaguard.dev/grant-request=producer")
	const want = `NAMESPACE REQUESTED REASON COMMAND
asks-a consumer canary of the cart kubectl label namespace asks-a gammaguard.dev/grant=all --overwrite
asks-c all canary of the cart kubectl label namespace asks-c gammaguard.dev/grant=all
asks-d - invalid: reason: must be one line -
asks-e - invalid: must be producer, consumer, or all, or {"role": "producer", "reason": "TEXT"} -
asks-f producer - kubectl label namespace asks-f gammaguard.dev/grant=producer
`
	code, stdout, stderr := run(t, "", "grants", "list", "-A", "--requested", "--kubeconfig", plane.Kubeconfig)
	if diff := cmp.Diff(strings.Fields(want), strings.Fields(stdout)); diff != "" || code != command.ExitClean {
		t.Errorf("exit code %d, %s (-want +got)\n%s\n%s", code, stderr, diff, stdout)
	}
	_, stdout, _ = run(t, "", "grants", "list", "-A", "--requested", "-o", "json", "--kubeconfig", plane.Kubeconfig)
	var list grants.RequestList
	if err := json.Unmarshal([]byte(stdout), &list); err != nil || list.Kind != grants.RequestKind || len(list.Items) != 5 {
		t.Fatalf("%v: %s", err, stdout)
	}
	if diff := cmp.Diff(grants.Requested{
		Namespace: "asks-a", Role: mesh.GrantConsumer, Lacks: "consumer", Reason: "canary of the cart", Granted: "producer",
		Command: "kubectl label namespace asks-a gammaguard.dev/grant=all --overwrite",
	}, list.Items[0]); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	_, stdout, _ = run(t, "", "grants", "list", "-n", "asks-f", "--requested", "-o", "wide", "--kubeconfig", plane.Kubeconfig)
	if diff := cmp.Diff(strings.Fields("NAMESPACE REQUESTED REASON GRANT COMMAND asks-f producer - none kubectl label namespace asks-f gammaguard.dev/grant=producer"), strings.Fields(stdout)); diff != "" {
		t.Errorf("-o wide (-want +got)\n%s", diff)
	}
	selectors := filepath.Join(t.TempDir(), "guard.yaml")
	if err := os.WriteFile(selectors, []byte(`
apiVersion: gammaguard.dev/v1alpha1
kind: GuardConfiguration
grants:
  selectors:
  - {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: asks-a}}, roles: [consumer], routeKinds: [HTTPRoute]}
  - {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: asks-c}}, roles: [producer, consumer]}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	_, stdout, _ = run(t, "", "grants", "list", "-A", "--requested", "--config", selectors, "--kubeconfig", plane.Kubeconfig)
	if !strings.Contains(stdout, "asks-a") || strings.Contains(stdout, "asks-c") {
		t.Errorf("a selector grants asks-a one kind of route, and asks-c all:\n%s", stdout)
	}
	for _, bad := range []struct {
		want string
		args []string
	}{
		{"error: required: --role and --reason\n", nil},
		{"error: required: --role\n", []string{"--reason", "x"}},
		{"error: required: --reason\n", []string{"--role", "all", "--reason", " "}},
		{"error: reason: must be one line", []string{"--role", "all", "--reason", "a\nb"}},
		{"must be at most 1024; shorten the reason", []string{"--role", "all", "--reason", strings.Repeat("x", 1024)}},
		{"; you cannot read the present grant; ask a mesh admin to run this, which kubectl refuses if there is another: kubectl label namespace asks-a gammaguard.dev/grant=all\n", []string{"--role", "all", "--reason", "x", "--as", "nobody", "-n", "asks-a"}},
		{`cannot patch resource "namespaces"`, []string{"--role", "all", "--reason", "x", "--as", "nobody", "-n", "asks-a"}},
	} {
		if code, said := request(bad.args...); code != command.ExitUsage || !strings.Contains(said, bad.want) {
			t.Errorf("%v: exit code %d: %s", bad.args, code, said)
		}
	}
}
