package cluster_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/internal/cli/command"
)

// TestStatusClear: entries of ours, of today's and former names, are counted, then
// removed; those of others stay, and so does what is not in the namespace.
func TestStatusClear(t *testing.T) {
	const entry = `{controllerName: %s, parentRef: {group: "", kind: Service, name: cart}, conditions: [{type: Accepted, status: "False", reason: Conflicted, message: "", lastTransitionTime: "2026-01-02T03:04:05Z"}]}`
	stored := func(kind, namespace, name string, controllers ...string) string {
		var entries []string
		for _, controller := range controllers {
			entries = append(entries, fmt.Sprintf(entry, controller))
		}
		return fmt.Sprintf(`{apiVersion: gateway.networking.k8s.io/v1, kind: %s, metadata: {name: %s, namespace: %s}, spec: {parentRefs: [{group: "", kind: Service, name: cart}],`+
			` rules: [{backendRefs: [{name: cart, port: 80}]}]}, status: {parents: [%s]}}`, kind, name, namespace, strings.Join(entries, ", "))
	}
	const us, former, them = "gammaguard.dev/guard", "example.com/guard", "example.com/mesh"
	routes := strings.Join([]string{
		stored("HTTPRoute", "clear-a", "both", us, them),
		stored("HTTPRoute", "clear-a", "twice", us, former, us),
		stored("TCPRoute", "clear-a", "raw", former),
		stored("HTTPRoute", "clear-b", "ours", us),
		stored("GRPCRoute", "clear-b", "theirs", them),
	}, "\n---\n")
	for _, namespace := range []string{"clear-a", "clear-b"} {
		kubectl(t, "", "create", "namespace", namespace)
	}
	kubectl(t, routes, "create", "-f", "-")
	kubectl(t, routes, "apply", "--server-side", "--subresource", "status", "--field-manager", "setup", "-f", "-")
	left := func() string {
		return kubectl(t, "", "get", "httproutes,grpcroutes,tcproutes", "-A", "-o",
			`jsonpath={range .items[?(@.status)]}{.metadata.namespace}/{.metadata.name}:{range .status.parents[*]} {.controllerName}{end}{"\n"}{end}`)
	}
	config := filepath.Join(t.TempDir(), "guard.yaml")
	text := "apiVersion: gammaguard.dev/v1alpha1\nkind: GuardConfiguration\nstatus: {formerControllerNames: [" + former + "]}\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	const table = `NAMESPACE   KIND        ROUTES   ENTRIES
clear-a     HTTPRoute   2        4
clear-a     TCPRoute    1        1
clear-b     HTTPRoute   1        1
`
	before := left()
	for _, step := range []struct {
		args []string
		want string
		left string
	}{
		{[]string{"-A", "--config", config}, table + "\nNothing was changed. To remove the entries of " + us + " and " + former + " from 4 routes, run the command with --confirm.\n", before},
		{[]string{"-n", "clear-b", "--confirm"}, "NAMESPACE   KIND        ROUTES   ENTRIES\nclear-b     HTTPRoute   1        1\n\nRemoved the entries from 1 route.\n", ""},
		{
			[]string{"-A", "--config", config, "--confirm"},
			"NAMESPACE   KIND        ROUTES   ENTRIES\nclear-a     HTTPRoute   2        4\nclear-a     TCPRoute    1        1\n\nRemoved the entries from 3 routes.\n",
			"clear-b/theirs: " + them + "\nclear-a/both: " + them + "\nclear-a/twice:\nclear-b/ours:\nclear-a/raw:\n",
		},
		{[]string{"-A", "--confirm"}, "No route has an entry of " + us + ".\n", ""},
	} {
		code, stdout, stderr := run(t, "", append([]string{"status", "clear", "--kubeconfig", plane.Kubeconfig}, step.args...)...)
		complaint := ""
		if !slices.Contains(step.args, "--config") {
			complaint = notInstalled
		}
		if diff := cmp.Diff(step.want, stdout); diff != "" || code != command.ExitClean || stderr != complaint {
			t.Errorf("%v: exit code %d, %s (-want +got)\n%s", step.args, code, stderr, diff)
		}
		if step.left == "" {
			continue
		}
		lines := func(s string) []string { l := strings.Split(s, "\n"); slices.Sort(l); return l }
		if diff := cmp.Diff(lines(step.left), lines(left())); diff != "" {
			t.Errorf("%v: left (-want +got)\n%s", step.args, diff)
		}
	}
	code, stdout, stderr := run(t, "", "status", "clear", "-A", "--kubeconfig", plane.Kubeconfig, "--as", "nobody")
	if code != command.ExitUsage || stdout != "" || !strings.Contains(stderr, "cannot list resource") {
		t.Errorf("as nobody: exit code %d, %q, %q", code, stdout, stderr)
	}
}

// TestStatusClearAwaitsPods: while gammaguard runs that writes entries of these names, none is removed. The command waits for Pods
// that terminate, and for nobody where the user cannot list them.
func TestStatusClearAwaitsPods(t *testing.T) {
	kubectl(t, `{apiVersion: v1, kind: Namespace, metadata: {name: clear-guard}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: guard, namespace: clear-guard}, data: {guard.yaml: "{apiVersion: gammaguard.dev/v1alpha1, kind: GuardConfiguration}"}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: default, namespace: clear-guard}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: guard, namespace: clear-guard}, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}},
 spec: {containers: [{name: webhook, image: x}], volumes: [{name: config, configMap: {name: guard}}]}}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: old, namespace: clear-guard, finalizers: [example.com/runs], labels: {app.kubernetes.io/name: gammaguard, app.kubernetes.io/component: webhook}}, spec: {containers: [{name: webhook, image: x}]}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: clear}, rules: [{apiGroups: [gateway.networking.k8s.io], resources: ["*"], verbs: ["*"]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: clear}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: clear}, subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: clearer}]}
`, "apply", "-f", "-")
	other := filepath.Join(t.TempDir(), "guard.yaml")
	if err := os.WriteFile(other, []byte("apiVersion: gammaguard.dev/v1alpha1\nkind: GuardConfiguration\nstatus: {controllerName: example.com/former}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cleared := func(args ...string) (int, string) {
		code, stdout, stderr := run(t, "", append([]string{"status", "clear", "-n", "clear-guard", "--installation", "clear-guard/guard", "--confirm", "--kubeconfig", plane.Kubeconfig}, args...)...)
		return code, stdout + stderr
	}
	const runs = "error: Deployment clear-guard/guard runs, and writes the entries again; first run: kubectl scale -n clear-guard deployment/guard --replicas=0\n"
	if code, out := cleared(); code != command.ExitUsage || out != runs {
		t.Errorf("it runs: exit code %d: %s", code, out)
	}
	if code, out := cleared("--config", other); code != command.ExitClean || !strings.HasPrefix(out, "No route in namespace clear-guard has an entry of example.com/former.") {
		t.Errorf("it writes others: exit code %d: %s", code, out)
	}
	const unlisted = "you cannot list the Pods of namespace clear-guard; if gammaguard still runs, it writes the entries again\n"
	if code, out := cleared("--as", "clearer"); code != command.ExitClean || !strings.Contains(out, unlisted) {
		t.Errorf("as clearer: exit code %d: %s", code, out)
	}
	kubectl(t, "", "scale", "-n", "clear-guard", "deployment/guard", "--replicas=0")
	kubectl(t, "", "delete", "pod", "-n", "clear-guard", "old", "--wait=false")
	says, out, ended := make(said, 1), &strings.Builder{}, make(chan int)
	go func() {
		ended <- command.Main([]string{"gammaguard", "status", "clear", "-n", "clear-guard", "--installation", "clear-guard/guard", "--confirm", "--kubeconfig", plane.Kubeconfig}, strings.NewReader(""), out, says)
	}()
	if text := <-says; text != "waiting for the Pods of gammaguard to terminate\n" {
		t.Errorf("it does not wait: %s", text)
	}
	kubectl(t, "", "patch", "pod", "-n", "clear-guard", "old", "--type=merge", "-p", `{"metadata": {"finalizers": null}}`)
	if code := <-ended; code != command.ExitClean || out.String() != "No route in namespace clear-guard has an entry of gammaguard.dev/guard.\n" {
		t.Errorf("exit code %d: %s", code, out)
	}
}

// said passes on what a command writes.
type said chan string

// Write implements io.Writer.
func (s said) Write(text []byte) (int, error) {
	s <- string(text)
	return len(text), nil
}
