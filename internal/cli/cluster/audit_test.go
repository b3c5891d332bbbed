package cluster_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/internal/cli/audit"
	"github.com/gammaguard/gammaguard/internal/cli/command"
)

// storedFaults are the routes that nothing tells of today: all are stored, and
// unchanged.
const storedFaults = `
{apiVersion: v1, kind: Namespace, metadata: {name: old}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: older, labels: {gammaguard.dev/mode: audit, gammaguard.dev/grant: consumer}}}
---
{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: old}, spec: {ports: [{port: 80}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: bare, namespace: old}, spec: {clusterIP: None, ports: [{port: 80}]}}
---
{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: cart, namespace: old, labels: {kubernetes.io/service-name: cart}}, addressType: IPv4, endpoints: [{addresses: [10.1.2.3]}]}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: fine, namespace: old}, spec: {parentRefs: [{group: "", kind: Service, name: cart}], rules: [{backendRefs: [{name: cart, port: 80}]}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: headless, namespace: old}, spec: {parentRefs: [{group: "", kind: Service, name: bare}], rules: [{backendRefs: [{name: cart, port: 80}]}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: missing, namespace: older}, spec: {parentRefs: [{group: "", kind: Service, name: nowhere}], rules: [{backendRefs: [{namespace: old, name: cart, port: 80}]}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: north, namespace: older}, spec: {parentRefs: [{name: gateway}], rules: [{backendRefs: [{name: nothing, port: 80}]}]}}
`

// auditOf runs the command, and reads its JSON.
func auditOf(t *testing.T, args ...string) (int, *audit.Report, string) {
	t.Helper()
	code, stdout, stderr := run(t, "", append([]string{"audit", "-o", "json", "--kubeconfig", plane.Kubeconfig}, args...)...)
	r := &audit.Report{}
	if err := json.Unmarshal([]byte(stdout), r); code != command.ExitUsage && err != nil {
		t.Fatalf("%v\n%s%s", err, stdout, stderr)
	}
	return code, r, stderr
}

// TestAudit: what is wrong with stored routes, what lies behind a missing grant, and the
// command that gives it.
func TestAudit(t *testing.T) {
	kubectl(t, storedFaults, "apply", "-f", "-")
	//nolint:dupword // two columns
	const want = `NAMESPACE   KIND        NAME             RULE              ACTION   FIELD                     MESSAGE
old         HTTPRoute   fine, headless   grant-missing     deny     spec.parentRefs[0]        namespace old lacks the producer grant for HTTPRoute
old         HTTPRoute   headless         parent-headless   deny     spec.parentRefs[0].name   Service old/bare is headless (clusterIP: None): it has no cluster IP to match

NAMESPACE   MODE      ROUTES   ROUTES DENIED   DENIALS   WARNINGS   CHANGES   APPLIED   GRANT   NEEDS
old         enforce   2        2               3         0          0         0/2       none    producer

To grant what these routes need, a mesh admin can run:
kubectl label namespace old gammaguard.dev/grant=producer
`
	code, stdout, stderr := run(t, "", "audit", "-n", "old", "--kubeconfig", plane.Kubeconfig)
	if diff := cmp.Diff(want, stdout); diff != "" || code != command.ExitFindings {
		t.Errorf("exit code %d, %s (-want +got)\n%s", code, stderr, diff)
	}
	// A mode that does not enforce denies nothing, and says what it would.
	code, lenient, _ := auditOf(t, "-n", "older")
	if n := lenient.Namespaces[0]; code != command.ExitClean || n.Routes != 1 || n.Denied != 0 || n.Mode != "audit" {
		t.Errorf("older: exit code %d, %+v", code, n)
	}
	if f := lenient.Routes[0].Findings[0]; f.Rule != "grant-missing" || f.Effect != "audit" || f.Downgraded != "mode" {
		t.Errorf("older: %+v", f)
	}
	code, strict, _ := auditOf(t, "-A", "--as-mode", "enforce")
	commands := map[string]string{}
	for _, n := range strict.Namespaces {
		if n.Mode != "enforce" {
			t.Errorf("%+v", n)
		}
		commands[n.Name] = n.Command
	}
	if want := "kubectl label namespace older gammaguard.dev/grant=all --overwrite"; code != command.ExitFindings || commands["older"] != want {
		t.Errorf("exit code %d, %q", code, commands["older"])
	}
	for format, want := range map[string]string{"yaml": "rule: parent-headless", "sarif": `"ruleId": "parent-headless"`, "wide": "use a ClusterIP Service"} {
		code, stdout, stderr := run(t, "", "audit", "-n", "old", "-o", format, "--kubeconfig", plane.Kubeconfig)
		if code != command.ExitFindings || !strings.Contains(stdout, want) {
			t.Errorf("%s: exit code %d, %s%s", format, code, stdout, stderr)
		}
	}
	if code, _, stderr := run(t, "", "audit", "-n", "kube-public", "--kubeconfig", plane.Kubeconfig); code != command.ExitClean || !strings.Contains(stderr, "No routes that gammaguard checks in namespace kube-public.\n") {
		t.Errorf("kube-public: exit code %d, %s", code, stderr)
	}
}

// TestAuditLeastRights: a user who may read one namespace gets its audit, and a list of what
// is missing; one who may read nothing gets an error.
func TestAuditLeastRights(t *testing.T) {
	kubectl(t, strings.ReplaceAll(storedFaults, "old", "lean")+`
---
{apiVersion: gateway.networking.k8s.io/v1, kind: GRPCRoute, metadata: {name: plain, namespace: lean}, spec: {parentRefs: [{group: "", kind: Service, name: cart}], rules: [{backendRefs: [{name: cart, port: 80}]}]}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: views, namespace: lean}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: views-routes}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: tenant}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: views-routes}
rules:
- {apiGroups: [gateway.networking.k8s.io], resources: [httproutes, grpcroutes], verbs: [get, list]}
- {apiGroups: [""], resources: [services], verbs: [get, list]}
- {apiGroups: [discovery.k8s.io], resources: [endpointslices], verbs: [list]}
`, "apply", "-f", "-")
	code, r, stderr := auditOf(t, "-n", "lean", "--as", "tenant")
	if len(r.Namespaces) != 1 || r.Namespaces[0].Denied != 1 || r.Namespaces[0].Unknown != 2 || r.Namespaces[0].Grant != "unknown" || code != command.ExitFindings {
		t.Errorf("exit code %d, %+v\n%s", code, r.Namespaces, stderr)
	}
	want := []string{"Deployment gammaguard-system/gammaguard-webhook", "Namespace lean", "routes in namespace lean (TLSRoute, TCPRoute, UDPRoute)"}
	if diff := cmp.Diff(want, r.Unseen); diff != "" {
		t.Errorf("unseen (-want +got)\n%s", diff)
	}
	for _, unseen := range append(want, ", Deployment gammaguard-system/gammaguard-webhook, so the result may be incomplete, and the default configuration is used; ask for the Role and the ClusterRole gammaguard-viewer\n") {
		if !strings.Contains(stderr, unseen) {
			t.Errorf("want %q in\n%s", unseen, stderr)
		}
	}
	// -A is what he may list: the namespace of his context.
	if code, all, stderr := auditOf(t, "-A", "-n", "lean", "--as", "tenant"); code != command.ExitFindings || len(all.Namespaces) != 1 {
		t.Errorf("-A: exit code %d, %+v\n%s", code, all.Namespaces, stderr)
	}
	for args, where := range map[string]string{
		"audit -n lean": "namespace lean;", "audit -A": "all namespaces; specify one that you can read with -n, or", "conflicts -n lean": "namespace lean;",
	} {
		code, _, stderr := run(t, "", append(strings.Fields(args), "--as", "nobody", "--kubeconfig", plane.Kubeconfig)...)
		if code != command.ExitUsage || stderr != "error: you cannot list routes in "+where+" ask for the ClusterRole gammaguard-viewer\n" {
			t.Errorf("%s as nobody: exit code %d, %s", args, code, stderr)
		}
	}
	code, stdout, stderr := run(t, "", "conflicts", "-n", "lean", "--as", "tenant", "--kubeconfig", plane.Kubeconfig)
	if code != command.ExitClean || !strings.Contains(stdout, "GRPCRoute lean/plain") || !strings.Contains(stderr, "routes across all namespaces") {
		t.Errorf("conflicts: exit code %d, %s%s", code, stdout, stderr)
	}
}

// TestAuditConfiguration: the audit goes by the ConfigMap that the Deployment mounts, or
// by --config; a ConfigMap that is broken is an error that names it.
func TestAuditConfiguration(t *testing.T) {
	kubectl(t, storedFaults, "apply", "-f", "-")
	const header = "apiVersion: gammaguard.dev/v1alpha1\nkind: GuardConfiguration\n"
	deploy := func(name string, data map[string]string) {
		text, err := json.Marshal(data)
		if err != nil {
			t.Fatal(err)
		}
		kubectl(t, fmt.Sprintf(`
{apiVersion: v1, kind: Namespace, metadata: {name: guarded}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: %[1]s, namespace: guarded}, data: %[2]s}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: guard, namespace: guarded}, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}},
 spec: {containers: [{name: webhook, image: x}], volumes: [{name: config, configMap: {name: %[1]s}}]}}}}
`, name, text), "apply", "-f", "-")
	}
	deploy("granting", map[string]string{"guard.yaml": header + "grants: {default: all}\nmode: warn\n"})
	code, r, stderr := auditOf(t, "-n", "old", "--installation", "guarded/guard")
	if code != command.ExitClean || r.Configuration != "ConfigMap guarded/granting" || r.Namespaces[0].Mode != "warn" || r.Namespaces[0].Needs != "" {
		t.Errorf("exit code %d, %+v\n%s", code, r, stderr)
	}
	// What looks at files too judges by the same configuration.
	const route = `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: new, namespace: old},
		spec: {parentRefs: [{group: "", kind: Service, name: cart}], rules: [{backendRefs: [{group: "", kind: Service, name: cart, port: 80}]}]}}`
	for _, args := range [][]string{{"check"}, {"trace", "service/cart:80", "-n", "old"}} {
		args = append(args, "-f", "-", "--cluster", "--kubeconfig", plane.Kubeconfig, "--installation")
		_, byDefault, _ := run(t, route, append(args, "gammaguard-system/gammaguard-webhook")...)
		code, granted, stderr := run(t, route, append(args, "guarded/guard")...)
		if code != command.ExitClean || strings.Contains(granted, "grant") || !strings.Contains(byDefault, "grant") {
			t.Errorf("%v: exit code %d\n%s%s\nby the default configuration:\n%s", args, code, granted, stderr, byDefault)
		}
	}
	file := filepath.Join(t.TempDir(), "guard.yaml")
	if err := os.WriteFile(file, []byte(header), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, r, _ := auditOf(t, "-n", "old", "--installation", "guarded/guard", "--config", file); code != command.ExitFindings || r.Configuration != "file "+file {
		t.Errorf("--config: exit code %d, %+v", code, r)
	}
	if err := os.WriteFile(file, []byte(header+`
exemptions: {namespaces: [olld, old]}
grants:
  selectors:
  - {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: old}}, roles: [producer]}
  - {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: olld}}, roles: [producer]}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	idle := []string{"exemptions.namespaces[0]: there is no namespace olld", "grants.selectors[1] selects no namespace"}
	if _, r, _ := auditOf(t, "-A", "--config", file); !slices.Equal(r.Notes, idle) {
		t.Errorf("notes %q, want %q", r.Notes, idle)
	}
	if _, stdout, _ := run(t, "", "audit", "-A", "--config", file, "--kubeconfig", plane.Kubeconfig); !strings.HasSuffix(stdout, "\nnote: "+strings.Join(idle, "\nnote: ")+"\n") {
		t.Errorf("want notes below\n%s", stdout)
	}
	if _, r, _ := auditOf(t, "-n", "old", "--config", file); len(r.Notes) > 0 {
		t.Errorf("of one namespace: notes %q", r.Notes)
	}
	for _, test := range []struct {
		name string
		data map[string]string
		want string
	}{
		{"another-key", map[string]string{"other.yaml": header}, `error: ConfigMap guarded/another-key has no key "guard.yaml"`},
		{"unknown-field", map[string]string{"guard.yaml": header + "mood: strict\n"}, `error: ConfigMap guarded/unknown-field: guard.yaml: unknown field "mood"`},
		{"escapes", map[string]string{"guard.yaml": "\"\x1b]0;owned\x07\": [\n"}, "error: ConfigMap guarded/escapes: guard.yaml: yaml: "},
		{"bomb", map[string]string{"guard.yaml": bomb()}, "error: ConfigMap guarded/bomb: guard.yaml: yaml: its aliases expand to more than 16 MiB"},
	} {
		deploy(test.name, test.data)
		code, _, stderr := auditOf(t, "-n", "old", "--installation", "guarded/guard")
		if code != command.ExitUsage || !strings.HasPrefix(stderr, test.want) || strings.ContainsAny(stderr, "\x1b\x07") {
			t.Errorf("%s: exit code %d, %q", test.name, code, stderr)
		}
	}
	const none = "error: --installation: Deployment guarded/nobody: not found\n"
	if code, _, stderr := auditOf(t, "-n", "old", "--installation", "guarded/nobody"); code != command.ExitUsage || stderr != none {
		t.Errorf("exit code %d, %s", code, stderr)
	}
	if code, _, stderr := auditOf(t, "-n", "old", "--installation", "guard"); code != command.ExitUsage || stderr != "error: installation \"guard\": must be NAMESPACE/NAME\n" {
		t.Errorf("exit code %d, %s", code, stderr)
	}
}

// bomb is YAML that would be gigabytes if its aliases were written out.
func bomb() string {
	text := "a0: &a0 [a, b, c, d, e, f, g, h, i, j]\n"
	for i := 1; i < 10; i++ {
		text += fmt.Sprintf("a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", "))
	}
	return text
}
