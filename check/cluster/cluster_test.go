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

	"github.com/gammaguard/gammaguard/check/conflicts"
	"github.com/gammaguard/gammaguard/check/report"
	"github.com/gammaguard/gammaguard/cmd/gammaguard/command"
	"github.com/gammaguard/gammaguard/test/bed"
	"github.com/gammaguard/gammaguard/validate"
)

var plane *bed.ControlPlane

func TestMain(m *testing.M) {
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
}

// TestCheckExport: an export of the cluster, taken as complete, tells what is wrong
// with stored routes, as docs/mesh-admins.md says.
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

// TestCheckCautiously: what the user may not read is unknown; routes must be read.
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
	code, _, stderr := run(t, route, "check", "-f", "-", "--cluster", "--kubeconfig", plane.Kubeconfig, "--as", "nobody")
	if code != command.ExitUsage || !strings.Contains(stderr, "list GRPCRoutes of all namespaces: ") {
		t.Errorf("exit code %d: %s", code, stderr)
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
	const want = `SERVICE   PORT            SCOPE      WINNER                LOSERS               WHY
cart      80/TCP (http)   producer   HTTPRoute fight/web   TCPRoute fight/all   HTTPRoute is more specific than TCPRoute
cart      90/TCP (raw)    producer   TCPRoute fight/all    -                    the only route
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
	if _, stdout, _ = run(t, "", "conflicts", "-A", "-o", "yaml", "--kubeconfig", plane.Kubeconfig); !strings.HasPrefix(stdout, "apiVersion: "+conflicts.APIVersion+"\n") {
		t.Errorf("not YAML: %s", stdout)
	}
	code, stdout, stderr = run(t, "", "conflicts", "-n", "kube-public", "--kubeconfig", plane.Kubeconfig)
	if code != command.ExitClean || stdout != "" || stderr != "No routes are attached to Services in namespace kube-public.\n" {
		t.Errorf("exit code %d, %q, %q", code, stdout, stderr)
	}
}

// TestPlugin: kubectl runs the program as its plugin.
func TestPlugin(t *testing.T) {
	folder := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(folder, "kubectl-gammaguard"), "../../cmd/gammaguard")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := pluginSays(t.Context(), folder, "conflicts --help", "kubectl gammaguard conflicts [flags]"); err != "" {
		t.Error(err)
	}
	if err := pluginSays(t.Context(), folder, "version", "gammaguard "); err != "" {
		t.Error(err)
	}
}

// pluginSays runs `kubectl gammaguard` and says what is wrong with the answer.
func pluginSays(ctx context.Context, folder, args, want string) string {
	cmd := exec.CommandContext(ctx, filepath.Join(plane.BinDir, "kubectl"), append([]string{"gammaguard"}, strings.Fields(args)...)...)
	cmd.Env = append(plane.Environ(), "PATH="+folder+string(filepath.ListSeparator)+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), want) {
		return "kubectl gammaguard " + args + ": want " + want + ", got " + string(out)
	}
	return ""
}

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
		{[]string{"--config", config}, table + "\nNothing was changed. To remove the entries of " + us + " and " + former + " from 4 routes, run the command with --confirm.\n", before},
		{[]string{"-n", "clear-b", "--confirm"}, "NAMESPACE   KIND        ROUTES   ENTRIES\nclear-b     HTTPRoute   1        1\n\nRemoved the entries from 1 route.\n", ""},
		{
			[]string{"--config", config, "--confirm"},
			"NAMESPACE   KIND        ROUTES   ENTRIES\nclear-a     HTTPRoute   2        4\nclear-a     TCPRoute    1        1\n\nRemoved the entries from 3 routes.\n",
			"clear-b/theirs: " + them + "\nclear-a/both: " + them + "\nclear-a/twice:\nclear-b/ours:\nclear-a/raw:\n",
		},
		{[]string{"--confirm"}, "No route has an entry of " + us + ".\n", ""},
	} {
		code, stdout, stderr := run(t, "", append([]string{"status", "clear", "--kubeconfig", plane.Kubeconfig}, step.args...)...)
		if diff := cmp.Diff(step.want, stdout); diff != "" || code != command.ExitClean || stderr != "" {
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
	code, stdout, stderr := run(t, "", "status", "clear", "--kubeconfig", plane.Kubeconfig, "--as", "nobody")
	if code != command.ExitUsage || stdout != "" || !strings.Contains(stderr, "cannot list resource") {
		t.Errorf("as nobody: exit code %d, %q, %q", code, stdout, stderr)
	}
}

// TestDefinitions: a route is subject to the definitions of the cluster, and what is
// said of it is what the API server says.
func TestDefinitions(t *testing.T) {
	kubectl(t, `{apiVersion: v1, kind: Namespace, metadata: {name: strict, labels: {gammaguard.dev/grant: all}}}
---
{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: strict}, spec: {ports: [{port: 80}]}}
`, "apply", "-f", "-")
	route := func(version, kind, rules string) string {
		return fmt.Sprintf("apiVersion: gateway.networking.k8s.io/%s\nkind: %s\nmetadata: {name: cart, namespace: strict}\nspec:\n"+
			"  parentRefs: [{group: \"\", kind: Service, name: cart, port: 80}]\n  rules:\n  - %s\n", version, kind, rules)
	}
	const backend = `backendRefs: [{name: cart, port: 80}]`
	for _, test := range []struct {
		name, route string
		want        []string // rule and field
		refusal     string   // of the API server
	}{
		{"a path without a slash", route("v1", "HTTPRoute", `{matches: [{path: {value: v1}}], `+backend+`}`), []string{"schema spec.rules[0].matches[0].path"}, "start with '/'"},
		{"a negative weight", route("v1", "HTTPRoute", `{backendRefs: [{name: cart, port: 80, weight: -1}]}`), []string{"schema spec.rules[0].backendRefs[0].weight"}, "should be greater than or equal to 0"},
		{"an unknown field", route("v1", "HTTPRoute", `{retries: 3, `+backend+`}`), []string{"schema spec.rules[0].retries"}, `unknown field "spec.rules[0].retries"`},
		{"a name left out", route("v1", "GRPCRoute", `{backendRefs: [{port: 80}]}`), []string{"schema spec.rules[0].backendRefs[0].name"}, "Required value"},
		{"a field of the wrong type", route("v1", "HTTPRoute", `{backendRefs: [{name: cart, port: http}]}`), []string{"schema spec.rules[0].backendRefs[0].port"}, "must be of type integer"},
		{"a version that is gone", route("v1alpha2", "GRPCRoute", `{`+backend+`}`), []string{"version-not-served apiVersion"}, "no matches for kind"},
		{"a version of the experimental channel", route("v1alpha2", "TCPRoute", `{`+backend+`}`), nil, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, stderr, err := plane.Kubectl(t.Context(), test.route, "create", "--dry-run=server", "-f", "-")
			if (err != nil) != (test.refusal != "") || !strings.Contains(stderr, test.refusal) {
				t.Errorf("the API server says %q, want %q", stderr, test.refusal)
			}
			_, stdout, stderr := run(t, test.route, "check", "-f", "-", "-o", "json", "--cluster", "--kubeconfig", plane.Kubeconfig)
			var r report.CheckReport
			if err := json.Unmarshal([]byte(stdout), &r); err != nil || len(r.Routes) != 1 {
				t.Fatalf("%v: %s%s", err, stdout, stderr)
			}
			var got []string
			for _, f := range r.Routes[0].Findings {
				if f.Rule == "schema" || f.Rule == "version-not-served" {
					got = append(got, f.Rule+" "+f.Field)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s\n%s", diff, stdout)
			}
			if denied := r.Routes[0].Verdict == report.Deny; test.want != nil && !denied {
				t.Errorf("verdict %s", r.Routes[0].Verdict)
			}
		})
	}
}

// TestTraceCluster: the cluster has the routes with their age, the Services and the
// grants; routes in files replace those of the cluster.
func TestTraceCluster(t *testing.T) {
	kubectl(t, `
{apiVersion: v1, kind: Namespace, metadata: {name: traced, labels: {gammaguard.dev/grant: producer}}}
---
{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: traced}, spec: {ports: [{port: 80}]}}
---
{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: cart, namespace: traced, labels: {kubernetes.io/service-name: cart}}, addressType: IPv4, endpoints: [{addresses: [10.1.2.3]}]}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: old, namespace: traced}, spec: {parentRefs: [{group: "", kind: Service, name: cart}], rules: [{matches: [{path: {value: /v2}}], backendRefs: [{name: none, port: 80}]}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: outside, namespace: default}, spec: {parentRefs: [{group: "", kind: Service, name: cart, namespace: traced}]}}
---
{apiVersion: gateway.networking.k8s.io/v1alpha2, kind: TCPRoute, metadata: {name: raw, namespace: traced}, spec: {parentRefs: [{group: "", kind: Service, name: cart}], rules: [{backendRefs: [{name: cart, port: 80}]}]}}
`, "apply", "-f", "-")
	trace := func(stdin string, args ...string) string {
		t.Helper()
		args = append([]string{"trace", "service/cart:80", "-n", "traced", "--path", "/v2", "--cluster", "--kubeconfig", plane.Kubeconfig}, args...)
		code, stdout, stderr := run(t, stdin, args...)
		if code != command.ExitClean {
			t.Errorf("exit code %d: %s", code, stderr)
		}
		return stdout
	}
	const want = `HTTPRoute traced/old rule[0] match[0]  (consumer of default: none; producer)
  → 500 (Service none:80 does not exist)
not taken: HTTPRoute default/outside: namespace default lacks the consumer grant for HTTPRoute
not taken: TCPRoute traced/raw: HTTPRoute holds the port
`
	if diff := cmp.Diff(want, trace("", "--from", "default")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	const file = `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: old}, spec: {parentRefs: [{kind: Service, name: cart}], rules: [{backendRefs: [{name: cart, port: 80}]}]}}`
	if got := trace(file, "-f", "-"); !strings.Contains(got, "  → Service cart:80 100 %\n") {
		t.Error(got)
	}
}
