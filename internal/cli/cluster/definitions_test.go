package cluster_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/internal/cli/command"
	"github.com/gammaguard/gammaguard/internal/cli/report"
)

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

// TestNamedDefinitions: what --channel names counts before the cluster, which has the experimental channel. Who cannot read its definitions
// is shown that the standard channel is assumed, and how to name another. The cluster's own definition in the input needs no note.
func TestNamedDefinitions(t *testing.T) {
	const (
		retry   = `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: a, namespace: default}, spec: {parentRefs: [{group: "", kind: Service, name: a}], rules: [{retry: {attempts: 2}}]}}`
		refused = `unknown field "spec.rules[0].retry"; if your cluster has the experimental channel of the Gateway API, use --channel experimental`
		assumed = "CustomResourceDefinitions of routes (the standard channel is assumed)"
	)
	own, _, err := plane.Kubectl(t.Context(), "", "get", "crd", "httproutes.gateway.networking.k8s.io", "-o", "json")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		input, args      string
		refused, assumed bool
	}{
		{retry, "", false, false},
		{retry + "\n---\n" + own, "", false, false},
		{retry, "--channel standard", true, false},
		{retry, "--as nobody", true, true},
		{retry, "--as nobody --channel experimental", false, false},
		{retry + "\n---\n" + own, "--as nobody", false, true},
	} {
		_, stdout, stderr := run(t, test.input, append(strings.Fields(test.args), "check", "-f", "-", "--cluster", "--kubeconfig", plane.Kubeconfig)...)
		if strings.Contains(stdout, "retry") != test.refused || strings.Contains(stdout, refused) != test.refused || strings.Contains(stderr, assumed) != test.assumed || strings.Contains(stdout+stderr, "CEL") {
			t.Errorf("%s with %d bytes: %s\n%s", test.args, len(test.input), stdout, stderr)
		}
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
note: HTTPRoute default/outside lacks the grant now: what is stored stays, and the mesh decides whether it applies
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
