// Package cluster_test runs the commands against a real API server.
package cluster_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/internal/cli/build"
	"github.com/gammaguard/gammaguard/internal/cli/command"
	"github.com/gammaguard/gammaguard/internal/cli/conflicts"
	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/test/background"
	"github.com/gammaguard/gammaguard/test/bed"
	"github.com/gammaguard/gammaguard/validate"
)

var plane *bed.ControlPlane

func TestMain(m *testing.M) {
	build.Main()
	os.Exit(bed.Run(m, bed.Options{Experimental: true, MultiCluster: true}, &plane))
}

// run runs the command line in this process.
func run(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, complaint bytes.Buffer
	args = append([]string{"gammaguard"}, args...)
	args = append(args, "--cache-dir", t.TempDir())
	code = command.Main(args, strings.NewReader(stdin), &out, &complaint)
	return code, out.String(), complaint.String()
}

func kubectl(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	out, complaint, err := plane.Kubectl(t.Context(), stdin, args...)
	if err != nil {
		t.Fatalf("%v\n%s", err, complaint)
	}
	return out
}

// seen is what a test looks at of a finding.
type seen struct {
	Route, ID string
	Effect    validate.Action
}

func check(t *testing.T, stdin string, args ...string) (int, []seen) {
	t.Helper()
	code, stdout, stderr := run(t, stdin, append([]string{"check", "-o", "json", "--cluster"}, args...)...)
	return code, seenIn(t, stdout, stderr)
}

func seenIn(t *testing.T, stdout, stderr string) []seen {
	t.Helper()
	var r report.CheckReport
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	var all []seen
	for i := range r.Routes {
		for _, f := range r.Routes[i].Findings {
			all = append(all, seen{r.Routes[i].String(), f.Rule, f.Effect})
		}
	}
	return all
}

// TestCheckCluster: the cluster has what the files lack: the grant, the Service, its
// endpoints, the other routes and what was there before.
func TestCheckCluster(t *testing.T) {
	kubectl(t, `
{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {gammaguard.dev/grant: producer}}}
---
{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: shop}, spec: {ports: [{port: 80}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: full, namespace: shop}, spec: {ports: [{port: 80}]}}
---
{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: full, namespace: shop, labels: {kubernetes.io/service-name: full}}, addressType: IPv4, endpoints: [{addresses: [10.1.2.3]}]}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: old, namespace: shop}, spec: {parentRefs: [{group: "", kind: Service, name: cart, port: 81}], rules: [{backendRefs: [{name: full, port: 80}]}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: GRPCRoute, metadata: {name: grpc, namespace: shop}, spec: {parentRefs: [{group: "", kind: Service, name: cart}], rules: [{backendRefs: [{name: full, port: 80}]}]}}
`, "apply", "-f", "-")
	const files = `
{apiVersion: v1, kind: Service, metadata: {name: new, namespace: shop}, spec: {ports: [{port: 80}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: old}, spec: {parentRefs: [{kind: Service, name: cart, port: 81}], rules: [{backendRefs: [{name: full, port: 80}]}], hostnames: [x.example.com]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: young}, spec: {parentRefs: [{kind: Service, name: cart}], rules: [{backendRefs: [{name: cart, port: 80}, {name: new, port: 80}]}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: elsewhere, namespace: kube-system}, spec: {parentRefs: [{kind: Service, name: cart, namespace: nowhere}], rules: [{filters: [{type: RequestRedirect, requestRedirect: {port: 81}}]}]}}
`
	want := []seen{
		{"HTTPRoute shop/old", "hostnames-ignored", validate.Warn},
		{"HTTPRoute shop/old", "parent-port-not-found", validate.Warn}, // it was so before
		{"HTTPRoute shop/young", "route-conflict", validate.Warn},
		{"HTTPRoute shop/young", "backend-no-endpoints", validate.Warn}, // of cart; those of new are not known
		{"HTTPRoute kube-system/elsewhere", "grant-missing", validate.Deny},
	}
	code, got := check(t, files, "-f", "-", "-n", "shop", "--kubeconfig", plane.Kubeconfig)
	if diff := cmp.Diff(want, got); diff != "" || code != command.ExitFindings {
		t.Errorf("exit code %d (-want +got)\n%s", code, diff)
	}
	// Who may not list routes does not know that it was so before.
	kubectl(t, "", "create", "clusterrole", "reads-services", "--verb=get,list", "--resource=namespaces,services")
	kubectl(t, "", "create", "clusterrolebinding", "reads-services", "--clusterrole=reads-services", "--user=without-routes")
	background.Eventually(t, func() string { // RBAC acts on what is stored a moment later
		code, got := check(t, files, "-f", "-", "-n", "shop", "--kubeconfig", plane.Kubeconfig, "--as", "without-routes")
		if asNew := (seen{"HTTPRoute shop/old", "parent-port-not-found", validate.Deny}); code != command.ExitFindings || !slices.Contains(got, asNew) {
			return fmt.Sprintf("exit code %d: want %v in %v", code, asNew, got)
		}
		return ""
	})
}

// TestCheckExport: an export of the cluster, taken as complete, tells what is wrong
// with stored routes, as docs/adoption.md says.
func TestCheckExport(t *testing.T) {
	kubectl(t, `
{apiVersion: v1, kind: Namespace, metadata: {name: stored, labels: {gammaguard.dev/grant: producer}}}
---
{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: stored}, spec: {ports: [{port: 80}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: bad, namespace: stored}, spec: {parentRefs: [{group: "", kind: Service, name: cart, port: 81}], rules: [{backendRefs: [{name: cart, port: 80}]}]}}
`, "apply", "-f", "-")
	export := kubectl(t, "", "get", "namespaces,services,endpointslices,httproutes,grpcroutes", "-A", "-o", "yaml")
	var out, complaint bytes.Buffer
	command.Main([]string{"gammaguard", "check", "-f", "-", "-o", "json", "--complete", "--fail-on", "never"}, strings.NewReader(export), &out, &complaint)
	_, asUpdate := check(t, export, "-f", "-", "--kubeconfig", plane.Kubeconfig)
	want := seen{"HTTPRoute stored/bad", "parent-port-not-found", validate.Deny}
	if got := seenIn(t, out.String(), complaint.String()); !slices.Contains(got, want) {
		t.Errorf("want %v in %v", want, got)
	}
	if want.Effect = validate.Warn; !slices.Contains(asUpdate, want) {
		t.Errorf("--cluster: want %v in %v", want, asUpdate)
	}
}

// TestCheckCautiously: what the user may not read is unknown, and listed.
func TestCheckCautiously(t *testing.T) {
	kubectl(t, `
{apiVersion: v1, kind: Namespace, metadata: {name: limited}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reads-routes}
rules: [{apiGroups: [gateway.networking.k8s.io], resources: ["*"], verbs: [get, list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: reads-routes}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reads-routes}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: reader}]
`, "apply", "-f", "-")
	const route = `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: a, namespace: limited}
spec: {parentRefs: [{kind: Service, name: cart}], rules: [{filters: [{type: RequestRedirect, requestRedirect: {port: 81}}]}]}
`
	code, got := check(t, route, "-f", "-", "--kubeconfig", plane.Kubeconfig, "--as", "reader")
	want := []seen{
		{"HTTPRoute limited/a", "grant-missing", report.EffectUnknown},
		{"HTTPRoute limited/a", "parent-not-found", report.EffectUnknown},
	}
	if diff := cmp.Diff(want, got); diff != "" || code != command.ExitClean {
		t.Errorf("exit code %d (-want +got)\n%s", code, diff)
	}
	code, got = check(t, route, "-f", "-", "--kubeconfig", plane.Kubeconfig, "--as", "nobody")
	if diff := cmp.Diff(want, got); diff != "" || code != command.ExitClean {
		t.Errorf("as nobody: exit code %d (-want +got)\n%s", code, diff)
	}
	_, _, stderr := run(t, route, "check", "-f", "-", "--cluster", "--kubeconfig", plane.Kubeconfig, "--as", "nobody")
	for _, unseen := range []string{"Namespace limited", "Service limited/cart", "routes across all namespaces, ", "routes in namespace limited"} {
		if !strings.Contains(stderr, unseen) {
			t.Errorf("as nobody: want %q in\n%s", unseen, stderr)
		}
	}
}

// TestConflicts: the table of a live cluster, and its JSON and YAML.
func TestConflicts(t *testing.T) {
	kubectl(t, `
{apiVersion: v1, kind: Namespace, metadata: {name: fight, labels: {gammaguard.dev/grant: all}}}
---
{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: fight}, spec: {ports: [{name: http, port: 80}, {name: raw, port: 90}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: TCPRoute, metadata: {name: all, namespace: fight}, spec: {parentRefs: [{group: "", kind: Service, name: cart}], rules: [{backendRefs: [{name: cart, port: 80}]}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: web, namespace: fight}, spec: {parentRefs: [{group: "", kind: Service, name: cart, sectionName: http}]}}
`, "apply", "-f", "-")
	const want = `SERVICE   PORT            SCOPE      WINNER                LOSERS               WHY                                        OTHERS
cart      80/TCP (http)   producer   HTTPRoute fight/web   TCPRoute fight/all   HTTPRoute is more specific than TCPRoute   -
cart      90/TCP (raw)    producer   TCPRoute fight/all    -                    the only route                             -
`
	code, stdout, stderr := run(t, "", "conflicts", "-n", "fight", "--kubeconfig", plane.Kubeconfig)
	if diff := cmp.Diff(want, stdout); diff != "" || code != command.ExitClean {
		t.Errorf("exit code %d, %s (-want +got)\n%s", code, stderr, diff)
	}
	_, stdout, _ = run(t, "", "conflicts", "-A", "-o", "json", "--kubeconfig", plane.Kubeconfig)
	var list conflicts.List
	if err := json.Unmarshal([]byte(stdout), &list); err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		if b := &list.Items[i]; b.Service.Namespace == "fight" && b.Conflict != (b.Port == 80) {
			t.Errorf("%+v", b)
		}
	}
	if _, stdout, _ = run(t, "", "conflicts", "-A", "-o", "yaml", "--kubeconfig", plane.Kubeconfig); !strings.HasPrefix(stdout, "apiVersion: "+report.StatesVersion+"\n") {
		t.Errorf("not YAML: %s", stdout)
	}
	code, stdout, stderr = run(t, "", "conflicts", "-n", "kube-public", "--kubeconfig", plane.Kubeconfig)
	if code != command.ExitClean || stdout != "" || stderr != "No routes are attached to Services in namespace kube-public.\n"+notInstalled {
		t.Errorf("exit code %d, %q, %q", code, stdout, stderr)
	}
}

// TestPlugin: kubectl runs the program as its plugin, and completes its commands by the script
// that docs/ci-systems.md shows.
func TestPlugin(t *testing.T) {
	folder := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(folder, "kubectl-gammaguard"), "../../../cmd/gammaguard")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := pluginSays(t.Context(), folder, "conflicts --help", "kubectl gammaguard conflicts [flags]"); err != "" {
		t.Error(err)
	}
	if err := pluginSays(t.Context(), folder, "version", "gammaguard "); err != "" {
		t.Error(err)
	}
	page, err := os.ReadFile("../../../docs/ci-systems.md")
	if err != nil {
		t.Fatal(err)
	}
	_, line, _ := strings.Cut(string(page), "add a script of that name with the line\n`")
	line, _, _ = strings.Cut(line, "`")
	if err := os.WriteFile(filepath.Join(folder, "kubectl_complete-gammaguard"), []byte("#!/bin/sh\n"+line+"\n"), 0o700); err != nil { //nolint:gosec // kubectl runs it
		t.Fatal(err)
	}
	if err := kubectlSays(t.Context(), folder, "__complete gammaguard con", "\nconflicts\t"); err != "" {
		t.Error(err)
	}
}

// pluginSays runs `kubectl gammaguard` and says what is wrong with the answer.
func pluginSays(ctx context.Context, folder, args, want string) string {
	return kubectlSays(ctx, folder, "gammaguard "+args, want)
}

// kubectlSays runs kubectl with the folder in its PATH.
func kubectlSays(ctx context.Context, folder, args, want string) string {
	cmd := exec.CommandContext(ctx, filepath.Join(plane.BinDir, "kubectl"), strings.Fields(args)...)
	cmd.Env = append(plane.Environ(), "PATH="+folder+string(filepath.ListSeparator)+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains("\n"+string(out), want) {
		return "kubectl " + args + ": want " + want + ", got " + string(out)
	}
	return ""
}
