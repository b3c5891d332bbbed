package cluster_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/internal/cli/command"
	"github.com/gammaguard/gammaguard/internal/cli/describe"
	"github.com/gammaguard/gammaguard/validate"
)

// notInstalled is the notice about a cluster without gammaguard.
const notInstalled = "note: gammaguard is not installed (Deployment gammaguard-system/gammaguard-webhook does not exist), " +
	"so the default configuration is used; if it has another name, specify --installation\n"

// described with routes that show what a developer asks about.
const family = `
{apiVersion: v1, kind: Namespace, metadata: {name: fam, labels: {gammaguard.dev/grant: producer}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: fam-guest}}
---
{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: fam}, spec: {ports: [{name: http, port: 80}, {name: admin, port: 81}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: one, namespace: fam}, spec: {ports: [{name: http, port: 8080}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: web, namespace: fam}, spec: {parentRefs: [{group: "", kind: Service, name: cart, port: 80}, {group: "", kind: Service, name: cart, port: 81}, {name: public, namespace: infra}],
  rules: [{backendRefs: [{name: one, port: 8080}]}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: guest, namespace: fam-guest}, spec: {parentRefs: [{group: "", kind: Service, name: cart, namespace: fam}],
  rules: [{backendRefs: [{name: one, namespace: fam, port: 8080}]}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: asleep, namespace: fam}, spec: {parentRefs: [{kind: Service, name: one}], rules: [{backendRefs: [{name: one, port: 8080}]}]}}
`

// TestDescribeRoute: a developer who has a route sees what becomes of it, and what to do.
func TestDescribeRoute(t *testing.T) {
	kubectl(t, family, "apply", "-f", "-")
	code, stdout, stderr := run(t, "", "describe", "httproute/web", "-n", "fam", "--kubeconfig", plane.Kubeconfig)
	const want = `Name:        web
Namespace:   fam
Kind:        HTTPRoute

PARENT                 FIELD                PORT     SCOPE      STATE     ACKNOWLEDGED   REASON
Service fam/cart       spec.parentRefs[0]   80/TCP   producer   applies   unanswered     -
Service fam/cart       spec.parentRefs[1]   81/TCP   producer   applies   unanswered     -
Gateway infra/public   spec.parentRefs[2]   -        -          -         -              not a parent in the mesh: gammaguard leaves it alone

Findings:
RULE                   ACTION   FIELD                               PROBLEM   FIX
parent-section   change   spec.parentRefs[0].sectionName   set spec.parentRefs[0].sectionName to "http": port 80 has this name, and parentRefs to one Service must differ in sectionName (parent-section)    -
parent-section   change   spec.parentRefs[1].sectionName   set spec.parentRefs[1].sectionName to "admin": port 81 has this name, and parentRefs to one Service must differ in sectionName (parent-section)   -
backend-no-endpoints   warn   spec.rules[0].backendRefs[0].name   Service fam/one has no endpoints   check its selector and its Pods

Grant of its namespace:
NAMESPACE   GRANT      GRANTED BY   MODE      SET BY
fam         producer   label        enforce   default

To fix what a command can fix:
kubectl patch httproutes.gateway.networking.k8s.io web -n fam --type=json -p '[{"op":"add","path":"/spec/parentRefs/0/sectionName","value":"http"},{"op":"add","path":"/spec/parentRefs/1/sectionName","value":"admin"}]'
`
	if diff := cmp.Diff(strings.Fields(want), strings.Fields(stdout)); diff != "" || code != command.ExitClean || stderr != notInstalled {
		t.Errorf("exit code %d, %s (-want +got)\n%s\n%s", code, stderr, diff, stdout)
	}
	for route, commands := range map[string][]string{
		"httproutes/guest -n fam-guest": {"kubectl label namespace fam-guest gammaguard.dev/grant=consumer"},
		"HTTPRoute/asleep -n fam":       {`kubectl patch httproutes.gateway.networking.k8s.io asleep -n fam --type=json -p '[{"op":"replace","path":"/spec/parentRefs/0/group","value":""}]'`},
	} {
		_, stdout, stderr := run(t, "", append([]string{"describe", "-o", "json", "--kubeconfig", plane.Kubeconfig}, strings.Fields(route)...)...)
		var d describe.OneRoute
		if err := json.Unmarshal([]byte(stdout), &d); err != nil {
			t.Fatalf("%v: %s", err, stderr)
		}
		if diff := cmp.Diff(commands, d.Commands); diff != "" {
			t.Errorf("%s (-want +got)\n%s", route, diff)
		}
		if strings.Contains(stdout, "null") { // an empty list is one
			t.Errorf("%s: %s", route, stdout)
		}
		state := map[string]validate.State{"guest": validate.NoGrant, "asleep": validate.Dormant}[d.Name]
		if len(d.Parents) != 1 || len(d.Parents[0].Ports) == 0 || d.Parents[0].Ports[0].State != state {
			t.Errorf("%s: %+v", route, d.Parents)
		}
	}
	const missing = "error: GRPCRoute fam/web does not exist, or you cannot read it; the routes that you can read there: HTTPRoute asleep, HTTPRoute web\n"
	if code, _, stderr := run(t, "", "describe", "grpcroute/web", "-n", "fam", "--kubeconfig", plane.Kubeconfig); code != command.ExitUsage || stderr != missing {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// TestFamilyOfCluster: what reads a cluster does so without a flag; with files and --cluster, files
// come first.
func TestFamilyOfCluster(t *testing.T) {
	kubectl(t, strings.ReplaceAll(family, "fam", "kin"), "apply", "-f", "-")
	const changed = `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: web, namespace: kin}, spec: {parentRefs: [{group: "", kind: Service, name: cart, port: 80}], rules: [{backendRefs: [{name: cart, port: 81}]}, {matches: [{path: {value: /x}}]}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: young, namespace: kin}, spec: {parentRefs: [{group: "", kind: Service, name: cart, port: 81}], rules: [{backendRefs: [{name: one, port: 8080}]}]}}
`
	for _, test := range []struct {
		args, stdin, want string
		code              int
	}{
		{"trace cart:http -n kin", "", "HTTPRoute kin/web rule[0]", command.ExitClean},
		{"trace http://cart.kin/x", "", "HTTPRoute kin/web rule[0]", command.ExitClean},
		{"trace svc/one -n kin", "", "no route on port 8080", command.ExitClean},
		{"trace cart:http -n kin -f - --cluster", changed, "503 (Service cart:81 has no endpoints)", command.ExitClean},
		{"diff -f - --cluster", changed, "503 (one:8080 has no endpoints)  →  500", command.ExitFindings},
		{"conflicts -n kin", "", "HTTPRoute kin/web", command.ExitClean},
		{"conflicts -n kin -f - --cluster", changed, "HTTPRoute kin/young", command.ExitClean},
		{"graph -n kin -f - --cluster", changed, "HTTPRoute asleep", command.ExitClean},
		{"graph -n kin -f - --cluster", changed, "HTTPRoute young", command.ExitClean},
		{"grants -n kin", "", "producer", command.ExitClean},
		{"grants -A -n kin", "", "kin-guest", command.ExitClean},
		{"status clear -A -o json", "", `"routes": []`, command.ExitClean},
		{"status clear -A -o json", "", `"kind": "StatusClearance"`, command.ExitClean},
	} {
		code, stdout, stderr := run(t, test.stdin, append(strings.Fields(test.args), "--kubeconfig", plane.Kubeconfig)...)
		if code != test.code || !strings.Contains(stdout, test.want) {
			t.Errorf("%s: exit code %d, want %d and %q in\n%s%s", test.args, code, test.code, test.want, stdout, stderr)
		}
		if strings.Count(stderr, "note: ") > 1 || strings.Count(stderr, "\n") > 1 {
			t.Errorf("%s: more than one notice:\n%s", test.args, stderr)
		}
	}
	if _, stdout, _ := run(t, "", "grants", "-n", "kin", "--kubeconfig", plane.Kubeconfig); strings.Contains(stdout, "kin-guest") {
		t.Errorf("grants -n kin has another namespace:\n%s", stdout)
	}
}

// TestNoSuchName: a namespace that does not exist is an error, the same in every command; and so is a Service that nothing names.
func TestNoSuchName(t *testing.T) {
	kubectl(t, strings.ReplaceAll(family, "fam", "dim"), "apply", "-f", "-")
	const (
		namespace = "error: namespace nosuch does not exist\n"
		service   = "error: Service dim/nosuch does not exist, and no route names it; the Services there: cart, one\n"
	)
	for args, want := range map[string]string{
		"audit -n nosuch":                                     namespace,
		"audit -n nosuch -o json":                             namespace,
		"conflicts -n nosuch":                                 namespace,
		"conflicts -n nosuch -f - --cluster":                  namespace,
		"describe httproute/web -n nosuch":                    namespace,
		"describe service/cart -n nosuch":                     namespace,
		"graph -n nosuch":                                     namespace,
		"graph -n nosuch -o html":                             namespace,
		"graph service/cart.nosuch":                           namespace,
		"grants -n nosuch":                                    namespace,
		"grants request -n nosuch --role producer --reason x": namespace,
		"status clear -n nosuch":                              namespace,
		"trace cart:80 -n nosuch":                             namespace,
		"trace cart:80 -n dim --from nosuch":                  namespace,
		"trace cart:80 -n dim --from nosuch -f - --cluster":   namespace,
		"trace nosuch:80 -n dim":                              "error: Service dim/nosuch does not exist; the Services there: cart, one\n",
		"trace nosuch:80 -n dim -f - --cluster":               "error: Service dim/nosuch does not exist; the Services there: cart, one\n",
		"graph service/nosuch.dim -f - --cluster":             service,
		"graph service/cart.nosuch -f - --cluster":            namespace,
		"describe service/nosuch -n dim":                      service,
		"graph service/nosuch.dim -o html":                    service,
	} {
		code, stdout, stderr := run(t, "", append(strings.Fields(args), "--kubeconfig", plane.Kubeconfig)...)
		if code != command.ExitUsage || stdout != "" || stderr != want && stderr != notInstalled+want {
			t.Errorf("%s: exit code %d, %s%s", args, code, stdout, stderr)
		}
	}
	const made = `{apiVersion: v1, kind: Namespace, metadata: {name: nosuch}}` // the input counts as what is there
	for _, args := range []string{"trace cart:80 -n dim --from nosuch -f - --cluster", "conflicts -n nosuch -f - --cluster"} {
		if code, stdout, stderr := run(t, made, append(strings.Fields(args), "--kubeconfig", plane.Kubeconfig)...); code != command.ExitClean {
			t.Errorf("%s: exit code %d, %s%s", args, code, stdout, stderr)
		}
	}
}

// TestCompletion: a shell completes what the cluster has.
func TestCompletion(t *testing.T) {
	kubectl(t, strings.ReplaceAll(family, "fam", "tab"), "apply", "-f", "-")
	for _, test := range []struct{ args, want string }{
		{"audit -n tab", "tab tab-guest"},
		{"trace cart --from tab-", "tab-guest"},
		{"describe -n tab service/", "service/cart service/one"},
		{"describe -n tab httproute/", "httproute/asleep httproute/web"},
		{"graph -n tab service/c", "service/cart"},
		{"trace -n tab c", "cart"},
		{"trace -n tab cart.", ""},
		{"trace -n tab cart:", "cart:80 cart:81 cart:admin cart:http"},
		{"trace -n tab -f x.yaml c", ""},
		{"describe -n tab service/cart ", ""},
		{"describe -n tab svc/c", "svc/cart"},
		{"describe -n tab services ", "cart one"},
		{"describe -n tab HTTPRoutes w", "web"},
		{"graph -n tab svc c", "cart"},
		{"trace -n tab svc/cart:", "svc/cart:80 svc/cart:81 svc/cart:admin svc/cart:http"},
		{"trace -n tab svc cart:", "cart:80 cart:81 cart:admin cart:http"},
		{"trace -n tab cart c", ""},
		{"trace cart.tab:", "cart.tab:80 cart.tab:81 cart.tab:admin cart.tab:http"},
		{"trace svc/cart.tab:a", "svc/cart.tab:admin"},
	} {
		args := append([]string{"__complete"}, strings.Split(test.args, " ")...)
		args = slices.Insert(args, 2, "--kubeconfig", plane.Kubeconfig, "--cache-dir", t.TempDir())
		var stdout, stderr bytes.Buffer
		code := command.Main(append([]string{"gammaguard"}, args...), strings.NewReader(""), &stdout, &stderr)
		lines := strings.Split(strings.TrimSpace(stdout.String()), "\n")
		got := strings.Join(lines[:len(lines)-1], " ") // the last one is the directive
		if code != command.ExitClean || got != test.want {
			t.Errorf("%s: exit code %d, want %q, got %q\n%s", test.args, code, test.want, got, &stderr)
		}
	}
}
